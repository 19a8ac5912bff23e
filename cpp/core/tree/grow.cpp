#include "tree/grow.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace deciduous {

void group_by_class(std::span<Slot const> slots, std::span<Label const> labels, std::size_t n_classes, RowGroup& rows) {
    rows.ends.assign(n_classes + 1, 0);
    for (Slot const slot : slots)
        ++rows.ends[labels[slot] + 1];
    std::inclusive_scan(rows.ends.begin(), rows.ends.end(), rows.ends.begin());
    rows.slots.resize(slots.size());
    for (Slot const slot : slots)  // each class begins where the one before it ends, and ends there afterwards
        rows.slots[rows.ends[labels[slot]]++] = slot;
    rows.ends.pop_back();
}

void Grower::grow(Tree& tree, NodeIndex node, Rows rows, NodePath path) {
    with_rows(rows, [&](Rows const& its) { grow_rows(tree, node, its, path); });
}

void Grower::grow_rows(Tree& tree, NodeIndex node, Rows rows, NodePath path) {
    NodeRows const its = decider_.look_at(rows, path.key);
    if (decider_.must_be_leaf(its.totals, path.depth)) {
        tree.make_leaf(node, its.totals, its.slots, its.ends);
        return;
    }
    ActiveAttributes::Scope const scope(scratch_.active);
    auto const [split, stats] = decider_.decide(rows, its, path);
    if (split)
        grow_split(tree, node, *split, stats, rows, path, false);
    else
        tree.make_leaf(node, its.totals, its.slots, its.ends);
}

void Grower::expand(Tree& tree, NodeIndex node, NodePath path, bool only_one_level) {
    Pool<RowGroup>::Loan const group(scratch_.row_groups);
    tree.gather(node, {}, data_, *group, scratch_.tree);
    if (!only_one_level) {
        grow(tree, node, *group, path);
        return;
    }
    ActiveAttributes::Scope const scope(scratch_.active);
    Rows rows{group->slots, group->ends};
    NodeRows const its = decider_.look_at(rows, path.key);
    Decision decision;
    if (!decider_.must_be_leaf(its.totals, path.depth))
        decision = decider_.decide(rows, its, path);
    if (decision.split)
        grow_split(tree, node, *decision.split, decision.stats, rows, path, true);
    else
        tree.make_leaf(node, its.totals, its.slots, its.ends);
}

void Grower::grow_split(Tree& tree, NodeIndex node, Split const& split, SplitStats const* stats, Rows const& rows,
                        NodePath path, bool leave_unbuilt) {
    bool const is_random = sampling_at(path.depth, decider_.params()).is_random;
    tree.make_split(node, is_random ? NodeKind::random : NodeKind::greedy, split);
    if (stats != nullptr)
        tree.set_stats(node, *stats);
    grow_children(tree, node, rows, path, leave_unbuilt);
}

void Grower::grow_children(Tree& tree, NodeIndex node, Rows const& rows, NodePath path, bool leave_unbuilt) {
    Node const its = tree.node(node);
    auto const [left, right] = divide(rows, its.attribute, its.threshold(), path.depth);
    for (Side const side : {Side::left, Side::right}) {
        Rows const& child_rows = side == Side::left ? left : right;
        NodeIndex const child = its.child(side);
        if (leave_unbuilt) {
            NodeRows const view = decider_.look_at(child_rows, path.key);
            tree.make_unbuilt(child, view.totals, view.slots, view.ends);
        } else {
            grow(tree, child, child_rows, path.child(side));
        }
    }
}

std::pair<Rows, Rows> Grower::divide(Rows const& rows, Attribute attribute, Value threshold, std::uint32_t depth) {
    if (rows.small != nullptr) {
        RowSet left = 0;
        data_.visit(attribute, [&](auto view) {
            for (RowSet rest = rows.set; rest != 0; rest &= rest - 1) {
                auto const place = static_cast<std::size_t>(std::countr_zero(rest));
                left |= RowSet{view(rows.small->slot(place)) <= threshold} << place;
            }
        });
        return {{{}, {}, rows.small, left, rows.list}, {{}, {}, rows.small, rows.set & ~left, rows.list}};
    }
    auto& left_ends = scratch_.child_ends[2 * depth];
    auto& right_ends = scratch_.child_ends[2 * depth + 1];
    left_ends.resize(rows.ends.size());
    right_ends.resize(rows.ends.size());
    scratch_.right.resize(std::max(scratch_.right.size(), rows.slots.size()));
    Slot* const right = scratch_.right.data();
    std::size_t n_left = 0;
    std::size_t n_right = 0;
    data_.visit(attribute, [&](auto view) {
        for (std::size_t y = 0, i = 0; y < rows.ends.size(); ++y) {
            for (; i < rows.ends[y]; ++i) {  // no branches, as their outcomes would be random
                Slot const slot = rows.slots[i];
                bool const goes_left = view(slot) <= threshold;
                rows.slots[n_left] = slot;
                right[n_right] = slot;
                n_left += goes_left ? 1 : 0;
                n_right += goes_left ? 0 : 1;
            }
            left_ends[y] = static_cast<std::uint32_t>(n_left);
            right_ends[y] = static_cast<std::uint32_t>(n_right);
        }
    });
    std::copy_n(right, n_right, rows.slots.begin() + static_cast<std::ptrdiff_t>(n_left));
    return {{rows.slots.first(n_left), left_ends}, {rows.slots.subspan(n_left), right_ends}};
}

}  // namespace deciduous
