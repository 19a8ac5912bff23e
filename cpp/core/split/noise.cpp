#include "split/noise.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace deciduous {

namespace {

constexpr int kDigits = 12;  // of a hash that are used
constexpr std::size_t kLevels = std::size_t{1} << kDigits;

// log2(-log2(u)) in units of 2^-28, for the middles u of equal parts of (0, 1): the negative of a Gumbel variable, but
// for its unit and a constant that is the same for all candidates.
std::int64_t level(std::size_t i) {
    static auto const table = [] {
        std::array<std::int64_t, kLevels> levels{};
        for (std::size_t part = 0; part < kLevels; ++part) {
            std::int64_t const exponential = ((kDigits + 1LL) << kLogDigits) - fixed_log2(2 * part + 1);
            levels[part] = fixed_log2(static_cast<std::uint64_t>(exponential));
        }
        return levels;
    }();
    return table[i];
}

}  // namespace

Noise::Noise(Params const& params, Key node, std::span<Count const> totals, ClassWeights weights)
    : key_(hash(node, kStable)) {
    if (params.stability == 0 || !may_be_noisy(totals))
        return;
    constexpr double kLog2 = 0.6931471805599453;
    double const unit = params.criterion == Criterion::entropy ? kLog2 : std::ldexp(kLog2, -kLogDigits);
    scale_ = params.stability * (weighed(totals, weights) / std::sqrt(static_cast<double>(sum(totals)))) * unit;
}

double Noise::of(Attribute attribute, Rank rank) const {
    return scale_ * static_cast<double>(level(hash(key_, attribute, rank) >> (64 - kDigits)));
}

}  // namespace deciduous
