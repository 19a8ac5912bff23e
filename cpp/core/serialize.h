// Rows and trees as bytes (docs/format.md). Canonical: equal forests have equal bytes. A tree is stored as its splits
// alone: where its rows are, and what its leaves count, follows from the rows, so a file cannot contradict itself
// there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset.h"
#include "grow.h"
#include "params.h"
#include "tree.h"

namespace deciduous {

// The rows in the order of their ids.
[[nodiscard]] std::vector<std::uint8_t> write_rows(Dataset const& data);

// Rows as they were read, checked.
struct StoredRows {
    std::vector<RowId> ids;
    std::vector<Vote> votes;
    std::vector<float> values;  // row-major
};

[[nodiscard]] StoredRows read_rows(std::span<std::uint8_t const> bytes, Schema const& schema, std::size_t n_classes);

// The splits of a tree without unbuilt nodes.
[[nodiscard]] std::vector<std::uint8_t> write_tree(Tree const& tree);

// Makes the tree of these rows (ascending) from stored splits. The rows are permuted.
void read_tree(std::span<std::uint8_t const> bytes, Tree& tree, std::span<Slot> rows, Params const& params,
               Grower& grower, std::size_t n_attributes);

}  // namespace deciduous
