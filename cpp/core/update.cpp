#include "update.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <type_traits>

#include "consistency.h"
#include "impurity.h"

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

// Walks one tree along the changed rows. Over a const tree it only works out the cost; over a mutable one it applies
// the changes.
template <typename TreeType>
class UpdateWalk {
public:
    UpdateWalk(TreeContext const& context, TreeType& tree, bool lazy, Worker& worker)
        : context_(context), tree_(tree), lazy_(lazy), worker_(worker), grower_(context, worker) {}

    UpdateCost run(Changes const& changes) {
        if (!changes.empty())
            visit(Tree::kRoot, tree_.root(), changes);
        return std::move(cost_);
    }

private:
    static constexpr bool kApplies = !std::is_const_v<TreeType>;

    using Loan = SlotBuffers::Loan;

    // The changes that concern one child.
    struct ChildChanges {
        explicit ChildChanges(SlotBuffers& buffers) : removed(buffers), added(buffers) {}
        Loan removed;
        Loan added;
        [[nodiscard]] Changes changes() const { return {removed.slots, added.slots}; }
    };

    void visit(NodeIndex index, Place place, Changes const& changes) {
        ActiveAttributes::Scope const scope(worker_.active);
        Node const node = tree_.node(index);
        if (node.kind == NodeKind::unbuilt)
            change_rows(index, changes);
        else if (node.kind == NodeKind::leaf)
            visit_leaf(index, place, changes);
        else if (tree_.stats(node) != nullptr)
            visit_cached(index, place, changes);
        else {
            Loan rows(worker_.buffers);
            rows_after(index, changes, rows.slots);
            visit_from_rows(index, place, changes, rows.slots);
        }
    }

    void visit_leaf(NodeIndex index, Place place, Changes const& changes) {
        Node const node = tree_.node(index);
        auto const before = tree_.counts(node);
        worker_.totals.assign(before.begin(), before.end());
        apply_to_counts(worker_.totals, context_.data, changes);
        // A leaf that every split would leave admissible only lacked classes, rows or varying attributes: deletions
        // bring none.
        bool const only_shrinks = changes.added.empty() && context_.params.min_samples_leaf <= 1;
        if (only_shrinks || grower_.must_be_leaf(worker_.totals, place.depth)) {
            change_rows(index, changes);
            return;
        }
        Loan rows(worker_.buffers);
        rows_after(index, changes, rows.slots);
        SplitStats stats;
        auto const split =
            grower_.find_split(grower_.view(rows.slots, place.key), sampling_at(place.depth, context_.params), &stats);
        if (!split) {
            change_rows(index, changes);
            return;
        }
        cost_.record(place.depth, sum(stats.totals));
        regrow(index, place, *split, std::move(stats), rows.slots);
    }

    // A split without statistics: decides again from its rows, which are those after the change.
    void visit_from_rows(NodeIndex index, Place place, Changes const& changes, std::span<Slot> rows) {
        NodeView const view = grower_.view(rows, place.key);
        if (grower_.must_be_leaf(view.totals, place.depth)) {
            become_leaf(index, place, rows);
            return;
        }
        Sampling const sampling = sampling_at(place.depth, context_.params);
        SplitStats stats;
        auto const split = grower_.find_split(view, sampling, &stats);
        if (!split) {
            become_leaf(index, place, rows);
        } else if (Node const node = tree_.node(index);
                   keeps_partition(node, *split, n_kept_left(node, rows, changes), changes)) {
            if constexpr (kApplies) {
                tree_.set_threshold(index, split->threshold);
                if (grower_.is_worth_keeping(stats, rows.size(), sampling))
                    tree_.set_stats(index, std::move(stats));
            }
            descend_with_rows(node, place, changes, *split, rows);
        } else {
            cost_.record(place.depth, sum(stats.totals));
            regrow(index, place, *split, std::move(stats), rows);
        }
    }

    // A split with statistics: updates them and looks at rows only where they do not tell.
    void visit_cached(NodeIndex index, Place place, Changes const& changes) {
        Node const node = tree_.node(index);
        SplitStats& stats = stats_to_update(index);
        Count const n_kept = stats.n_left - count_left(changes.removed, node.attribute, node.threshold());
        Sampling const sampling = sampling_at(place.depth, context_.params);
        Loan rows(worker_.buffers);
        Knowledge const knowledge = update_stats(stats, changes, sampling);

        std::optional<Split> split;
        if (!grower_.must_be_leaf(stats.totals, place.depth)) {
            if (knowledge != Knowledge::complete) {
                rows_after(index, changes, rows.slots);
                learn_from_rows(stats, knowledge, grower_.view(rows.slots, place.key), sampling);
            }
            split = grower_.best_split(stats, sampling);
        }
        conclude_cached(index, place, changes, stats, split, n_kept, rows.slots);
    }

