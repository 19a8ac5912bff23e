#include "uniform_candidates.h"

#include <algorithm>

#include "arrivals.h"

namespace deciduous {

std::optional<UniformCandidates> UniformCandidates::scan(NodeView const& node, Attribute attribute, Shape shape) {
    UniformCandidates candidates(attribute, node.totals.size());
    node.data.visit(attribute, [&](auto view) {
        for (Slot const slot : node.slots)
            candidates.include(view(slot));
    });
    if (candidates.is_constant())
        return std::nullopt;
    candidates.place_cuts(node.key, shape);
    node.data.visit(attribute, [&](auto view) {
        for (std::size_t i = 0; i < node.slots.size(); ++i)
            candidates.count(view(node.slots[i]), node.votes[i]);
    });
    return candidates;
}

// Counts a value in the range of the numbers, or among the missing ones.
void UniformCandidates::include(Value value) {
    if (value == kMissing) {
        ++n_missing_;
        return;
    }
    if (value < low_) {
        low_ = value;
        n_low_ = 0;
    }
    if (value > high_) {
        high_ = value;
        n_high_ = 0;
    }
    n_low_ += value == low_ ? 1 : 0;
    n_high_ += value == high_ ? 1 : 0;
}

void UniformCandidates::place_cuts(Key key, Shape shape) {
    bool const has_range = low_ < high_;
    if (has_range) {
        Arrivals arrivals(key, attribute_, low_, high_);
        for (std::uint32_t rank = 0; rank < shape.n_arrivals; ++rank)
            cuts_.push_back({arrivals.next(), rank});
    }
    if (n_missing_ > 0 && !(has_range && shape.is_random_node))
        cuts_.push_back({kInfinity, shape.n_arrivals});
    std::ranges::sort(
        cuts_, [](Cut const& a, Cut const& b) { return a.value != b.value ? a.value < b.value : a.rank < b.rank; });
    buckets_.assign(cuts_.size() * n_classes_, 0);
}

std::size_t UniformCandidates::first_cut_from(Value value) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, value, {}, &Cut::value) - cuts_.begin());
}

void UniformCandidates::count(Value value, Vote vote) {
    if (std::size_t const cut = first_cut_from(value); cut < cuts_.size())
        buckets_[cut * n_classes_ + vote.label] += vote.weight;
}

void UniformCandidates::remove(Value value, Vote vote) {
    n_missing_ -= value == kMissing ? 1 : 0;
    n_low_ -= value == low_ ? 1 : 0;
    n_high_ -= value == high_ ? 1 : 0;
    if (std::size_t const cut = first_cut_from(value); cut < cuts_.size())
        buckets_[cut * n_classes_ + vote.label] -= vote.weight;
}

// False if the value widens the range.
bool UniformCandidates::add(Value value, Vote vote) {
    if (value != kMissing && (value < low_ || value > high_))
        return false;
    include(value);
    count(value, vote);
    return true;
}

bool UniformCandidates::update(Dataset const& data, Changes const& changes) {
    bool const had_missing = n_missing_ > 0;
    for (Slot const slot : changes.removed)
        remove(data.value(slot, attribute_), data.vote(slot));
    for (Slot const slot : changes.added)
        if (!add(data.value(slot, attribute_), data.vote(slot)))
            return false;
    return n_low_ > 0 && n_high_ > 0 && had_missing == (n_missing_ > 0) && !is_constant();
}

void UniformCandidates::offer_splits(Scoring const& scoring, std::optional<Split>& best, Workspace& work) const {
    work.left.assign(n_classes_, 0);
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
        accumulate(work.left, {buckets_.data() + cut * n_classes_, n_classes_});
        offer({.attribute = attribute_, .threshold = cuts_[cut].value, .rank = cuts_[cut].rank}, work.left, scoring,
              best);
    }
}

bool UniformCandidates::equals_recount(NodeView const& node, Shape shape) const {
    auto const recount = scan(node, attribute_, shape);
    return recount && *this == *recount;
}

std::size_t UniformCandidates::memory() const {
    return cuts_.capacity() * sizeof(Cut) + buckets_.capacity() * sizeof(Count);
}

void UniformCandidates::widen(std::size_t n_classes) {
    widen_counts(buckets_, n_classes_, n_classes);
    n_classes_ = n_classes;
}

}  // namespace deciduous
