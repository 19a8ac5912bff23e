// Trees laid out for many rows to walk down: splits alone, in preorder, so that little memory has to come into the
// cache; and leaves that lead back to themselves, so that rows that have arrived walk on beside the others, and no step
// depends on a question that the processor would have to guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schema.h"
#include "tree.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

inline constexpr std::size_t kRowsSideBySide = 10;  // as many as common processors have registers for

// A split, or a leaf: a fork whose ways both lead back to it.
struct Fork {
    using Link = std::uint32_t;  // the number of another fork

    Value threshold;
    std::uint32_t place;  // where the values of its attribute are in a block of kRowsSideBySide rows
    Link left;
    Link right;

    static Fork split(Attribute attribute, Value threshold) { return {threshold, place_of(attribute), 0, 0}; }
    static Fork leaf(Link self) { return {kNoValue, 0, self, self}; }

    static std::uint32_t place_of(Attribute attribute) {
        return static_cast<std::uint32_t>(attribute * kRowsSideBySide);
    }
    [[nodiscard]] Attribute attribute() const { return place / kRowsSideBySide; }
};
static_assert(sizeof(Fork) == 16);

// One laid out tree. All forks from `first_leaf` on are leaves.
struct Routes {
    Fork const* forks;
    Fork::Link root;
    Fork::Link first_leaf;
    double const* leaf_shares;  // of each class, for each leaf
    std::span<Fork const> own;  // forks that no other tree shares
};

// Adds the class shares of the leaves where the rows arrive, tree after tree, to those of the rows.
void add_leaf_shares(std::span<Routes const> trees, Matrix const& rows, Schema const& schema, std::size_t n_classes,
                     std::size_t n_threads, std::span<double> shares);

// Leaves come after all splits. Until it is known how many splits there are, a link to a leaf is the number of the leaf
// with this added.
inline constexpr Fork::Link kLeafMark = Fork::Link{1} << 31;

// Appends the splits below a node, and gives the link to it. `number_of(node)` is the number of a leaf.
template <typename Forks, typename NumberOf>
Fork::Link append_splits(Tree const& tree, NodeIndex index, NumberOf const& number_of, Forks& forks) {
    Node const& node = tree.node(index);
    if (!node.is_split())
        return kLeafMark + number_of(node);
    auto const place = static_cast<Fork::Link>(forks.size());
    forks.push_back(Fork::split(node.attribute, node.threshold()));
    Fork::Link const left = append_splits(tree, node.child(Side::left), number_of, forks);
    Fork::Link const right = append_splits(tree, node.child(Side::right), number_of, forks);
    forks[place].left = left;
    forks[place].right = right;
    return place;
}

// A tree of a forest, laid out. It does not follow changes of the tree.
class RoutedTree {
public:
    // Adds the class shares that a leaf with these rows per class predicts.
    using AddShares = std::function<void(std::span<Count const>, std::span<double>)>;

    RoutedTree() = default;
    RoutedTree(Tree const& tree, std::size_t n_classes, AddShares const& add_shares);

    [[nodiscard]] Routes routes() const {
        return {forks_.data(), root_, first_leaf_, leaf_shares_.data(), {forks_.data(), forks_.size()}};
    }
    [[nodiscard]] std::size_t memory() const {
        return sizeof(RoutedTree) + forks_.capacity() * sizeof(Fork) + leaf_shares_.capacity() * sizeof(double);
    }

private:
    WipedVector<Fork> forks_;          // a threshold may be the value of a row
    WipedVector<double> leaf_shares_;  // all leaves with rows of the same single class are one
    Fork::Link root_ = 0;
    Fork::Link first_leaf_ = 0;
};

}  // namespace deciduous
