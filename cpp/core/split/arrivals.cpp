#include "split/arrivals.h"

#include <array>
#include <cmath>

#include "base/hash.h"
#include "base/kernels.h"
#include "base/wiped.h"

namespace deciduous {

namespace {

// The smallest e with 2^e >= width, for width > 0.
int ceil_log2(double width) {
    int exponent = 0;
    double const mantissa = std::frexp(width, &exponent);  // in [0.5, 1)
    return mantissa == 0.5 ? exponent - 1 : exponent;
}

}  // namespace

Arrivals::Arrivals(Key node, Attribute attribute, Value low, Value high) {
    window_.low = to_float(low);
    window_.high = to_float(high);
    int const e = ceil_log2(window_.high - window_.low);
    double const m = std::floor(std::ldexp(window_.low, -e));
    window_.begin = std::ldexp(m, e);
    window_.width = std::ldexp(1.0, e + 1);
    window_.key = hash(node, kArrival, attribute, static_cast<std::uint64_t>(e),
                       static_cast<std::uint64_t>(static_cast<std::int64_t>(m)));
}

Value Arrivals::first() const {
    std::array<Value, 1 + kMoreRoom> points;
    take(1, points.data());
    Value const point = points[0];
    wipe(points.data(), points.size());
    return point;
}

void Arrivals::take(std::size_t n, Value* points) const {
    std::size_t n_taken = 0;
    for (std::uint64_t i = 0; n_taken < n; i += kernels::kLanes)
        n_taken += kernels::chosen->draw_arrivals(window_, i, points + n_taken);
}

}  // namespace deciduous
