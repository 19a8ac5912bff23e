// The forest: trees, the rows they were grown from, and threads. The whole interface that the bindings see.
//
// Every call sees the forest before or after an update, never in between. Predictions run side by side, also beside
// postponed subtrees that they do not reach; a call that changes anything, a postponed subtree included, runs alone.
//
// The trees follow from the rows. So a call that fails half way, for want of memory or because `progress` threw, leaves
// the rows as they were before and no trees, and the next call that needs trees grows them again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "base/forking.h"
#include "base/parallel.h"
#include "base/params.h"
#include "base/tuning.h"
#include "data/dataset.h"
#include "data/schema.h"
#include "io/fingerprint.h"
#include "predict/flat_tree.h"
#include "predict/frozen.h"
#include "predict/leaf_values.h"
#include "predict/tree_arrays.h"
#include "tree/grow.h"
#include "tree/tree.h"
#include "tree/update.h"

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

// The class shares of some rows: n_classes values per row. In a regression forest, the mean target in fixed point.
struct ClassShares {
    std::vector<double> shares;
    std::size_t n_classes = 0;
};

// Rows on their way in.
struct NewRows {
    std::span<RowId const> ids;
    Matrix rows{};
    std::span<WeightedLabel const> votes;
};

// Rows as the forest holds them: the values of one row after the other, a label and a weight for each.
struct HeldRows {
    std::vector<float> values;
    std::vector<Label> labels;
    std::vector<Count> weights;
    std::vector<Target> targets;  // in a regression forest
};

// How a call is to be carried out; never changes its result.
struct Execution {
    std::size_t n_threads = 1;
    bool lazy = false;
};

class Forest {
public:
    // A regression forest has one class, and a scale of its targets. With a range, this is a shard of the forest: it
    // has those trees, all rows or only those that its trees need, and everything that is said of the forest here is
    // said of them. What would need the other trees, too, is refused.
    Forest(Params const& params, Tuning const& tuning, Schema schema, Classes classes, TargetScale scale = {},
           std::optional<TreeRange> range = {});

    // Grows all trees from these rows; for a forest that never held any.
    void fit(std::span<RowId const> ids, Matrix const& rows, std::span<WeightedLabel const> votes, Execution const& how,
             Progress const& progress);

    // Takes in some more rows without growing trees from them: the trees go, and `grow` makes them from all rows.
    void take_rows(NewRows const& rows, Execution const& how);
    void grow(Execution const& how, Progress const& progress);

    // Takes rows out and others in, in one step: whoever reads sees none of it or all. An id in both is a row that is
    // replaced. There may be more classes than before; the former ones stay what they are. `progress` had better not
    // throw: the trees are lost then.
    UpdateCost update_rows(std::span<RowId const> leaving, NewRows const& coming, Classes classes, Execution const& how,
                           Progress const& progress);
    UpdateCost delete_rows(std::span<RowId const> ids, Execution const& how, Progress const& progress) {
        return update_rows(ids, {}, {}, how, progress);
    }
    UpdateCost add_rows(NewRows const& rows, Classes classes, Execution const& how, Progress const& progress) {
        return update_rows({}, rows, std::move(classes), how, progress);
    }

    // How many updates were carried out: tells somebody who was interrupted whether his was.
    [[nodiscard]] std::uint64_t n_updates() const;

    // Gives back all memory that a forest freshly fitted on the same rows would not take. Changes nothing else.
    void compact(Execution const& how);

    // Grows what lazy updates have postponed, and makes the statistics that a file has not, for about so many seconds
    // at the most; how many subtrees are left unbuilt. After each turn others get theirs, and `progress`, which hears
    // nothing new, may stop it by throwing: what was done stays.
    std::size_t settle(std::chrono::duration<double> budget, Execution const& how, Progress const& progress);

    // What delete_rows would return; nothing changes.
    [[nodiscard]] UpdateCost deletion_cost(std::span<RowId const> ids, Execution const& how);

