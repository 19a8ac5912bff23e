#include "tree/grow.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/kernels.h"

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

void Grower::grow(Tree& tree, NodeIndex node, Rows const& rows, NodePath path) {
    LeafRows const its = decider_.count(rows);
    if (decider_.must_be_leaf(its.counts, path.depth))  // it need not be prepared for splits
        tree.make_leaf(node, decider_.listed(rows, its));
    else
        with_rows(rows, [&](Rows const& prepared) { grow_rows(tree, node, prepared, path, false); });
}

// Makes the node a split, or a leaf if there is none, with unbuilt children if `only_one_level`.
void Grower::grow_rows(Tree& tree, NodeIndex node, Rows rows, NodePath path, bool only_one_level) {
    ActiveAttributes::Scope const scope(scratch_.active);
    Decision const decision = decider_.decide(rows, path);
    if (decision.split)
        grow_split(tree, node, decision, rows, path, only_one_level);
    else
        tree.make_leaf(node, decider_.as_leaf(rows));
}

void Grower::expand(Tree& tree, NodeIndex node, NodePath path, bool only_one_level) {
    Pool<RowGroup>::Loan const group(scratch_.row_groups);
    tree.gather(node, {}, data_, *group, scratch_.tree);
    Rows const rows{group->slots, group->ends};
    if (!only_one_level)
        grow(tree, node, rows, path);
    else if (LeafRows const its = decider_.count(rows); decider_.must_be_leaf(its.counts, path.depth))
        tree.make_leaf(node, its);
    else
        grow_rows(tree, node, rows, path, true);
}

void Grower::grow_split(Tree& tree, NodeIndex node, Decision const& decision, Rows const& rows, NodePath path,
                        bool leave_unbuilt) {
    bool const is_random = sampling_at(path.depth, decider_.params()).is_random;
    tree.make_split(node, is_random ? NodeKind::random : NodeKind::greedy, *decision.split);
    if (decision.stats != nullptr)
        tree.set_stats(node, *decision.stats);
    grow_children(tree, node, rows, path, leave_unbuilt);
}

void Grower::grow_children(Tree& tree, NodeIndex node, Rows const& rows, NodePath path, bool leave_unbuilt) {
    Node const its = tree.node(node);
    auto const [left, right] = divide(rows, its.attribute, its.threshold(), path.depth);
    for (Side const side : {Side::left, Side::right}) {
        Rows const& child_rows = side == Side::left ? left : right;
        NodeIndex const child = its.child(side);
        if (leave_unbuilt) {
            tree.make_unbuilt(child, decider_.as_leaf(child_rows));
        } else {
            grow(tree, child, child_rows, path.child(side));
        }
    }
    if (leave_unbuilt)
        tree.note_postponed(node);
}

void Grower::make_stats(Tree& tree, NodeIndex node, Rows const& rows, NodePath path) {
    Node const its = tree.node(node);
    if (!its.is_split() || rows.size() < decider_.tuning().min_settled_rows)
        return;
    with_rows(rows, [&](Rows its_rows) {
        ActiveAttributes::Scope const scope(scratch_.active);
        if (tree.stats(its) == nullptr) {
            Decision const decision = decider_.decide(its_rows, path);
            // A file may say that another split is the best one: the first row that passes will find out.
            bool const is_same = decision.split && decision.split->attribute == its.attribute &&
                                 decision.split->threshold == its.threshold();
            if (is_same && decision.stats != nullptr)
                tree.set_stats(node, *decision.stats);
        }
        auto const [left, right] = divide(its_rows, its.attribute, its.threshold(), path.depth);
        make_stats(tree, its.child(Side::left), left, path.child(Side::left));
        make_stats(tree, its.child(Side::right), right, path.child(Side::right));
    });
}

// Which rows of a small node go left.
RowSet Grower::left_of(Rows const& rows, Attribute attribute, Value threshold) {
    if (auto const held = data_.values_of_bits(attribute)) {
        RowSet const is_set = rows.small->column(attribute) & rows.set;
        return (held->set <= threshold ? is_set : 0) | (held->clear <= threshold ? rows.set & ~is_set : 0);
    }
    auto const values = rows.small->values(data_, attribute, rows.set);
    RowSet left = 0;
    kernels::chosen->mark_below(to_ordered(threshold), values.data(), values.size(), &left);
    return left & rows.set;
}

