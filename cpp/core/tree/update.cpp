#include "tree/update.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "split/impurity.h"
#include "stats/records.h"
#include "tree/consistency.h"

namespace deciduous {

void UpdateCost::record(std::uint32_t depth, std::size_t n_rows) {
    if (depth >= nodes_rebuilt.size()) {
        nodes_rebuilt.resize(depth + 1, 0);
        rows_retrained.resize(depth + 1, 0);
    }
    ++nodes_rebuilt[depth];
    rows_retrained[depth] += n_rows;
}

void UpdateCost::merge(UpdateCost const& other) {
    n_rows_regrown += other.n_rows_regrown;
    std::size_t const n_depths = std::max(nodes_rebuilt.size(), other.nodes_rebuilt.size());
    nodes_rebuilt.resize(n_depths, 0);
    rows_retrained.resize(n_depths, 0);
    for (std::size_t depth = 0; depth < other.nodes_rebuilt.size(); ++depth) {
        nodes_rebuilt[depth] += other.nodes_rebuilt[depth];
        rows_retrained[depth] += other.rows_retrained[depth];
    }
}

std::uint64_t UpdateCost::total_rows_retrained() const {
    return std::accumulate(rows_retrained.begin(), rows_retrained.end(), std::uint64_t{0});
}

namespace {

// What is known of a split's statistics once the changes are in.
enum class Knowledge { complete, needs_scans, needs_search };

// Changes in an order of their own.
class CopiedChanges {
public:
    using RowLists = Pool<ChangedRowList>;

    CopiedChanges(RowLists& lists, Changes const& changes) : removed_(lists), added_(lists) {
        removed_->assign(changes.removed.begin(), changes.removed.end());
        added_->assign(changes.added.begin(), changes.added.end());
    }
    [[nodiscard]] Changes all() const { return {*removed_, *added_}; }

private:
    RowLists::Loan removed_;
    RowLists::Loan added_;
};

// Walks one tree along the changed rows. Over a const tree it only works out the cost; over a mutable one it applies
// the changes.
template <typename TreeType>
class UpdateWalk {
public:
    UpdateWalk(TreeContext const& context, TreeType& tree, bool lazy, ThreadScratch& scratch)
        : context_(context), tree_(tree), lazy_(lazy), scratch_(scratch), grower_(context, scratch) {}

    UpdateCost run(Changes const& changes) {
        // A copy, as the walk sorts the rows by the ways that they go.
        n_changes_ = changes.removed.size() + changes.added.size();
        scratch_.removed.assign(changes.removed.begin(), changes.removed.end());
        scratch_.added.assign(changes.added.begin(), changes.added.end());
        if constexpr (kApplies)
            if (!uses_alternates())
                tree_.drop_alternates();
        visit(Tree::kRoot, tree_.root(), {scratch_.removed, scratch_.added});
        if constexpr (kApplies)
            limit_alternates();
        cost_.n_rows_regrown = n_rows_regrown_;
        return std::move(cost_);
    }

    // Decides a split that was left undecided.
    void decide(NodeIndex index, NodePath path) {
        ActiveAttributes::Scope const scope(scratch_.active);
        visit_cached(index, path, {});
    }

private:
    static constexpr bool kApplies = !std::is_const_v<TreeType>;

    using Loan = Pool<RowGroup>::Loan;

    void visit(NodeIndex index, NodePath path, Changes const& changes) {
        ActiveAttributes::Scope const scope(scratch_.active);
        Node const node = tree_.node(index);
        if (node.kind == NodeKind::unbuilt)
            change_rows(index, changes);
        else if (node.kind == NodeKind::leaf)
            visit_leaf(index, path, changes);
        else if (follows_statistics(node, changes))
            visit_cached(index, path, changes);
        else {
            Loan rows(scratch_.row_groups);
            rows_after(index, changes, *rows);
            if (is_postponed(rows->slots.size()))
                postpone(index, path, *rows);
            else
                visit_rows(index, path, changes, {rows->slots, rows->ends});
        }
        note_postponed(index);
    }

    void note_postponed(NodeIndex index) {
        if constexpr (kApplies)
            if (lazy_)
                tree_.note_postponed(index);
    }

