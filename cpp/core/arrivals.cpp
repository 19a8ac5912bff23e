#include "arrivals.h"

#include <cmath>

#include "hash.h"

namespace deciduous {

namespace {

// The smallest e with 2^e >= width, for width > 0.
int ceil_log2(double width) {
    int exponent = 0;
    double const mantissa = std::frexp(width, &exponent);  // in [0.5, 1)
    return mantissa == 0.5 ? exponent - 1 : exponent;
}

Value round_down(double x) {
    auto const nearest = static_cast<float>(x);
    if (static_cast<double>(nearest) > x)
        return to_value(std::nextafter(nearest, -std::numeric_limits<float>::infinity()));
    return to_value(nearest);
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
    while (true) {
        double const share = static_cast<double>(hash(window_key_, i_++) >> 11) * 0x1p-53;
        double const point = window_begin_ + window_width_ * share;
        // The ends are float32, so a point is between them exactly if its rounding down is.
        if (low_ <= point && point < high_)
            return round_down(point);
    }
}

}  // namespace deciduous