    // Rows retrained if each id alone were deleted.
    [[nodiscard]] std::vector<std::uint64_t> deletion_costs(std::span<RowId const> ids, Execution const& how,
                                                            Progress const& progress = {});

    // Needs at least one training row.
    [[nodiscard]] ClassShares predict(Matrix const& rows, Execution const& how);

    // Adds what each tree predicts, in their order, to sums that begin with what other shards predict: n_classes values
    // per row. Returns how many trees have rows; a shard without any has none.
    std::size_t add_predictions(Matrix const& rows, Execution const& how, std::span<double> sums);

    // For each row, quantiles of the targets in the leaves where it arrives, one for each share, in fixed point. Needs
    // at least one training row.
    [[nodiscard]] std::vector<double> predict_quantiles(Matrix const& rows, std::span<double const> shares,
                                                        Execution const& how, Progress const& progress = {});

    // For each training row, by ascending id, what the trees that it does not belong to predict: n_classes values.
    [[nodiscard]] ClassShares predict_out_of_bag(Execution const& how);

    [[nodiscard]] Digest fingerprint(Execution const& how);

    // The digests of the trees, and the fingerprint of a forest of so many rows of such classes whose trees have these.
    [[nodiscard]] std::vector<Digest> tree_digests(Execution const& how);
    [[nodiscard]] Digest fingerprint_of(std::uint64_t n_rows, std::span<Label const> present,
                                        std::span<Digest const> trees) const;

    // How many nodes the last fingerprint had to hash; the others were remembered.
    [[nodiscard]] std::size_t n_nodes_hashed() const;

    // Where the trees differ from retrained ones, or nothing.
    [[nodiscard]] std::optional<std::string> verify(Execution const& how, Progress const& progress);

    // The first statistic that differs from a recount, or nothing.
    [[nodiscard]] std::optional<std::string> check(Execution const& how);

    // The rows and the trees as bytes: one for the rows, one for each tree.
    [[nodiscard]] WipedVector<std::uint8_t> rows_as_bytes() const;
    [[nodiscard]] WipedVector<std::uint8_t> tree_as_bytes(std::size_t tree);

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
    [[nodiscard]] HeldRows rows(std::span<RowId const> ids) const;  // in this order; all of them must be there
    [[nodiscard]] std::vector<std::uint8_t> needs(
        std::span<RowId const> ids) const;  // 1 for each that a tree belongs to
    [[nodiscard]] std::size_t n_trees() const { return range_.size(); }
    [[nodiscard]] std::size_t n_rows() const;
    [[nodiscard]] std::size_t n_classes() const;
    [[nodiscard]] std::vector<Count> class_totals() const;  // rows per class
    [[nodiscard]] std::size_t n_unbuilt() const;
    [[nodiscard]] std::vector<std::uint8_t> raw_data() const;

private:
    using Reading = std::shared_lock<FairSharedMutex>;
    using Writing = std::unique_lock<FairSharedMutex>;
    class Mutation;
    class Arrival;

    // The rows that leave and come.
    struct Moving {
        std::vector<Slot> leaving;  // ascending
        ChangedRows removed;
        ChangedRows added;
        void forget() noexcept;
    };
    template <typename Row>
    class RowsByTree;
    using Scratches = std::vector<std::unique_ptr<ThreadScratch>>;  // one for each thread

    [[nodiscard]] Reading reading() const;
    [[nodiscard]] Writing writing(Execution const& how);
    template <typename Reader>
    decltype(auto) read_trees(Execution const& how, Reader const& reader);
    void forget_other_threads();
    void grow_missing(std::size_t n_threads);
    void lay_out_rows(std::size_t n_threads);
    void tidy_rows(std::size_t n_threads);
    void tidy(Tree& tree) const;

