// From rows to subtrees: the only code that makes splits.
#pragma once

#include <span>
#include <utility>

#include "tree/decide.h"
#include "tree/tree.h"

namespace deciduous {

class Grower {
public:
    Grower(TreeContext const& context, ThreadScratch& scratch)
        : data_(context.data), scratch_(scratch), decider_(context, scratch) {}

    // Turns the node into the subtree of these rows. The rows are permuted.
    void grow(Tree& tree, NodeIndex node, Rows const& rows, NodePath path);
    void grow(Tree& tree, NodeIndex node, RowGroup& rows, NodePath path) {
        grow(tree, node, Rows{rows.slots, rows.ends}, path);
    }

    // Turns an unbuilt node into a leaf or a split, with unbuilt children if `only_one_level`.
    void expand(Tree& tree, NodeIndex node, NodePath path, bool only_one_level);

    // Makes the node a split of the rows as decided, and its children: grown, or left unbuilt.
    void grow_split(Tree& tree, NodeIndex node, Decision const& decision, Rows const& rows, NodePath path,
                    bool leave_unbuilt);

    // Grows the children of a split of these rows.
    void grow_children(Tree& tree, NodeIndex node, Rows const& rows, NodePath path, bool leave_unbuilt);

    // Makes the statistics of large splits that have none. The rows, those of the node, are permuted.
    void make_stats(Tree& tree, NodeIndex node, Rows const& rows, NodePath path);

    // The rows of both children of a node at this depth.
    [[nodiscard]] std::pair<Rows, Rows> divide(Rows const& rows, Attribute attribute, Value threshold,
                                               std::uint32_t depth);

    // Calls the function with the rows: as a set if they are few, else with their bits where they are worth gathering,
    // for the node and all that is below it.
    template <typename Function>
    void with_rows(Rows const& rows, Function const& function) {
        if (rows.small == nullptr && decider_.are_few(rows.size())) {
            Pool<SmallNode>::Loan const small(scratch_.small_nodes);
            function(decider_.as_small(rows, *small));
        } else if (decider_.wants_bits(rows)) {
            Pool<ScratchBuffer<RowBits::Bits>>::Loan const bits(scratch_.node_bits);
            function(decider_.with_bits(rows, *bits));
        } else {
            function(rows);
        }
    }

    [[nodiscard]] Decider& decider() { return decider_; }

private:
    void mark_left(Rows const& rows, Attribute attribute, Value threshold);
    void count_left(Rows const& rows, std::vector<std::uint32_t>& left_ends,
                    std::vector<std::uint32_t>& right_ends) const;
    void divide_bits(Rows const& rows, std::size_t n_left);
    [[nodiscard]] RowSet left_of(Rows const& rows, Attribute attribute, Value threshold);
    void grow_rows(Tree& tree, NodeIndex node, Rows rows, NodePath path, bool only_one_level);

    Dataset const& data_;
    ThreadScratch& scratch_;
    Decider decider_;
};

// Puts rows, given by slots, class after class.
void group_by_class(std::span<Slot const> slots, std::span<Label const> labels, std::size_t n_classes, RowGroup& rows);

}  // namespace deciduous