    // Acts on the decision of a split with statistics. `rows` are those after the change, or none if nobody asked for
    // them yet.
    void conclude_cached(NodeIndex index, Place place, Changes const& changes, SplitStats& stats,
                         std::optional<Split> const& split, Count n_kept_left, std::vector<Slot>& rows) {
        Node const node = tree_.node(index);
        Count const n_after = sum(stats.totals);
        if (split && keeps_partition(node, *split, n_kept_left, changes)) {
            if constexpr (kApplies) {
                tree_.set_threshold(index, split->threshold);
                keep_stats(index, stats, *split, place, changes);
            }
            descend(node, place, changes, *split);
            return;
        }
        if (!kApplies) {
            cost_.record(place.depth, n_after);
            return;
        }
        if (rows.empty())
            rows_after(index, changes, rows);
        if (!split) {
            become_leaf(index, place, rows);
            return;
        }
        cost_.record(place.depth, n_after);
        stats.n_left = split->n_left;
        regrow(index, place, *split, std::move(stats), rows);
    }

    // The statistics to change: the node's own, or a copy if this is only a plan.
    SplitStats& stats_to_update(NodeIndex index) {
        if constexpr (kApplies) {
            SplitStats& own = *tree_.stats(index);
            own.digest.reset();
            return own;
        } else {
            worker_.planned = *tree_.stats(tree_.node(index));
            return worker_.planned;
        }
    }

    void keep_stats(NodeIndex index, SplitStats& stats, Split const& split, Place place, Changes const& changes) {
        stats.n_left = split.n_left;
        if constexpr (kChecksStatistics) {
            Loan rows(worker_.buffers);
            rows_after(index, changes, rows.slots);
            require_consistent(stats, grower_.view(rows.slots, place.key), place, context_.params, worker_.work);
        }
        // Judged as if there were twice as many rows, so that a row that comes and goes does not make and drop them.
        if (!grower_.is_worth_keeping(stats, 2 * std::size_t{sum(stats.totals)},
                                      sampling_at(place.depth, context_.params)))
            tree_.drop_stats(index);
    }

    Knowledge update_stats(SplitStats& stats, Changes const& changes, Sampling const& sampling) {
        apply_to_counts(stats.totals, context_.data, changes);
        for (Slot const slot : changes.added)
            for (ConstantAttribute const& constant : stats.constants)
                if (context_.data.value(slot, constant.attribute) != constant.value)
                    return Knowledge::needs_search;

        worker_.stale.clear();
        for (std::size_t i = 0; i < stats.candidates.size(); ++i)
            if (!update_candidates(stats.candidates[i], changes, sampling))
                worker_.stale.push_back(i);
        return worker_.stale.empty() ? Knowledge::complete : Knowledge::needs_scans;
    }

    bool update_candidates(Candidates& candidates, Changes const& changes, Sampling const& sampling) {
        if (auto* valid = std::get_if<ValidCandidates>(&candidates))
            return valid->update(context_.data, changes, grower_.sample_size(sampling));
        return std::get<UniformCandidates>(candidates).update(context_.data, changes);
    }

    void learn_from_rows(SplitStats& stats, Knowledge knowledge, NodeView const& view, Sampling const& sampling) {
        if (knowledge == Knowledge::needs_scans && rescan_stale(stats, view, sampling))
            return;
        (void)grower_.find_split(view, sampling, &stats);
    }

    // False if an attribute turned out to be constant, so that another one takes its place.
    bool rescan_stale(SplitStats& stats, NodeView const& view, Sampling const& sampling) {
        for (std::size_t const i : worker_.stale) {
            Attribute const a = std::visit([](auto const& c) { return c.attribute(); }, stats.candidates[i]);
            auto candidates = grower_.scan(view, a, sampling);
            if (!candidates)
                return false;
            stats.candidates[i] = std::move(*candidates);
        }
        return true;
    }