    // Whether a split has statistics, and it takes less time to let them follow the changes than to look at the rows.
    bool follows_statistics(Node const& node, Changes const& changes) const {
        SplitStats const* const stats = tree_.stats(node);
        std::size_t const n_changes = changes.removed.size() + changes.added.size();
        return stats != nullptr && (lazy_ || n_changes * context_.tuning.rows_per_change < sum(stats->totals()));
    }

    // Whether a split over so many rows that has no statistics is left unbuilt.
    bool is_postponed(std::size_t n_rows) const {
        return lazy_ && n_rows >= context_.tuning.min_postponed_rows && n_rows <= context_.tuning.max_postponed_rows;
    }

    void postpone(NodeIndex index, NodePath path, RowGroup& rows) {
        LeafRows const its = decider().count({rows.slots, rows.ends});
        cost_.record(path.depth, sum(its.counts));
        if constexpr (kApplies)
            tree_.make_unbuilt(index, its);
    }

    void visit_leaf(NodeIndex index, NodePath path, Changes const& changes) {
        Node const node = tree_.node(index);
        auto const before = tree_.counts(node);
        scratch_.totals.assign(before.begin(), before.end());
        apply_to_counts(scratch_.totals, changes);
        // A leaf that every split would leave admissible only lacked classes, rows or varying attributes: deletions
        // bring none.
        bool const only_shrinks = changes.added.empty() && context_.params.min_samples_leaf <= 1;
        if (only_shrinks || decider().must_be_leaf(scratch_.totals, path.depth)) {
            change_rows(index, changes);
            return;
        }
        Loan group(scratch_.row_groups);
        rows_after(index, changes, *group);
        Rows rows{group->slots, group->ends};
        Count const n_after = sum(scratch_.totals);
        Decision const decision = decider().decide(rows, path);
        if (!decision.split) {
            change_rows(index, changes);
            return;
        }
        cost_.record(path.depth, n_after);
        regrow(index, path, decision, rows);
    }

    void visit_rows(NodeIndex index, NodePath path, Changes const& changes, Rows const& rows) {
        grower_.with_rows(rows, [&](Rows const& its) { visit_from_rows(index, path, changes, its); });
    }

    // A split without statistics, or with many changes: decides again from its rows, which are those after the change.
    void visit_from_rows(NodeIndex index, NodePath path, Changes const& changes, Rows rows) {
        if constexpr (kApplies)
            tree_.drop_alternates_of(index);  // only statistics would tell when they come back
        LeafRows const its = decider().count(rows);
        Count const n_after = sum(its.counts);
        Decision decision;
        if (!decider().must_be_leaf(its.counts, path.depth))
            decision = decider().decide(rows, path);
        if (!decision.split) {
            become_leaf(index, path, rows);
        } else if (Node const node = tree_.node(index);
                   keeps_partition(node, *decision.split, n_kept_left(node, rows, changes), changes)) {
            if constexpr (kApplies) {
                tree_.set_threshold(index, decision.split->threshold);
                tree_.drop_stats(index);
                if (decision.stats != nullptr)
                    tree_.set_stats(index, *decision.stats);
            }
            descend_with_rows(node, path, changes, *decision.split, rows);
        } else {
            cost_.record(path.depth, n_after);
            regrow(index, path, decision, rows);
        }
    }