// Marks the rows that go left.
void Grower::mark_left(Rows const& rows, Attribute attribute, Value threshold) {
    scratch_.marks.resize((rows.slots.size() + 63) / 64);
    auto const bit = data_.bit_of(attribute);
    if (!rows.bits.empty() && bit) {
        kernels::chosen->mark_bit(rows.bits.word(*bit / RowBits::kBitsPerWord), rows.slots.size(),
                                  static_cast<unsigned>(*bit % RowBits::kBitsPerWord), scratch_.marks.data());
        auto const held = *data_.values_of_bits(attribute);
        for (std::uint64_t& marks : scratch_.marks)
            marks = (held.set <= threshold ? marks : 0) | (held.clear <= threshold ? ~marks : 0);
        return;
    }
    Ordered* const values = scratch_.divided.take(rows.slots.size());
    gather_values(data_, attribute, rows.slots, values);
    kernels::chosen->mark_below(to_ordered(threshold), values, rows.slots.size(), scratch_.marks.data());
}

std::pair<Rows, Rows> Grower::divide(Rows const& rows, Attribute attribute, Value threshold, std::uint32_t depth) {
    if (rows.small != nullptr) {
        RowSet const left = left_of(rows, attribute, threshold);
        return {{{}, {}, {}, rows.small, left, rows.list}, {{}, {}, {}, rows.small, rows.set & ~left, rows.list}};
    }
    mark_left(rows, attribute, threshold);
    auto& left_ends = scratch_.child_ends[2 * depth];
    auto& right_ends = scratch_.child_ends[2 * depth + 1];
    count_left(rows, left_ends, right_ends);
    std::size_t const n = rows.slots.size();
    std::size_t const n_left = n == 0 ? 0 : left_ends.back();
    std::uint64_t const* const marks = scratch_.marks.data();
    scratch_.right.resize(std::max(scratch_.right.size(), n + kernels::kLanes));
    kernels::chosen->divide(marks, rows.slots.data(), n, rows.slots.data(), scratch_.right.data());
    std::copy_n(scratch_.right.data(), n - n_left, rows.slots.data() + n_left);
    bool const are_leaves = depth + 1 >= decider_.params().max_depth;
    BitColumns const bits = are_leaves ? BitColumns{} : rows.bits;  // leaves need none
    if (!bits.empty())
        divide_bits(rows, n_left);
    return {{rows.slots.first(n_left), left_ends, bits}, {rows.slots.subspan(n_left), right_ends, bits.from(n_left)}};
}

// Where the classes end on both sides, by the marks. The order of the rows stays, so each side has class after class.
void Grower::count_left(Rows const& rows, std::vector<std::uint32_t>& left_ends,
                        std::vector<std::uint32_t>& right_ends) const {
    left_ends.resize(rows.ends.size());
    right_ends.resize(rows.ends.size());
    std::uint32_t n_left = 0;
    std::size_t word = 0;  // those before it are counted
    for (std::size_t y = 0; y < rows.ends.size(); ++y) {
        std::size_t const end = rows.ends[y];
        for (; 64 * (word + 1) <= end; ++word)
            n_left += static_cast<std::uint32_t>(std::popcount(scratch_.marks[word]));
        std::uint64_t const rest = end % 64 == 0 ? 0 : scratch_.marks[word] << (64 - end % 64);
        left_ends[y] = n_left + static_cast<std::uint32_t>(std::popcount(rest));
        right_ends[y] = static_cast<std::uint32_t>(end) - left_ends[y];
    }
}

void Grower::divide_bits(Rows const& rows, std::size_t n_left) {
    std::size_t const n = rows.slots.size();
    RowBits::Bits* const right = scratch_.right_bits.take(n + kernels::kLanes);
    for (std::size_t i = 0; i < data_.row_bits().n_words(); ++i) {
        RowBits::Bits* const word = rows.bits.word(i);
        kernels::chosen->divide_words(scratch_.marks.data(), word, n, word, right);
        std::copy_n(right, n - n_left, word + n_left);
    }
}

}  // namespace deciduous
