// Trees laid out for many rows to walk down: splits alone, in preorder, so that little memory has to come into the
// cache; and leaves that lead back to themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/types.h"
#include "base/wiped.h"
#include "predict/leaf_values.h"
#include "predict/walk.h"
#include "tree/tree.h"

namespace deciduous {

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

// Brings the forks of a tree into the cache, and then what its leaves predict, some at each step, unless so few rows
// follow that they pass only some.
class TreeFetcher {
public:
    TreeFetcher(std::span<Fork const> forks, std::span<double const> leaf_shares, std::size_t n_rows,
                std::size_t rows_per_step)
        : parts_{std::as_bytes(forks), std::as_bytes(leaf_shares)},
          n_per_step_((parts_[0].size() + parts_[1].size()) / kLine / std::max<std::size_t>(1, n_rows / rows_per_step) +
                      1) {
        if (n_per_step_ > kMostPerRow * rows_per_step)
            parts_ = {};
    }

    void step() {
        std::size_t n = n_per_step_;
        for (auto& part : parts_)
            for (; n > 0 && !part.empty(); --n, part = part.subspan(std::min(kLine, part.size())))
                __builtin_prefetch(part.data(), 0, 2);
    }

private:
    static constexpr std::size_t kLine = 64;
    static constexpr std::size_t kMostPerRow = 25;  // more lines than that take longer than they save

    std::array<std::span<std::byte const>, 2> parts_;
    std::size_t n_per_step_;
};

// Where rows that have arrived stay. If each leaf has a fork of its own, which leads back to it, no step has to ask
// whether a row has arrived. If all leaves are one fork, each step asks, but where leaves are as many as rows, as in a
// regression forest, half of the memory is enough.
enum class LeafForks { own, one };

// How to walk down one laid out tree, whoever holds it.
template <LeafForks kLeaves>
class FlatTreeView {
public:
    // All links from `first_leaf` on are leaves, with so many class shares each. `own` are the forks, and the shares,
    // that no other tree has.
    FlatTreeView(Fork const* forks, Fork::Link root, Fork::Link first_leaf, double const* leaf_shares,
                 std::span<Fork const> own, std::span<double const> own_shares = {})
        : forks_(forks),
          root_(root),
          first_leaf_(first_leaf),
          leaf_shares_(leaf_shares),
          own_(own),
          own_shares_(own_shares) {}

    [[nodiscard]] WalkLink root() const { return root_; }

    template <std::size_t kRows>
    [[nodiscard]] WalkLink next(WalkLink link, Value const* row) const {
        Fork const& fork = forks_[kLeaves == LeafForks::own ? link : std::min<WalkLink>(link, first_leaf_)];
        std::size_t const place = kRows == kRowsSideBySide ? fork.place : fork.attribute() * kRows;
        // Both are read before one is chosen: else compilers may jump, and processors guess wrong half of the time.
        Fork::Link left = fork.left;
        Fork::Link right = fork.right;
        asm("" : "+r"(left), "+r"(right));
        WalkLink const next = row[place] > fork.threshold ? right : left;
        return kLeaves == LeafForks::own || link < first_leaf_ ? next : link;
    }

    template <typename Links>
    [[nodiscard]] bool are_leaves(Links const& links) const {
        return std::ranges::min(links) >= first_leaf_;
    }

    template <typename NumberOfClasses>
    void add_shares(WalkLink leaf, NumberOfClasses n_classes, double* shares) const {
        double const* const its_shares = leaf_shares_ + (leaf - first_leaf_) * n_classes;
        for (std::size_t y = 0; y < n_classes; ++y)
            shares[y] += its_shares[y];
    }

    [[nodiscard]] TreeFetcher fetcher(std::size_t n_rows, std::size_t rows_per_step) const {
        return {own_, own_shares_, n_rows, rows_per_step};
    }

private:
    Fork const* forks_;
    Fork::Link root_;
    Fork::Link first_leaf_;
    double const* leaf_shares_;
    std::span<Fork const> own_;
    std::span<double const> own_shares_;
};

// Leaves come after all splits. Until it is known how many splits there are, a link to a leaf is the number of the leaf
// with this added.
inline constexpr Fork::Link kLeafMark = Fork::Link{1} << 31;

// Appends the splits below a node, and gives the link to it. `number_of(node)` is the number of a leaf.
template <typename Forks, typename NumberOf>
Fork::Link append_splits(Tree const& tree, NodeIndex index, NumberOf&& number_of, Forks& forks) {
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

// Leaves of rows of one class are one; the means of leaves are all different.
[[nodiscard]] inline LeafForks leaf_forks(LeafValues const& values) {
    return values.are_means() ? LeafForks::one : LeafForks::own;
}

// A tree of a forest, laid out. It does not follow changes of the tree.
class FlatTree {
public:
    FlatTree() = default;
    FlatTree(Tree const& tree, std::size_t n_values, LeafValues const& values);

    // `kLeaves` as the values of the leaves ask for: see leaf_forks.
    template <LeafForks kLeaves>
    [[nodiscard]] FlatTreeView<kLeaves> view() const {
        return {forks_.data(), root_, first_leaf_, leaf_shares_.data(), forks_, leaf_shares_};
    }
    [[nodiscard]] std::size_t memory() const {
        return sizeof(FlatTree) + forks_.capacity() * sizeof(Fork) + leaf_shares_.capacity() * sizeof(double);
    }

private:
    WipedVector<Fork> forks_;          // a threshold may be the value of a row
    WipedVector<double> leaf_shares_;  // or means; all leaves with rows of the same single class are one
    Fork::Link root_ = 0;
    Fork::Link first_leaf_ = 0;
};

template <LeafForks kLeaves>
[[nodiscard]] std::vector<FlatTreeView<kLeaves>> views_of(std::vector<FlatTree> const& trees) {
    std::vector<FlatTreeView<kLeaves>> views;
    views.reserve(trees.size());
    std::ranges::transform(trees, std::back_inserter(views), [](FlatTree const& tree) { return tree.view<kLeaves>(); });
    return views;
}

}  // namespace deciduous