    // A split with statistics: updates them and looks at rows only where they do not tell.
    void visit_cached(NodeIndex index, NodePath path, Changes const& changes) {
        Node const node = tree_.node(index);
        SplitStats& stats = stats_to_update(index);
        Count const n_kept = stats.n_left() - count_left(changes.removed, node.attribute, node.threshold());
        Loan rows(scratch_.row_groups);
        rows->slots.clear();
        bool const goes_left =
            !changes.removed.empty() && changes.removed[0].value(context_.data, node.attribute) <= node.threshold();
        NodeIndex const next = node.child(goes_left ? Side::left : Side::right);
        tree_.prefetch(next);
        Knowledge const knowledge = update_stats(index, stats, path, changes);
        tree_.prefetch_stats(next);

        Decision decision{std::nullopt, &stats};
        bool has_lost = false;
        if (!decider().must_be_leaf(stats.totals(), path.depth)) {
            if (lazy_ && !changes.empty() && knowledge != Knowledge::needs_search)
                decision.split = keep_for_now(index, path, changes, stats, knowledge, n_kept, has_lost);
            if (!decision.split) {
                if constexpr (kApplies)
                    tree_.note_decided(stats);
                if (knowledge != Knowledge::complete)
                    rows_after(index, changes, *rows);
                decision = knowledge == Knowledge::complete ? Decision{decider().decide(stats, path), &stats}
                                                            : decide_from_rows(stats, knowledge, *rows, path);
            }
        }
        tree_.prefetch_records(next);
        std::optional<CopiedChanges> copied;  // for what is set aside, as the way down changes their order
        if (kApplies && node.has_alternates)
            copied.emplace(scratch_.row_lists, changes);
        if (decision.split && keeps_partition(node, *decision.split, n_kept, changes))
            has_lost ? keep_uncounted(index, path, changes, stats, decision)
                     : keep_split(index, path, changes, stats, decision);
        else if (!decision.split || !bring_back(index, path, changes, stats, decision, n_kept))
            replace_split(index, path, changes, stats, decision, n_kept, *rows);
        if constexpr (kApplies)
            if (tree_.node(index).is_split() && tree_.node(index).has_alternates)
                update_alternates(index, path, copied ? copied->all() : changes);
    }

    // The split that stays without a look at the rows, if there is one. Where another one may be better, or is, the one
    // that is there stays undecided: that can wait until somebody asks, and rows that come and go until then may make
    // it the best one again.
    std::optional<Split> keep_for_now(NodeIndex index, NodePath path, Changes const& changes, SplitStats const& stats,
                                      Knowledge knowledge, Count n_kept_left, bool& has_lost) {
        Node const node = tree_.node(index);
        if (knowledge == Knowledge::complete && !stats.is_undecided()) {
            auto const best = decider().decide(stats, path);
            if (!best || keeps_partition(node, *best, n_kept_left, changes))
                return best;
            has_lost = true;
        }
        auto const same = find_same(node, path, changes, stats, n_kept_left);
        if constexpr (kApplies)
            if (same)
                tree_.leave_undecided(index, scratch_.is_stale);
        return same;
    }

    // The split with its threshold after the changes, if it is still a candidate, which its own record tells.
    std::optional<Split> find_same(Node const& node, NodePath path, Changes const& changes, SplitStats const& stats,
                                   Count n_kept_left) {
        Word const* record = stats.first_record();
        for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record))
            if (record_attribute(record) == node.attribute && !scratch_.is_stale[i])
                return decider().find_split(stats, record, path, [&](Split const& split) {
                    return keeps_partition(node, split, n_kept_left, changes);
                });
        return std::nullopt;
    }

    // Another split won, so that in the paper's measure all rows under the node are retrained, but the changes go to
    // the children that are there.
    void keep_uncounted(NodeIndex index, NodePath path, Changes const& changes, SplitStats& stats,
                        Decision const& decision) {
        cost_.record(path.depth, sum(stats.totals()));
        if (!kApplies)
            return;
        UpdateCost cost = std::move(cost_);
        keep_split(index, path, changes, stats, decision);
        cost_ = std::move(cost);
    }

    // The rows that stay are on the sides where they were.
    void keep_split(NodeIndex index, NodePath path, Changes const& changes, SplitStats& stats,
                    Decision const& decision) {
        Node const node = tree_.node(index);
        if (decision.stats != nullptr && has_uncached_child(node))
            retire_constants(stats, path);
        if constexpr (kApplies) {
            tree_.set_threshold(index, decision.split->threshold);
            if (decision.stats != nullptr)
                keep_stats(index, stats, *decision.split, path, changes);
            else
                tree_.drop_stats(index);
        }
        descend(node, path, changes, *decision.split);
    }

    // Whether children that were set aside are those of the new split, so that they came back.
    bool bring_back(NodeIndex index, NodePath path, Changes const& changes, SplitStats& stats, Decision const& decision,
                    Count n_kept_left) {
        Split const& split = *decision.split;
        if constexpr (kApplies) {
            Node const former = tree_.node(index);
            if (!former.has_alternates)
                return false;
            for (Alternate& alternate : tree_.alternates().all()) {
                if (alternate.node != index || alternate.attribute != split.attribute)
                    continue;
                Count const n_kept =
                    alternate.n_left - count_left(changes.removed, split.attribute, alternate.threshold);
                if (n_kept != split.n_left - count_left(changes.added, split.attribute, split.threshold))
                    continue;
                Count const n_left_before =
                    n_kept_left + count_left(changes.removed, former.attribute, former.threshold());
                tree_.bring_back(index, alternate, n_left_before);
                keep_uncounted(index, path, changes, stats, decision);
                return true;
            }
        }
        return false;
    }

