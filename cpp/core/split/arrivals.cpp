#include "split/arrivals.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"
#include "base/wiped.h"

namespace deciduous {

namespace {

// The smallest e with 2^e >= width, for width > 0.
int ceil_log2(double width) {
    int exponent = 0;
    double const mantissa = std::frexp(width, &exponent);  // in [0.5, 1)
    return mantissa == 0.5 ? exponent - 1 : exponent;
}

// Without branches, as their outcomes would be random.
Value round_down(double x) {
    auto const nearest = static_cast<float>(x);
    Value const value = to_value(nearest);
    Value const step = value == to_value(0.0F) ? 2 : 1;  // between it and the number below stands -0.0
    return value - (static_cast<double>(nearest) > x ? step : 0);
}

}  // namespace

Arrivals::Arrivals(Key node, Attribute attribute, Value low, Value high) : low_(to_float(low)), high_(to_float(high)) {
    int const e = ceil_log2(high_ - low_);
    double const m = std::floor(std::ldexp(low_, -e));
    window_begin_ = std::ldexp(m, e);
    window_width_ = std::ldexp(1.0, e + 1);
    window_key_ = hash(node, kArrival, attribute, static_cast<std::uint64_t>(e),
                       static_cast<std::uint64_t>(static_cast<std::int64_t>(m)));
}

Value Arrivals::next() {
    Value point = 0;
    take(1, &point);
    return point;
}

void Arrivals::take(std::size_t n, Value* points) {
    // Some points more than are wanted are drawn, so that nothing waits for the outcome of a comparison.
    constexpr std::size_t kBlock = 16;
    std::array<double, kBlock> drawn{};
    for (std::size_t n_taken = 0; n_taken < n;) {
        std::size_t n_drawn = 0;
        for (std::size_t i = 0; i < kBlock; ++i) {
            auto const bits = static_cast<std::int64_t>(hash(window_key_, i_++) >> 11);
            double const point = window_begin_ + window_width_ * (static_cast<double>(bits) * 0x1p-53);
            drawn[n_drawn] = point;
            // The ends are float32, so a point is between them exactly if its rounding down is.
            n_drawn += (low_ <= point) & (point < high_) ? 1 : 0;
        }
        std::size_t const n_used = std::min(n_drawn, n - n_taken);
        std::transform(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(n_used), points + n_taken,
                       round_down);
        n_taken += n_used;
    }
    wipe(drawn.data(), drawn.size());
}

}  // namespace deciduous
