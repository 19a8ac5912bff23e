#include "split/ranks.h"

#include <algorithm>
#include <cmath>

#include "base/params.h"
#include "split/impurity.h"

namespace deciduous {

namespace {

// Ranks are uniform, so most of them can be told by a guess to be too high. Leaves at least as many as are wanted.
void drop_high(std::vector<Ordered>& ranks, std::size_t n_wanted) {
    auto const n = static_cast<double>(n_wanted);
    double const share = (n + 4 * std::sqrt(n) + 4) / static_cast<double>(ranks.size());
    if (share >= 0.5)
        return;
    Ordered const guess = to_ordered(static_cast<Rank>(share * 0x1p32));
    auto const is_low = [&](Ordered rank) { return rank <= guess; };
    if (static_cast<std::size_t>(std::ranges::count_if(ranks, is_low)) < n_wanted)
        return;
    std::size_t place = 0;
    for (Ordered const rank : ranks) {
        ranks[place] = rank;
        place += is_low(rank) ? 1 : 0;
    }
    ranks.resize(place);
}

}  // namespace

Label dominant_class(Key node, std::span<Count const> totals) {
    if (totals.empty())
        return kNoClass;
    auto const largest = static_cast<std::size_t>(std::ranges::max_element(totals) - totals.begin());
    std::uint64_t const n_rows = sum(totals);
    // From node to node another share, so that rows that come or go do not change the rule everywhere at once.
    std::uint64_t const most_others = n_rows * ((1U << 14) + (node >> 51)) >> 16;
    return n_rows - totals[largest] > most_others ? kNoClass : static_cast<Label>(largest);
}

Rank LastWanted::operator()(std::vector<Ordered>& ranks, std::size_t n_wanted) {
    constexpr std::size_t kMaxCounted = 128;
    if (n_wanted == kAllThresholds || ranks.size() <= n_wanted)
        return kEverything;
    drop_high(ranks, n_wanted);
    std::size_t const n = ranks.size();
    if (n > kMaxCounted) {
        auto const last = ranks.begin() + static_cast<std::ptrdiff_t>(n_wanted - 1);
        std::ranges::nth_element(ranks, last);
        return from_ordered(*last);
    }
    ranks.resize(kernels::whole_vectors(n), std::numeric_limits<Ordered>::max());
    n_smaller_.resize(kMaxCounted);
    kernels::chosen->count_smaller(ranks.data(), ranks.size(), n_smaller_.data());
    // Of equal ranks all have the same place, and the last wanted one may be any of them.
    Ordered last = std::numeric_limits<Ordered>::min();
    for (std::size_t i = 0; i < n; ++i)
        last = n_smaller_[i] < n_wanted ? std::max(last, ranks[i]) : last;
    return from_ordered(last);
}

}  // namespace deciduous