    // Another split, or a leaf, takes the place of a split with statistics. `rows` are those after the change, or none
    // if nobody asked for them yet.
    void replace_split(NodeIndex index, NodePath path, Changes const& changes, SplitStats& stats,
                       Decision const& decision, Count n_kept_left, RowGroup& rows) {
        Count const n_after = sum(stats.totals());
        if (!kApplies) {
            cost_.record(path.depth, n_after);
            return;
        }
        if (rows.slots.empty())
            rows_after(index, changes, rows);
        if (!decision.split) {
            become_leaf(index, path, {rows.slots, rows.ends});
            return;
        }
        cost_.record(path.depth, n_after);
        if (decision.stats != nullptr && uses_alternates() && n_after >= context_.tuning.min_alternate_rows)
            regrow_beside(index, path, changes, stats, *decision.split, n_kept_left, rows);
        else
            regrow(index, path, {decision.split, copy_of(decision.stats, *decision.split)}, {rows.slots, rows.ends});
    }

    // A copy of statistics for a split: the node's own go away with its former children.
    SplitStats const* copy_of(SplitStats const* stats, Split const& split) {
        if (stats == nullptr)
            return nullptr;
        scratch_.found.assign(*stats);
        scratch_.found.set_n_left(split.n_left);
        return &scratch_.found;
    }

    // Grows new children and sets the former ones aside.
    void regrow_beside(NodeIndex index, NodePath path, Changes const& changes, SplitStats& stats, Split const& split,
                       Count n_kept_left, RowGroup& rows) {
        if constexpr (kApplies) {
            Node const former = tree_.node(index);
            Count const n_left_before = n_kept_left + count_left(changes.removed, former.attribute, former.threshold());
            keep_stats(index, stats, split, path, changes);
            std::size_t const n_before = rows.slots.size() + changes.removed.size() - changes.added.size();
            tree_.set_aside(index, split, n_left_before, static_cast<Count>(n_before));
            n_rows_regrown_ += rows.slots.size();
            grower_.grow_children(tree_, index, {rows.slots, rows.ends}, path, false);
        }
    }

    // What is set aside gets every change, too, so that nothing of a deleted row lingers there. It is no part of the
    // forest, so it costs nothing in the paper's measure.
    void update_alternates(NodeIndex index, NodePath path, Changes const& changes) {
        Pool<std::vector<NodeIndex>>::Loan const pairs(scratch_.node_lists);
        pairs->clear();
        for (Alternate const& alternate : tree_.alternates().all())
            if (alternate.node == index)
                pairs->push_back(alternate.pair);
        UpdateCost cost = std::move(cost_);
        for (NodeIndex const pair : *pairs) {
            CopiedChanges const copied(scratch_.row_lists, changes);
            auto const [removed, added] = copied.all();
            // Found anew each time, as a walk may set other children aside.
            Alternate& its = *std::ranges::find(tree_.alternates().all(), pair, &Alternate::pair);
            Attribute const attribute = its.attribute;
            Value const threshold = its.threshold;
            its.n_left += count_left(added, attribute, threshold) - count_left(removed, attribute, threshold);
            its.n_rows = static_cast<Count>(its.n_rows + added.size() - removed.size());
            std::size_t const n_removed = partition(removed, attribute, threshold);
            std::size_t const n_added = partition(added, attribute, threshold);
            Changes const left{removed.first(n_removed), added.first(n_added)};
            Changes const right{removed.subspan(n_removed), added.subspan(n_added)};
            if (!left.empty())
                visit(pair, path.child(Side::left), left);
            if (!right.empty())
                visit(pair + 1, path.child(Side::right), right);
        }
        cost_ = std::move(cost);
    }

    // Not where subtrees are postponed, as nothing is grown twice then, nor for many changes at once: they would be
    // made twice at almost every node.
    bool uses_alternates() const {
        return !lazy_ && tree_.n_postponed() == 0 && n_changes_ <= context_.tuning.max_batch_beside_alternates;
    }

