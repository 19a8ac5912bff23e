// A forest that only predicts: splits and class shares. No row, id, count or seed is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/types.h"
#include "base/wiped.h"
#include "data/schema.h"
#include "predict/flat_tree.h"
#include "predict/leaf_values.h"
#include "tree/tree.h"

namespace deciduous {

class FrozenForest {
public:
    // The class shares of some rows, n_classes values for each, or the means of targets: the same doubles that the
    // forest gave.
    [[nodiscard]] std::vector<double> predict(Matrix const& rows, std::size_t n_threads) const;

    [[nodiscard]] std::size_t n_attributes() const { return schema_.n_attributes(); }

    // 1 for each attribute that a split asks for.
    [[nodiscard]] std::vector<std::uint8_t> used_attributes() const;

    // The same forest over fewer attributes: `kept`, ascending, are the numbers of those that are left.
    [[nodiscard]] FrozenForest with_attributes(Schema schema, std::span<Attribute const> kept) const;

    [[nodiscard]] std::size_t n_classes() const { return n_classes_; }
    [[nodiscard]] bool predicts_means() const { return are_means_; }
    [[nodiscard]] std::size_t n_trees() const { return trees_.size(); }
    [[nodiscard]] std::size_t n_nodes() const { return 2 * std::size_t{first_leaf_} + trees_.size(); }
    [[nodiscard]] std::size_t n_leaf_values() const { return leaf_values_.size() / n_classes_; }
    [[nodiscard]] std::size_t memory() const;

private:
    friend class Freezer;
    friend class FrozenReader;  // of io/frozen_bytes.cpp, and the next one, too
    friend class FrozenWriter;

    struct FrozenTree {
        Fork::Link first_split;  // of those that are its own; they end where those of the next tree begin
        Fork::Link root;
    };

    FrozenForest(Schema schema, std::size_t n_classes, bool are_means)
        : schema_(std::move(schema)), n_classes_(n_classes), are_means_(are_means) {}

    [[nodiscard]] std::span<Fork const> splits() const { return std::span(forks_).first(first_leaf_); }
    [[nodiscard]] std::span<Fork> splits() { return std::span(forks_).first(first_leaf_); }
    [[nodiscard]] std::span<double const> leaf_value(std::size_t number) const;
    void append_leaves();
    [[nodiscard]] std::vector<FlatTreeView<LeafForks::own>> views() const;

    Schema schema_;
    std::size_t n_classes_;
    bool are_means_;  // in place of class shares: one value for each leaf
    std::vector<FrozenTree> trees_;
    // The splits of all trees, in preorder; then a leaf for each leaf value. A threshold may be the value of a row.
    WipedVector<Fork> forks_;
    Fork::Link first_leaf_ = 0;
    // Distinct class shares, n_classes each, or means, in ascending order. A mean may be the target of a row.
    WipedVector<double> leaf_values_;
};

// Makes a frozen forest, tree by tree.
class Freezer {
public:
    // Of the shares of these classes, in this order.
    Freezer(Schema schema, std::span<Label const> classes, LeafValues const& values)
        : forest_(std::move(schema), classes.size(), values.are_means()), classes_(classes), values_(values) {}

    // A tree with rows and without unbuilt nodes.
    void add(Tree const& tree);

    [[nodiscard]] FrozenForest finish();

private:
    [[nodiscard]] WipedVector<double> values_of(Tree const& tree, Node const& leaf) const;

    FrozenForest forest_;
    std::span<Label const> classes_;
    LeafValues values_;
    // Numbered as they were met. The mean of a leaf of one row is the target of that row.
    std::map<WipedVector<double>, Fork::Link> leaf_values_;
};

}  // namespace deciduous