    void find_slots(std::span<RowId const> ids, std::vector<Slot>& slots) const;
    template <typename Row>
    [[nodiscard]] RowsByTree<Row> rows_by_tree(std::span<Row> rows, std::size_t n_threads,
                                               Progress const& progress = {}) const;
    template <typename Function>
    void for_each(std::size_t n_items, Scratches& scratches, std::size_t n_threads, Function const& function,
                  Progress const& progress = {}) const;
    template <typename Function>
    auto for_each_tree(Scratches& scratches, std::size_t n_threads, Function const& function,
                       Progress const& progress = {}) const;
    template <typename Function>
    auto for_each_tree(std::size_t n_threads, Function const& function, Progress const& progress = {}) const {
        Scratches scratches;
        return for_each_tree(scratches, n_threads, function, progress);
    }
    template <typename Function>
    [[nodiscard]] UpdateCost sum_of_costs(Scratches& scratches, std::size_t n_threads, Function const& cost_of,
                                          Progress const& progress = {}) const;
    [[nodiscard]] std::vector<Tree> empty_trees() const;
    [[nodiscard]] Key key_of_tree(std::size_t tree) const;
    void require_all_trees() const;
    template <typename Function>
    void make_trees(std::span<Slot const> rows, Execution const& how, Progress const& progress, Function const& make);
    [[nodiscard]] TreeContext context() const;
    [[nodiscard]] UpdateCost update_trees(Changes const& changes, Execution const& how, Progress const& progress);
    [[nodiscard]] Grower grower(ThreadScratch& scratch) const { return {context(), scratch}; }
    void require_intact() const;
    void require_rows() const;
    [[nodiscard]] std::vector<Digest> digest_trees(Execution const& how);
    [[nodiscard]] Digest digest_of(std::uint64_t n_rows, std::span<Label const> present,
                                   std::span<Digest const> trees) const;
    [[nodiscard]] std::size_t count_postponed() const;
    void build_all(std::size_t n_threads);
    void build(Tree& tree, NodeIndex index, NodePath path, bool only_one_level, ThreadScratch& scratch) const;
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] bool settle_until(Clock::time_point end, Execution const& how);
    bool build_until(Tree& tree, NodeIndex index, NodePath path, Clock::time_point end, ThreadScratch& scratch) const;
    void make_stats(Tree& tree, ThreadScratch& scratch) const;
    [[nodiscard]] bool reaches_postponed(Matrix const& rows, std::size_t n_threads) const;
    void build_reached(Matrix const& rows, std::size_t n_threads);
    void build_reached(Tree& tree, NodeIndex index, NodePath path, DenseRows const& rows,
                       std::span<std::uint32_t> numbers, ThreadScratch& scratch) const;
    template <typename Predict>
    auto predict_with(Matrix const& rows, Execution const& how, Predict const& predict);
    std::size_t add_values(Matrix const& rows, std::size_t n_threads, std::span<double> sums) const;
    [[nodiscard]] LeafValues leaf_values() const { return {data_, classes_.weights}; }
    [[nodiscard]] std::vector<Tree const*> trees_with_rows() const;
    [[nodiscard]] std::vector<FlatTree> const* flat_trees_for(std::size_t n_rows, std::size_t n_threads) const;

    Params params_;
    TreeRange range_;  // which of the trees are here
    Tuning tuning_;
    Dataset data_;
    Classes classes_;
    TargetScale target_scale_;
    std::vector<Count> totals_;
    std::vector<Tree> trees_;  // none if they have to be grown again
    Scratches scratches_;      // kept from one update to the next, as is the memory of what follows
    Moving moving_;
    std::uint64_t n_updates_ = 0;
    std::size_t n_nodes_hashed_ = 0;
    bool is_torn_ = false;
    mutable FairSharedMutex mutex_;

    // The trees with rows, laid out when many rows were predicted, until the next change. What is unbuilt is a leaf
    // there, and rows that would reach it build it first, which is a change.
    mutable std::vector<FlatTree> flat_trees_;
    mutable std::mutex flat_trees_mutex_;

    AfterFork after_fork_{[this] { forget_other_threads(); }};  // the last to come and the first to go
};

}  // namespace deciduous