    void limit_alternates() {
        if (tree_.alternates().empty())
            return;
        double const rows_per_tree =
            static_cast<double>(context_.data.n_rows()) * context_.params.trees_per_row / context_.params.n_trees;
        double const n_most = context_.tuning.max_alternate_share * rows_per_tree;
        tree_.limit_alternates(static_cast<std::size_t>(n_most));
    }

    // The statistics to change: the node's own, or a copy if this is only a plan.
    SplitStats& stats_to_update(NodeIndex index) {
        if constexpr (kApplies) {
            SplitStats& own = *tree_.stats(index);
            own.digest.reset();
            return own;
        } else {
            scratch_.planned.assign(*tree_.stats(tree_.node(index)));
            return scratch_.planned;
        }
    }

    void keep_stats(NodeIndex index, SplitStats& stats, Split const& split, NodePath path, Changes const& changes) {
        stats.set_n_left(split.n_left);
        if constexpr (kChecksStatistics) {
            Loan rows(scratch_.row_groups);
            rows_after(index, changes, *rows);
            require_consistent(stats, decider().look_at(*rows, path.key), path, context_, scratch_);
        }
        // Judged as if there were twice as many rows, so that a row that comes and goes does not make and drop them.
        if (!stats.is_undecided() && !decider().is_worth_keeping(stats.n_words(), 2 * std::size_t{sum(stats.totals())}))
            tree_.drop_stats(index);
    }

