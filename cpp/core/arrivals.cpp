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

Arrivals::Arrivals(Key node, Attribute attribute, Value low, Value high) : low_(low), high_(high) {
    auto const begin = static_cast<double>(to_float(low));
    int const e = ceil_log2(static_cast<double>(to_float(high)) - begin);
    double const m = std::floor(std::ldexp(begin, -e));
    window_begin_ = std::ldexp(m, e);
    window_width_ = std::ldexp(1.0, e + 1);
    window_key_ = hash(node, kArrival, attribute, static_cast<std::uint64_t>(e),
                       static_cast<std::uint64_t>(static_cast<std::int64_t>(m)));
}

Value Arrivals::point(std::uint64_t i) const {
    double const share = static_cast<double>(hash(window_key_, i) >> 11) * 0x1p-53;
    return round_down(window_begin_ + window_width_ * share);
}

Value Arrivals::next() {
    while (true) {
        Value const candidate = point(i_++);
        if (low_ <= candidate && candidate < high_)
            return candidate;
    }
}

}  // namespace deciduous
