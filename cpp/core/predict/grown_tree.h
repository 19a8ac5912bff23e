// A tree as it is, for a few rows to walk down: laying it out would take longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "predict/leaf_values.h"
#include "predict/walk.h"
#include "tree/tree.h"

namespace deciduous {

class GrownTree {
public:
    GrownTree(Tree const& tree, LeafValues const& values)
        : tree_(&tree), nodes_(&tree.node(Tree::kRoot)), values_(values) {}

    [[nodiscard]] WalkLink root() const { return Tree::kRoot; }

    template <std::size_t kRows>
    [[nodiscard]] WalkLink next(WalkLink link, Value const* row) const {
        Node const node = nodes_[link];
        WalkLink const child = node.link + (row[node.attribute * kRows] > node.threshold() ? 1 : 0);
        return node.is_split() ? child : link;
    }

    template <typename Links>
    [[nodiscard]] bool are_leaves(Links const& links) const {
        return std::ranges::none_of(links, [this](WalkLink link) { return nodes_[link].is_split(); });
    }

    void add_shares(WalkLink leaf, std::size_t, double* shares) const { values_.add(*tree_, nodes_[leaf], shares); }

    // The few nodes that rows pass are not worth bringing all of them.
    struct NoFetcher {
        void step() {}
    };
    [[nodiscard]] static NoFetcher fetcher(std::size_t, std::size_t) { return {}; }

private:
    Tree const* tree_;
    Node const* nodes_;
    LeafValues values_;
};

}  // namespace deciduous
