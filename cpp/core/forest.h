// The forest: trees, the rows they were grown from, and threads. The whole interface that the bindings see.
//
// Every call sees the forest before or after an update, never in between. Predictions run side by side; a call that
// changes anything, a postponed subtree included, runs alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset.h"
#include "fingerprint.h"
#include "frozen.h"
#include "grow.h"
#include "parallel.h"
#include "params.h"
#include "routes.h"
#include "schema.h"
#include "tree.h"
#include "tree_arrays.h"
#include "update.h"

namespace deciduous {

struct MemoryUse {
    std::size_t data = 0;
    std::size_t structure = 0;
    std::size_t decision_stats = 0;
    std::size_t leaf_stats = 0;
};

// The classes, in the order of their numbers.
struct Classes {
    std::vector<ClassKey> keys;
    std::vector<std::uint32_t> weights;  // empty if all weigh the same
};

// The class shares of some rows: n_classes values per row.
struct ClassShares {
    std::vector<double> shares;
    std::size_t n_classes = 0;
};

// How a call is to be carried out; never changes its result.
struct Execution {
    std::size_t n_threads = 1;
    bool lazy = false;
};

class DenseRows;

class Forest {
public:
    Forest(Params const& params, Tuning const& tuning, Schema schema, Classes classes);

    // Grows all trees from these rows; for a forest that never held any.
    void fit(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes, Execution const& how,
             Progress const& progress);

    // `progress` must not throw here: an update that stops half way leaves a broken forest.
    UpdateCost delete_rows(std::span<RowId const> ids, Execution const& how, Progress const& progress);

    // There may be more classes than before; the former ones stay what they are.
    UpdateCost add_rows(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes, Classes classes,
                        Execution const& how, Progress const& progress);

    // What delete_rows would return; nothing changes.
    [[nodiscard]] UpdateCost deletion_cost(std::span<RowId const> ids, Execution const& how) const;

    // Rows retrained if each id alone were deleted.
    [[nodiscard]] std::vector<std::uint64_t> deletion_costs(std::span<RowId const> ids, Execution const& how) const;

    // Needs at least one training row.
    [[nodiscard]] ClassShares predict(Matrix const& rows, Execution const& how);

    [[nodiscard]] Digest fingerprint(Execution const& how);

    // How many nodes the last fingerprint had to hash; the others were remembered.
    [[nodiscard]] std::size_t n_nodes_hashed() const;

    // Where the trees differ from retrained ones, or nothing.
    [[nodiscard]] std::optional<std::string> verify(Execution const& how, Progress const& progress);

    // The first statistic that differs from a recount, or nothing.
    [[nodiscard]] std::optional<std::string> check(Execution const& how) const;

    // The rows and the trees as bytes: one for the rows, one for each tree.
    [[nodiscard]] std::vector<std::uint8_t> rows_as_bytes() const;
    [[nodiscard]] std::vector<std::uint8_t> tree_as_bytes(std::size_t tree);

    // Restores what these bytes say; for a forest that never held any rows.
    void restore(std::span<std::uint8_t const> rows, std::span<std::span<std::uint8_t const> const> trees,
                 Execution const& how, Progress const& progress);

    // A forest that predicts the shares of these classes, in this order, and does nothing else. Trees without rows are
    // left out. Needs at least one training row.
    [[nodiscard]] FrozenForest freeze(std::span<Label const> classes, Execution const& how);

    [[nodiscard]] TreeArrays tree_arrays(std::size_t tree);
    [[nodiscard]] MemoryUse memory() const;
    [[nodiscard]] std::vector<RowId> ids() const;
    [[nodiscard]] std::vector<std::uint8_t> holds(std::span<RowId const> ids) const;  // 1 for each id that it holds
    [[nodiscard]] std::size_t n_trees() const { return trees_.size(); }
    [[nodiscard]] std::size_t n_rows() const;
    [[nodiscard]] std::size_t n_classes() const;
    [[nodiscard]] std::vector<Count> class_totals() const;  // rows per class
    [[nodiscard]] std::size_t n_unbuilt() const;
    [[nodiscard]] std::vector<std::uint8_t> raw_data() const;

private:
    class Mutation;

    [[nodiscard]] std::vector<Slot> find_slots(std::span<RowId const> ids) const;
    template <typename Row>
    [[nodiscard]] std::vector<std::vector<Row>> rows_by_tree(std::span<Row const> rows) const;
    template <typename Function>
    void make_trees(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes, Execution const& how,
                    Progress const& progress, Function const& make);
    [[nodiscard]] std::vector<std::uint32_t> trees_of(RowId id) const;
    [[nodiscard]] TreeContext context() const;
    [[nodiscard]] UpdateCost update_trees(Changes const& changes, Execution const& how, Progress const& progress);
    [[nodiscard]] std::vector<std::unique_ptr<Worker>> make_workers(std::size_t n) const;
    [[nodiscard]] Grower grower(Worker& worker) const;
    void require_intact() const;
    void set_classes(Classes classes);
    [[nodiscard]] std::size_t count_unbuilt() const;
    void build_all(std::size_t n_threads);
    void expand_all(Tree& tree, Worker& worker) const;
    void expand_reached(Tree& tree, Matrix const& rows, Worker& worker) const;
    [[nodiscard]] ClassShares predict_built(Matrix const& rows, std::size_t n_threads) const;
    void add_shares(std::span<Count const> counts, std::span<double> shares) const;
    [[nodiscard]] std::vector<Routes> routes_for(std::size_t n_rows, std::size_t n_threads) const;
    void add_shares_of_few(DenseRows const& rows, std::span<double> shares) const;

    Params params_;
    Tuning tuning_;
    Dataset data_;
    Classes classes_;
    std::vector<Count> totals_;
    std::vector<Tree> trees_;
    std::vector<std::unique_ptr<Worker>> workers_;  // kept from one update to the next
    std::size_t n_nodes_hashed_ = 0;
    bool is_broken_ = false;
    mutable FairSharedMutex mutex_;

    // The trees with rows, laid out when many rows were predicted, until the next change.
    mutable std::vector<RoutedTree> routed_;
    mutable std::mutex routing_mutex_;
};

}  // namespace deciduous
