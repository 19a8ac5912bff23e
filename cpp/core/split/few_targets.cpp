#include "split/few_targets.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/kernels.h"
#include "split/ranks.h"

namespace deciduous {

FewTargets::FewTargets(Dataset const& data, SmallNode& small, RowSet rows, Key key, Count min_samples_leaf,
                       FewTargetsScratch& scratch)
    : data_(data),
      small_(small),
      rows_(rows),
      key_(key),
      min_samples_leaf_(std::max(min_samples_leaf, Count{1})),
      scratch_(scratch) {
    auto const targets = small.targets();
    Target const first = targets[static_cast<std::size_t>(std::countr_zero(rows))];
    for_each_row(rows, [&](std::size_t row) {
        ++n_;
        sum_ += targets[row];
        differ_ |= targets[row] != first;
    });
}

bool FewTargets::take(Attribute attribute) {
    if (n_ == 2)
        return take_of_two(attribute);
    KnownValues const& known = small_.sorted(data_, attribute, rows_);
    auto const targets = small_.targets();
    Count n_left = 0;
    Target sum = 0;
    Ordered first = 0;
    std::size_t last = 0;
    known.for_each_in_order(rows_, [&](std::size_t row) {
        if (n_left == 0)
            first = known.values[row];
        else if (known.values[row] != known.values[last] && n_left >= min_samples_leaf_ &&
                 n_ - n_left >= min_samples_leaf_)
            if (double const its = score(n_left, sum); its <= lowest_ && is_valid(known, last, row))
                take(its, {attribute, from_ordered(known.values[last]), from_ordered(known.values[row]), 1}, n_left);
        ++n_left;
        sum += targets[row];
        last = row;
    });
    return known.values[last] != first;
}

// Of two rows, as a third of all splits have. Whichever of them is at the left, the score is the same.
bool FewTargets::take_of_two(Attribute attribute) {
    auto const values = small_.values(data_, attribute, rows_);
    auto const row = static_cast<std::size_t>(std::countr_zero(rows_));
    Ordered const one = values[row];
    Ordered const other = values[static_cast<std::size_t>(std::countr_zero(rows_ & (rows_ - 1)))];
    if (one != other && min_samples_leaf_ == 1)
        take(score(1, small_.targets()[row]),
             {attribute, from_ordered(std::min(one, other)), from_ordered(std::max(one, other)), 1}, 1);
    return one != other;
}

// Whether not all rows that have the value of the one row or of the other, which has the next value, have one target.
bool FewTargets::is_valid(KnownValues const& known, std::size_t row, std::size_t next) const {
    auto const targets = small_.targets();
    bool differ = targets[row] != targets[next];
    for (RowSet rest = rows_; !differ && rest != 0; rest &= rest - 1) {
        auto const other = static_cast<std::size_t>(std::countr_zero(rest));
        bool const is_beside = known.values[other] == known.values[row] || known.values[other] == known.values[next];
        differ = is_beside && targets[other] != targets[row];
    }
    return differ;
}

void FewTargets::take_pairs(std::span<Attribute const> attributes) {
    if (attributes.empty())
        return;
    auto& [node, sets, scores, places] = scratch_;
    if (std::size_t const room = attributes.size() + kernels::kLanes; sets.size() < room) {
        sets.resize(room);
        scores.resize(room);
        places.resize(room);
    }
    small_.list_targets(rows_, node.targets);
    node.n = n_;
    node.sum = static_cast<double>(sum_);
    node.min_on_side = min_samples_leaf_;
    for (std::size_t i = 0; i < attributes.size(); ++i)
        sets[i] = small_.column(attributes[i]) & rows_;
    std::size_t const n_best =
        kernels::chosen->find_best_sets(sets.data(), attributes.size(), rows_, node, scores.data(), places.data());
    for (std::uint32_t const i : std::span(places).first(n_best)) {
        if (scores[i] > lowest_)
            return;
        auto const held = *data_.values_of_bits(attributes[i]);
        auto const n_set = static_cast<Count>(std::popcount(sets[i]));
        take(scores[i], {attributes[i], std::min(held.clear, held.set), std::max(held.clear, held.set), 1},
             held.set < held.clear ? n_set : n_ - n_set);
    }
}

// The score is the lowest one, or was it before. Ranks decide ties.
void FewTargets::take(double score, Candidate const& its, Count n_left) {
    auto const order_of = [&](Candidate const& one) {
        Rank const rank = Ranks(CandidateKeys(key_), one.attribute, kNoClass).above(one.value);
        return std::tuple(rank, one.attribute, one.value);
    };
    if (score == lowest_ && order_of(best_) < order_of(its))
        return;
    lowest_ = score;
    best_ = its;
    n_left_ = n_left;
}

std::optional<Split> FewTargets::best(Sampling const& sampling) const {
    if (n_left_ == 0)
        return std::nullopt;
    return split_of(best_, n_left_, key_, sampling);
}

}  // namespace deciduous
