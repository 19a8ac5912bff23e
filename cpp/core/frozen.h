// A forest that only predicts: splits and class shares. No row, id, count or seed is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "routes.h"
#include "schema.h"
#include "tree.h"
#include "types.h"

namespace deciduous {

class FrozenForest {
public:
    // What `as_bytes` gave; anything else is CorruptData.
    [[nodiscard]] static FrozenForest from_bytes(std::span<std::uint8_t const> bytes, Schema schema);

    // Canonical (docs/format.md): equal forests have equal bytes.
    [[nodiscard]] std::vector<std::uint8_t> as_bytes() const;

    // The class shares of some rows, n_classes values for each: the same doubles that the forest gave.
    [[nodiscard]] std::vector<double> predict(Matrix const& rows, std::size_t n_threads) const;

    [[nodiscard]] std::size_t n_attributes() const { return schema_.n_attributes(); }

    // 1 for each attribute that a split asks for.
    [[nodiscard]] std::vector<std::uint8_t> used_attributes() const;

    // The same forest over fewer attributes: `kept`, ascending, are the numbers of those that are left.
    [[nodiscard]] FrozenForest with_attributes(Schema schema, std::span<Attribute const> kept) const;

    [[nodiscard]] std::size_t n_classes() const { return n_classes_; }
    [[nodiscard]] std::size_t n_trees() const { return trees_.size(); }
    [[nodiscard]] std::size_t n_nodes() const { return 2 * std::size_t{first_leaf_} + trees_.size(); }
    [[nodiscard]] std::size_t n_leaf_values() const { return leaf_values_.size() / n_classes_; }
    [[nodiscard]] std::size_t memory() const;

private:
    friend class Freezer;
    class Reader;
    class Writer;

    struct FrozenTree {
        Fork::Link first_split;  // of those that are its own; they end where those of the next tree begin
        Fork::Link root;
    };

    FrozenForest(Schema schema, std::size_t n_classes) : schema_(std::move(schema)), n_classes_(n_classes) {}

    [[nodiscard]] std::span<Fork const> splits() const { return std::span(forks_).first(first_leaf_); }
    [[nodiscard]] std::span<Fork> splits() { return std::span(forks_).first(first_leaf_); }
    [[nodiscard]] std::span<double const> leaf_value(std::size_t number) const;
    void append_leaves();
    [[nodiscard]] std::vector<Routes> routes() const;

    Schema schema_;
    std::size_t n_classes_;
    std::vector<FrozenTree> trees_;
    std::vector<Fork> forks_;  // the splits of all trees, in preorder; then a leaf for each leaf value
    Fork::Link first_leaf_ = 0;
    std::vector<double> leaf_values_;  // distinct class shares, n_classes each, in ascending order
};

// Makes a frozen forest, tree by tree.
class Freezer {
public:
    // The class shares that a leaf with these rows per class predicts.
    using SharesOf = std::function<std::vector<double>(std::span<Count const>)>;

    Freezer(Schema schema, std::size_t n_classes, SharesOf shares_of)
        : forest_(std::move(schema), n_classes), shares_of_(std::move(shares_of)) {}

    // A tree with rows and without unbuilt nodes.
    void add(Tree const& tree);

    [[nodiscard]] FrozenForest finish();

private:
    FrozenForest forest_;
    SharesOf shares_of_;
    std::map<std::vector<double>, Fork::Link> leaf_values_;  // numbered as they were met
};

}  // namespace deciduous
