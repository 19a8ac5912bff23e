#include "split/rank_order.h"

#include <algorithm>
#include <cmath>

#include "base/kernels.h"

namespace deciduous {

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<Ordered>::min();
constexpr std::int64_t kHighest = std::numeric_limits<Ordered>::max();

}  // namespace

void RankOrder::start(std::span<Ordered const> ranks, double n_wanted) {
    ranks_ = ranks;
    n_sorted_ = 0;
    place_ = 0;
    bound_ = kLowest;
    if (taken_.size() < ranks.size() + kernels::kLanes)
        taken_.resize(ranks.size() + kernels::kLanes);
    // Ranks are uniform: so many are likely to be below this.
    double const share = (n_wanted + 2 * std::sqrt(n_wanted) + 2) / static_cast<double>(ranks.size() + 1);
    step_ = share < 0.5 ? static_cast<std::int64_t>(share * 0x1p32) + 1 : kHighest - kLowest + 1;
}

bool RankOrder::take_more() {
    if (bound_ > kHighest)
        return false;
    std::int64_t const last = std::min(bound_ + step_ - 1, kHighest);
    n_sorted_ = kernels::chosen->find_within(static_cast<Ordered>(bound_), static_cast<Ordered>(last), ranks_.data(),
                                             ranks_.size(), taken_.data());
    place_ = 0;
    bound_ = last + 1;
    sort_taken();
    return true;
}

void RankOrder::sort_taken() {
    constexpr std::size_t kMaxCounted = 128;
    std::size_t const n = n_sorted_;
    if (n > kMaxCounted) {
        sorted_.assign(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(n));
        std::ranges::sort(sorted_, {}, [this](std::uint32_t i) { return ranks_[i]; });
        for (std::size_t i = n; i-- > 1;)
            if (ranks_[sorted_[i]] == ranks_[sorted_[i - 1]])
                sorted_[i] = kHole;
        return;
    }
    std::size_t const n_padded = kernels::whole_vectors(n);
    sorted_.assign(n, kHole);
    taken_ranks_.resize(kMaxCounted);
    n_smaller_.resize(kMaxCounted);
    for (std::size_t i = 0; i < n; ++i)
        taken_ranks_[i] = ranks_[taken_[i]];
    std::fill(taken_ranks_.begin() + static_cast<std::ptrdiff_t>(n),
              taken_ranks_.begin() + static_cast<std::ptrdiff_t>(n_padded), static_cast<Ordered>(kHighest));
    kernels::chosen->count_smaller(taken_ranks_.data(), n_padded, n_smaller_.data());
    for (std::size_t i = 0; i < n; ++i)
        sorted_[n_smaller_[i]] = taken_[i];
}

}  // namespace deciduous