    Knowledge update_stats(NodeIndex index, SplitStats& stats, NodePath path, Changes const& changes) {
        Sampling const sampling = sampling_at(path.depth, context_.params);
        bool const keeps_constants = changes.added.empty() || keep_constants(index, stats, path.key, changes, sampling);
        apply_to_counts(stats.totals(), changes);
        bool const knows_targets = !context_.data.has_targets() || update_targets(stats, changes);
        if (!keeps_constants || !knows_targets)
            return Knowledge::needs_search;
        Knowledge knowledge = Knowledge::complete;
        scratch_.is_stale.assign(stats.n_records(), false);
        NodeCounts const counts(path.key, stats.totals(), context_.data.has_targets());
        Word* record = stats.first_record();
        for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record))
            if (!update_record(record, counts, context_.data, changes, sampling, context_.tuning, scratch_.scan)) {
                scratch_.is_stale[i] = true;
                knowledge = Knowledge::needs_scans;
            }
        return knowledge;
    }

    // Whether it is known that the targets are not all equal.
    static bool update_targets(SplitStats& stats, Changes const& changes) {
        TargetSummary targets = stats.targets();
        bool is_known = true;
        for (auto const& [slot, vote, values] : changes.removed) {
            targets.sum -= vote.weighted_target();
            is_known = targets.two.remove(vote.target, vote.weight) && is_known;
        }
        for (auto const& [slot, vote, values] : changes.added) {
            targets.sum += vote.weighted_target();
            targets.two.add(vote.target, vote.weight);
        }
        stats.set_targets(targets);
        return is_known;
    }

    // Whether an attribute comes before the last of the chosen ones and was passed over, being constant on the node.
    struct PassedOver {
        PassedOver(SplitStats const& its_stats, Key key, Sampling const& sampling)
            : stats(its_stats), node(key), is_everything(its_stats.n_records() < sampling.n_attributes) {
            if (!is_everything)
                last = AttributeOrder::rank_of(node, record_attribute(stats.last_record()));
        }
        [[nodiscard]] bool operator()(Attribute attribute) const {
            if (!is_everything && AttributeOrder::rank_of(node, attribute) >= last)
                return false;
            Word const* record = stats.first_record();
            for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record))
                if (record_attribute(record) == attribute)
                    return false;
            return true;
        }
        SplitStats const& stats;
        Key node;
        bool is_everything;  // with fewer attributes than asked for, all others are constant
        Rank last = 0;
    };

    // Whether the attributes that were passed over are constant with the added rows, too. One row tells their values.
    bool keep_constants(NodeIndex index, SplitStats const& stats, Key key, Changes const& changes,
                        Sampling const& sampling) const {
        auto const known = tree_.any_row(index, changes, context_.data, scratch_.tree);
        if (!known)
            return false;
        PassedOver const is_passed_over(stats, key, sampling);
        return std::ranges::none_of(changes.added, [&](ChangedRow const& row) {
            return differs_in_bits(row.slot, *known, is_passed_over) || differs_in_others(row, *known, is_passed_over);
        });
    }

    // Whether two rows differ in an attribute that has a bit and was passed over.
    bool differs_in_bits(Slot slot, Slot other, PassedOver const& is_passed_over) const {
        RowBits const& bits = context_.data.row_bits();
        for (std::size_t word = 0; word < bits.n_words(); ++word) {
            RowBits::Bits differing = (bits.row(slot)[word] ^ bits.row(other)[word]) & bits.in_use(word);
            for (; differing != 0; differing &= differing - 1) {
                auto const place = static_cast<std::size_t>(std::countr_zero(differing));
                if (is_passed_over(bits.attribute(word * RowBits::kBitsPerWord + place)))
                    return true;
            }
        }
        return false;
    }

    // The same for those that have none.
    bool differs_in_others(ChangedRow const& row, Slot other, PassedOver const& is_passed_over) const {
        Dataset const& data = context_.data;
        for (Attribute const attribute : data.row_bits().numeric_without())
            if (is_passed_over(attribute) && row.value(data, attribute) != data.value(other, attribute))
                return true;
        for (std::size_t const column : data.row_bits().columns_without()) {
            Column const& its = data.columns()[column];
            auto const category = data.schema().indicator(column, its[row.slot]);
            auto const others = data.schema().indicator(column, its[other]);
            if (category != others && ((category && is_passed_over(*category)) || (others && is_passed_over(*others))))
                return true;
        }
        return false;
    }

    bool has_uncached_child(Node const& node) const {
        auto const is_uncached = [&](Node const& its) { return its.is_split() && tree_.stats(its) == nullptr; };
        return is_uncached(tree_.node(node.child(Side::left))) || is_uncached(tree_.node(node.child(Side::right)));
    }

    // Spares nodes below the search among attributes that are known to be constant. Those with a bit find out faster.
    void retire_constants(SplitStats const& stats, NodePath path) const {
        PassedOver const is_passed_over(stats, path.key, sampling_at(path.depth, context_.params));
        for (Attribute const attribute : context_.data.row_bits().numeric_without())
            if (scratch_.active.is_active(attribute) && is_passed_over(attribute))
                scratch_.active.retire(attribute);
    }

    // The node's own statistics are up to date afterwards, or of no use.
    Decision decide_from_rows(SplitStats& stats, Knowledge knowledge, RowGroup& group, NodePath path) {
        Rows rows{group.slots, group.ends};
        if (knowledge == Knowledge::needs_scans &&
            decider().renew(stats, scratch_.is_stale, decider().look_at(rows, path.key), path))
            return {decider().decide(stats, path), &stats};
        Decision decision = decider().decide(rows, path);
        if (decision.stats != nullptr) {
            stats.assign(*decision.stats);
            decision.stats = &stats;
        }
        return decision;
    }

    void become_leaf(NodeIndex index, NodePath path, Rows const& rows) {
        LeafRows const its = decider().as_leaf(rows);
        cost_.record(path.depth, sum(its.counts));
        if constexpr (kApplies)
            tree_.make_leaf(index, its);
    }

    void regrow(NodeIndex index, NodePath path, Decision const& decision, Rows const& rows) {
        if constexpr (kApplies) {
            n_rows_regrown_ += lazy_ ? 0 : rows.size();
            grower_.grow_split(tree_, index, decision, rows, path, lazy_);
        }
    }

    void change_rows(NodeIndex index, Changes const& changes) {
        if constexpr (kApplies)
            tree_.change_rows(index, changes, context_.data);
    }

    // Whether the rows that stay are on the same sides of the new split as they were of the old one. As the splits are
    // on one attribute, the left sides contain one another, so it is enough to count them.
    bool keeps_partition(Node const& node, Split const& split, Count n_kept_left, Changes const& changes) const {
        return node.attribute == split.attribute &&
               n_kept_left == split.n_left - count_left(changes.added, split.attribute, split.threshold);
    }

    // Rows that stay and are left of the old split.
    Count n_kept_left(Node const& node, Rows const& rows_after, Changes const& changes) {
        auto const slots = decider().as_leaf(rows_after).slots;
        return context_.data.visit(node.attribute, [&](auto view) {
            Count n_left = 0;
            for (Slot const slot : slots)
                n_left += view(slot) <= node.threshold() ? context_.data.vote(slot).weight : 0;
            return n_left - count_left(changes.added, node.attribute, node.threshold());
        });
    }

    Count count_left(std::span<ChangedRow const> rows, Attribute attribute, Value threshold) const {
        Count n_left = 0;
        for (ChangedRow const& row : rows)
            n_left += row.value(context_.data, attribute) <= threshold ? row.vote.weight : 0;
        return n_left;
    }

    void descend(Node const& node, NodePath path, Changes const& changes, Split const& split) {
        auto const [left, right] = divide(changes, node, split);
        if (!left.empty())
            visit(node.child(Side::left), path.child(Side::left), left);
        if (!right.empty())
            visit(node.child(Side::right), path.child(Side::right), right);
    }

    void descend_with_rows(Node const& node, NodePath path, Changes const& changes, Split const& split,
                           Rows const& rows) {
        auto const [left_rows, right_rows] = grower_.divide(rows, split.attribute, split.threshold, path.depth);
        auto const [left, right] = divide(changes, node, split);
        visit_with_rows(node.child(Side::left), path.child(Side::left), left, left_rows);
        visit_with_rows(node.child(Side::right), path.child(Side::right), right, right_rows);
    }

    void visit_with_rows(NodeIndex index, NodePath path, Changes const& changes, Rows const& rows) {
        Node const node = tree_.node(index);
        if (changes.empty())
            return;
        if (node.is_split() && !follows_statistics(node, changes)) {
            ActiveAttributes::Scope const scope(scratch_.active);
            visit_rows(index, path, changes, rows);
            note_postponed(index);
        } else {
            visit(index, path, changes);
        }
    }

    // The changes of both children. Removed rows are where the old split put them; added ones go where the new one
    // says.
    std::pair<Changes, Changes> divide(Changes const& changes, Node const& node, Split const& split) {
        std::size_t const n_removed = partition(changes.removed, node.attribute, node.threshold());
        std::size_t const n_added = partition(changes.added, node.attribute, split.threshold);
        return {{changes.removed.first(n_removed), changes.added.first(n_added)},
                {changes.removed.subspan(n_removed), changes.added.subspan(n_added)}};
    }

    // Moves the rows that go left to the front, keeping their order on both sides; how many they are.
    std::size_t partition(std::span<ChangedRow> rows, Attribute attribute, Value threshold) {
        scratch_.going_right.clear();
        std::size_t n_left = 0;
        for (ChangedRow const& row : rows) {
            if (row.value(context_.data, attribute) <= threshold)
                rows[n_left++] = row;
            else
                scratch_.going_right.push_back(row);
        }
        std::ranges::copy(scratch_.going_right, rows.begin() + static_cast<std::ptrdiff_t>(n_left));
        return n_left;
    }

    // The rows of a node with the changes made.
    void rows_after(NodeIndex index, Changes const& changes, RowGroup& rows) {
        tree_.gather(index, changes, context_.data, rows, scratch_.tree);
    }

    [[nodiscard]] Decider& decider() { return grower_.decider(); }

    TreeContext const& context_;
    TreeType& tree_;
    bool lazy_;
    std::size_t n_changes_ = 0;
    ThreadScratch& scratch_;
    Grower grower_;
    UpdateCost cost_;
    std::uint64_t n_rows_regrown_ = 0;  // in what is set aside, too
};

}  // namespace

UpdateCost plan_update(TreeContext const& context, Tree const& tree, Changes const& changes, bool lazy,
                       ThreadScratch& scratch) {
    if (changes.empty())
        return {};
    return UpdateWalk<Tree const>(context, tree, lazy, scratch).run(changes);
}

void decide_postponed(TreeContext const& context, Tree& tree, NodeIndex index, NodePath path, ThreadScratch& scratch) {
    UpdateWalk<Tree>(context, tree, true, scratch).decide(index, path);
}

UpdateCost apply_update(TreeContext const& context, Tree& tree, Changes const& changes, bool lazy,
                        ThreadScratch& scratch) {
    if (changes.empty())
        return {};
    return UpdateWalk<Tree>(context, tree, lazy, scratch).run(changes);
}

}  // namespace deciduous
