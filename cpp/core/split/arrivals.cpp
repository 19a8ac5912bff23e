#include "split/arrivals.h"

#include <array>
#include <bit>
#include <cstdint>

#include "base/hash.h"
#include "base/kernels.h"
#include "base/wiped.h"

namespace deciduous {

namespace {

// By the bits of doubles, as the library's functions take longer than all the rest. Ranges of float32 are from 2^-149
// to 2^129 wide, which are ordinary doubles, and so are quotients by them.

// The smallest e with 2^e >= width, for width > 0.
int ceil_log2(double width) {
    auto const bits = std::bit_cast<std::uint64_t>(width);
    bool const is_power = (bits << 12) == 0;
    return static_cast<int>(bits >> 52) - 1023 + (is_power ? 0 : 1);
}

double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// The range is at least as wide as the distance of its low end to the next float32, so this fits.
std::int64_t floor_to_integer(double quotient) {
    auto const truncated = static_cast<std::int64_t>(quotient);
    return truncated - (static_cast<double>(truncated) > quotient ? 1 : 0);
}

}  // namespace

Arrivals::Arrivals(Key node, Attribute attribute, Value low, Value high) {
    window_.low = to_float(low);
    window_.high = to_float(high);
    int const e = ceil_log2(window_.high - window_.low);
    std::int64_t const m = floor_to_integer(window_.low * power_of_two(-e));
    window_.begin = static_cast<double>(m) * power_of_two(e);
    window_.width = power_of_two(e + 1);
    window_.key = hash(node, kArrival, attribute, static_cast<std::uint64_t>(e), static_cast<std::uint64_t>(m));
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
