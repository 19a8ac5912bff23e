// What a change of rows does to a tree: worked out without touching it, or carried out, by the same code.
#pragma once

#include <cstdint>
#include <vector>

#include "split/candidates.h"
#include "tree/grow.h"
#include "tree/tree.h"

namespace deciduous {

// Splits that changed, and the rows under them (the paper's measure of the cost of a deletion), by depth. A row of
// weight w counts as w rows.
struct UpdateCost {
    std::vector<std::uint64_t> nodes_rebuilt;
    std::vector<std::uint64_t> rows_retrained;
    std::uint64_t n_rows_regrown = 0;  // what was really grown again: less, where children came back or were postponed

    void record(std::uint32_t depth, std::size_t n_rows);
    void merge(UpdateCost const& other);
    [[nodiscard]] std::uint64_t total_rows_retrained() const;
};

// The data set holds the removed rows still, and the added ones already.

// The cost of the changes; nothing changes.
[[nodiscard]] UpdateCost plan_update(TreeContext const& context, Tree const& tree, Changes const& changes, bool lazy,
                                     ThreadScratch& scratch);

// Carries the changes out. If lazy, subtrees that would have to be grown again are left unbuilt, and so are small ones
// that may have to be.
UpdateCost apply_update(TreeContext const& context, Tree& tree, Changes const& changes, bool lazy,
                        ThreadScratch& scratch);

// Decides a split that a lazy update left undecided, from its rows. If it is another one now, its children are left
// unbuilt.
void decide_postponed(TreeContext const& context, Tree& tree, NodeIndex index, NodePath path, ThreadScratch& scratch);

}  // namespace deciduous
