#include "rank_order.h"

#include <algorithm>
#include <cmath>

#include "kernels.h"
#include "ranks.h"

namespace deciduous {

void RankOrder::start(std::span<std::uint64_t const> ranks, double n_wanted) {
    ranks_ = ranks;
    n_sorted_ = 0;
    place_ = 0;
    bound_ = 0;
    if (taken_.size() < ranks.size()) {
        taken_.resize(ranks.size());
        taken_ranks_.resize(ranks.size());
    }
    // Ranks are uniform: so many are likely to be below this.
    double const share = (n_wanted + 2 * std::sqrt(n_wanted) + 2) / static_cast<double>(ranks.size() + 1);
    step_ = share < 0.5 ? static_cast<std::uint64_t>(share * 0x1p64) : kEverything;
}

bool RankOrder::take_more() {
    if (bound_ == kEverything)
        return false;
    // The largest rank belongs to the last step. Without branches: their outcomes would be random.
    std::uint64_t const bound = step_ <= ~bound_ ? bound_ + step_ : kEverything;
    std::uint64_t const width = bound == kEverything ? bound - bound_ : bound - bound_ - 1;
    std::size_t n = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        taken_[n] = static_cast<std::uint32_t>(i);
        taken_ranks_[n] = ranks_[i];
        n += ranks_[i] - bound_ <= width ? 1 : 0;
    }
    n_sorted_ = n;
    place_ = 0;
    bound_ = bound;
    sort_taken();
    return true;
}

void RankOrder::sort_taken() {
    constexpr std::size_t kMaxForPlaces = 128;
    std::size_t const n = n_sorted_;
    sorted_.assign(n, kHole);
    if (n > kMaxForPlaces) {
        std::copy_n(taken_.begin(), n, sorted_.begin());
        std::ranges::sort(sorted_, {}, [this](std::uint32_t i) { return ranks_[i]; });
        for (std::size_t i = n; i-- > 1;)
            if (ranks_[sorted_[i]] == ranks_[sorted_[i - 1]])
                sorted_[i] = kHole;
        return;
    }
    n_smaller_.resize(kMaxForPlaces);
    kernels::count_smaller_64(taken_ranks_.data(), n, n_smaller_.data());
    for (std::size_t i = 0; i < n; ++i)
        sorted_[n_smaller_[i]] = taken_[i];
}

}  // namespace deciduous
