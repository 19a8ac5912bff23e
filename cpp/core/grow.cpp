#include "grow.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "hash.h"
#include "impurity.h"

namespace deciduous {

ActiveAttributes::ActiveAttributes(std::size_t n_attributes)
    : order_(n_attributes), position_(n_attributes), n_active_(n_attributes) {
    std::iota(order_.begin(), order_.end(), Attribute{0});
    std::iota(position_.begin(), position_.end(), 0U);
}

void ActiveAttributes::retire(Attribute attribute) {
    std::uint32_t const place = position_[attribute];
    Attribute const last = order_[--n_active_];
    std::swap(order_[place], order_[n_active_]);
    position_[last] = place;
    position_[attribute] = static_cast<std::uint32_t>(n_active_);
}

Sampling sampling_at(std::uint32_t depth, Params const& params) {
    if (depth < params.random_depth)
        return {NodeKind::random, CandidateScheme::uniform, 1, 1};
    return {NodeKind::greedy, params.candidates, params.max_features, params.n_thresholds};
}

bool Grower::must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const {
    return depth >= params_.max_depth || sum(totals) < params_.min_samples_split || is_pure(totals);
}

std::span<Count const> Grower::count_classes(std::span<Slot const> rows) {
    worker_.totals.assign(n_classes_, 0);
    for (Slot const slot : rows) {
        Vote const vote = data_.vote(slot);
        worker_.totals[vote.label] += vote.weight;
    }
    return worker_.totals;
}

NodeView Grower::view(std::span<Slot const> rows, Key key) {
    worker_.votes.resize(rows.size());
    std::ranges::transform(rows, worker_.votes.begin(), [this](Slot slot) { return data_.vote(slot); });
    return {data_, key, rows, worker_.votes, count_classes(rows)};
}

std::optional<Candidates> Grower::scan(NodeView const& node, Attribute attribute, Sampling const& sampling) {
    if (sampling.scheme == CandidateScheme::valid)
        return ValidCandidates::scan(node, attribute, sample_size(sampling), worker_.work);
    return UniformCandidates::scan(node, attribute, {sampling.n_thresholds, sampling.kind == NodeKind::random});
}

std::optional<Split> Grower::find_split(NodeView const& node, Sampling const& sampling, SplitStats* stats) {
    auto& order = worker_.order;
    order.clear();
    Key const order_key = hash(node.key, kAttribute);
    for (Attribute const a : worker_.active.active())
        order.emplace_back(hash(order_key, a), a);
    std::ranges::make_heap(order, std::greater{});

    SplitStats found;
    std::optional<std::uint64_t> last_order;
    std::uint32_t n_found = 0;
    while (n_found < sampling.n_attributes && !order.empty()) {
        std::ranges::pop_heap(order, std::greater{});
        auto const [rank, attribute] = order.back();
        order.pop_back();
        auto candidates = scan(node, attribute, sampling);
        if (!candidates) {
            worker_.active.retire(attribute);
            continue;
        }
        ++n_found;
        last_order = rank;
        found.candidates.push_back(std::move(*candidates));
    }
    found.totals.assign(node.totals.begin(), node.totals.end());
    auto const split = best_split(found, sampling);
    if (stats != nullptr) {
        found.n_left = split ? split->n_left : 0;
        // With fewer attributes than asked for, every constant one would come in if it stopped being constant.
        note_constants(node, n_found < sampling.n_attributes ? std::nullopt : last_order, found);
        *stats = std::move(found);
    }
    return split;
}

void Grower::note_constants(NodeView const& node, std::optional<std::uint64_t> last_order, SplitStats& stats) const {
    Key const order_key = hash(node.key, kAttribute);
    for (Attribute const a : worker_.active.retired())
        if (!last_order || hash(order_key, a) < *last_order)
            stats.constants.push_back({a, data_.value(node.slots.front(), a)});
    std::ranges::sort(stats.constants, {}, &ConstantAttribute::attribute);
}

std::optional<Split> Grower::best_split(SplitStats const& stats, Sampling const& sampling) {
    struct Offer {
        Scoring scoring;
        std::uint32_t n_thresholds;
        std::optional<Split>& best;
        Workspace& work;
        void operator()(ValidCandidates const& c) const { c.offer_splits(scoring, n_thresholds, best, work); }
        void operator()(UniformCandidates const& c) const { c.offer_splits(scoring, best, work); }
    };
    std::optional<Split> best;
    for (Candidates const& candidates : stats.candidates)
        std::visit(Offer{scoring(stats.totals), sampling.n_thresholds, best, worker_.work}, candidates);
    return best;
}

bool Grower::is_worth_keeping(SplitStats const& stats, std::size_t n_rows, Sampling const& sampling) const {
    // Long prefixes come from n_thresholds=None and from very rare classes. Beyond this size the statistics of a level
    // of the tree would outweigh the data.
    std::size_t const n_cuts_each = 64 + 4 * std::size_t{sampling.n_thresholds} + n_rows / 8;
    return is_worth_caching(n_rows) && stats.n_cuts() <= n_cuts_each * stats.candidates.size();
}

std::size_t Grower::partition(std::span<Slot> rows, Attribute attribute, Value threshold) {
    worker_.partition.clear();
    std::size_t n_left = 0;
    data_.visit(attribute, [&](auto view) {
        for (Slot const slot : rows) {
            if (view(slot) <= threshold)
                rows[n_left++] = slot;
            else
                worker_.partition.push_back(slot);
        }
    });
    std::ranges::copy(worker_.partition, rows.begin() + static_cast<std::ptrdiff_t>(n_left));
    return n_left;
}

void Grower::grow(Tree& tree, NodeIndex node, std::span<Slot> rows, Place place) {
    NodeView const its = view(rows, place.key);
    if (must_be_leaf(its.totals, place.depth)) {
        tree.make_leaf(node, its.totals, rows);
        return;
    }
    Sampling const sampling = sampling_at(place.depth, params_);
    ActiveAttributes::Scope const scope(worker_.active);
    std::optional<SplitStats> stats;
    if (is_worth_caching(rows.size()))
        stats.emplace();
    auto const split = find_split(its, sampling, stats ? &*stats : nullptr);
    if (split)
        grow_children(tree, node, *split, std::move(stats), rows, place, false);
    else
        tree.make_leaf(node, its.totals, rows);
}

void Grower::expand(Tree& tree, NodeIndex node, Place place, bool only_one_level) {
    SlotBuffers::Loan loan(worker_.buffers);
    std::vector<Slot>& rows = loan.slots;
    auto const held = tree.rows(tree.node(node));
    rows.assign(held.begin(), held.end());
    if (!only_one_level) {
        grow(tree, node, rows, place);
        return;
    }
    ActiveAttributes::Scope const scope(worker_.active);
    NodeView const its = view(rows, place.key);
    std::optional<Split> split;
    SplitStats stats;
    if (!must_be_leaf(its.totals, place.depth))
        split = find_split(its, sampling_at(place.depth, params_), &stats);
    if (split)
        grow_children(tree, node, *split, std::move(stats), rows, place, true);
    else
        tree.make_leaf(node, its.totals, rows);
}

void Grower::grow_children(Tree& tree, NodeIndex node, Split const& split, std::optional<SplitStats> stats,
                           std::span<Slot> rows, Place place, bool leave_unbuilt) {
    Sampling const sampling = sampling_at(place.depth, params_);
    tree.make_split(node, sampling.kind, split);
    if (stats && is_worth_keeping(*stats, rows.size(), sampling))
        tree.set_stats(node, std::move(*stats));
    std::size_t const n_left = partition(rows, split.attribute, split.threshold);
    for (Side const side : {Side::left, Side::right}) {
        auto const child_rows = side == Side::left ? rows.first(n_left) : rows.subspan(n_left);
        NodeIndex const child = tree.node(node).child(side);
        if (leave_unbuilt)
            tree.make_unbuilt(child, count_classes(child_rows), child_rows);
        else
            grow(tree, child, child_rows, place.child(side));
    }
}

}  // namespace deciduous
