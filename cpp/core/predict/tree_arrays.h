// A tree laid out for readers outside of the core: importances, pictures, exports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "data/dataset.h"
#include "tree/tree.h"

namespace deciduous {

// A tree as arrays over its nodes in preorder, left before right.
struct TreeArrays {
    std::vector<std::uint8_t> kind;  // NodeKind
    std::vector<std::uint32_t> depth;
    std::vector<Attribute> attribute;  // 0 at leaves
    std::vector<float> threshold;      // 0 at leaves
    std::vector<std::uint32_t> right;  // right child; the left one follows its parent; 0 at leaves
    std::vector<Count> counts;         // rows per class, n_classes for each node
    std::vector<RowId> ids;            // of the rows of all leaves, ascending within a leaf
    std::vector<std::uint32_t> n_ids;  // how many of them each node has; 0 at splits
    // In a regression forest, in fixed point: the mean target of each node, and the sum of the squared distances of the
    // targets of each leaf to their mean; 0 at splits.
    std::vector<double> means;
    std::vector<double> errors;
};

// The arrays of a tree without unbuilt nodes.
[[nodiscard]] TreeArrays export_tree(Tree const& tree, Dataset const& data, std::size_t n_classes);

}  // namespace deciduous