    void become_leaf(NodeIndex index, Place place, std::span<Slot const> rows) {
        auto const counts = grower_.count_classes(rows);
        cost_.record(place.depth, sum(counts));
        if constexpr (kApplies)
            tree_.make_leaf(index, counts, rows);
    }

    void regrow(NodeIndex index, Place place, Split const& split, SplitStats stats, std::span<Slot> rows) {
        if constexpr (kApplies)
            grower_.grow_children(tree_, index, split, std::move(stats), rows, place, lazy_);
    }

    void change_rows(NodeIndex index, Changes const& changes) {
        if constexpr (kApplies)
            tree_.change_rows(index, context_.data, changes);
    }

    // Whether the rows that stay are on the same sides of the new split as they were of the old one. As the splits are
    // on one attribute, the left sides contain one another, so it is enough to count them.
    bool keeps_partition(Node const& node, Split const& split, Count n_kept_left, Changes const& changes) const {
        return node.attribute == split.attribute &&
               n_kept_left == split.n_left - count_left(changes.added, split.attribute, split.threshold);
    }

    // Rows that stay and are left of the old split.
    Count n_kept_left(Node const& node, std::span<Slot const> rows_after, Changes const& changes) const {
        return count_left(rows_after, node.attribute, node.threshold()) -
               count_left(changes.added, node.attribute, node.threshold());
    }

    Count count_left(std::span<Slot const> rows, Attribute attribute, Value threshold) const {
        return context_.data.visit(attribute, [&](auto view) {
            Count n_left = 0;
            for (Slot const slot : rows)
                n_left += view(slot) <= threshold ? context_.data.vote(slot).weight : 0;
            return n_left;
        });
    }

    void descend(Node const& node, Place place, Changes const& changes, Split const& split) {
        for (Side const side : {Side::left, Side::right}) {
            ChildChanges its(worker_.buffers);
            divide(changes, node, split, side, its);
            if (!its.changes().empty())
                visit(node.child(side), place.child(side), its.changes());
        }
    }

    void descend_with_rows(Node const& node, Place place, Changes const& changes, Split const& split,
                           std::span<Slot> rows) {
        std::size_t const n_left = grower_.partition(rows, split.attribute, split.threshold);
        for (Side const side : {Side::left, Side::right}) {
            ChildChanges its(worker_.buffers);
            divide(changes, node, split, side, its);
            if (its.changes().empty())
                continue;
            NodeIndex const child = node.child(side);
            if (tree_.node(child).is_split() && tree_.stats(tree_.node(child)) == nullptr) {
                ActiveAttributes::Scope const scope(worker_.active);
                visit_from_rows(child, place.child(side), its.changes(),
                                side == Side::left ? rows.first(n_left) : rows.subspan(n_left));
            } else {
                visit(child, place.child(side), its.changes());
            }
        }
    }

    // Removed rows are where the old split put them; added ones go where the new one says.
    void divide(Changes const& changes, Node const& node, Split const& split, Side side, ChildChanges& its) const {
        auto const take = [&](std::span<Slot const> slots, Value threshold, std::vector<Slot>& taken) {
            for (Slot const slot : slots)
                if ((context_.data.value(slot, node.attribute) <= threshold) == (side == Side::left))
                    taken.push_back(slot);
        };
        take(changes.removed, node.threshold(), its.removed.slots);
        take(changes.added, split.threshold, its.added.slots);
    }

    // The rows of a node with the changes made, ascending.
    void rows_after(NodeIndex index, Changes const& changes, std::vector<Slot>& rows) {
        Loan before(worker_.buffers);
        tree_.gather(index, before.slots);
        Loan kept(worker_.buffers);
        std::ranges::set_difference(before.slots, changes.removed, std::back_inserter(kept.slots));
        rows.clear();
        std::ranges::merge(kept.slots, changes.added, std::back_inserter(rows));
    }

    TreeContext const& context_;
    TreeType& tree_;
    bool lazy_;
    Worker& worker_;
    Grower grower_;
    UpdateCost cost_;
};

}  // namespace

UpdateCost plan_update(TreeContext const& context, Tree const& tree, Changes const& changes, Worker& worker) {
    return UpdateWalk<Tree const>(context, tree, false, worker).run(changes);
}

UpdateCost apply_update(TreeContext const& context, Tree& tree, Changes const& changes, bool lazy, Worker& worker) {
    return UpdateWalk<Tree>(context, tree, lazy, worker).run(changes);
}

}  // namespace deciduous
