// Rows and trees as bytes (docs/format.md). Canonical: equal forests have equal bytes. A tree is stored as its splits
// alone: where its rows are, and what its leaves count, follows from the rows, so a file cannot contradict itself
// there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/params.h"
#include "base/wiped.h"
#include "data/dataset.h"
#include "tree/grow.h"
#include "tree/tree.h"

namespace deciduous {

// The rows in the order of their ids. Classes are numbered among those that have rows.
[[nodiscard]] WipedVector<std::uint8_t> write_rows(Dataset const& data, std::span<Count const> class_totals);

// Rows as they were read, checked.
struct StoredRows {
    WipedVector<RowId> ids;
    WipedVector<WeightedLabel> votes;
    WipedVector<float> values;  // row-major
};

[[nodiscard]] StoredRows read_rows(std::span<std::uint8_t const> bytes, Schema const& schema, std::size_t n_classes,
                                   bool has_targets);

// The splits of a tree without unbuilt nodes.
[[nodiscard]] WipedVector<std::uint8_t> write_tree(Tree const& tree);

// Makes the tree of these rows (ascending) from stored splits. The rows are permuted.
void read_tree(std::span<std::uint8_t const> bytes, Tree& tree, RowGroup& rows, Grower& grower,
               std::size_t n_attributes);

}  // namespace deciduous
