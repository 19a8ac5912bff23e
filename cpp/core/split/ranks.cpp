#include "split/ranks.h"

#include <algorithm>
#include <cmath>

#include "base/params.h"

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
    auto const last = std::find(n_smaller_.begin(), n_smaller_.end(), static_cast<std::uint32_t>(n_wanted - 1));
    return from_ordered(ranks[static_cast<std::size_t>(last - n_smaller_.begin())]);
}

}  // namespace deciduous
