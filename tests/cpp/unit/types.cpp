// Floats as values: integers in the same order.
#include "base/types.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "data/schema.h"

using namespace deciduous;

namespace {

using Limits = std::numeric_limits<float>;

std::vector<float> ascending_floats() {
    return {-Limits::infinity(),
            Limits::lowest(),
            -1.5F,
            -1.0F,
            -Limits::min(),
            -Limits::denorm_min(),
            0.0F,
            Limits::denorm_min(),
            Limits::min(),
            1.0F,
            std::nextafter(1.0F, 2.0F),
            Limits::max()};
}

}  // namespace

TEST_CASE("values are in the order of their numbers") {
    auto const floats = ascending_floats();
    for (std::size_t i = 1; i < floats.size(); ++i)
        CHECK(to_value(floats[i - 1]) < to_value(floats[i]));
}

TEST_CASE("a number comes back from its value, bit by bit") {
    for (float const x : ascending_floats()) {
        CHECK(std::bit_cast<std::uint32_t>(to_float(to_value(x))) == std::bit_cast<std::uint32_t>(x));
        CHECK(float_bits(to_value(x)) == std::bit_cast<std::uint32_t>(x));
    }
}

TEST_CASE("minus zero is zero") {
    CHECK(to_value(-0.0F) == to_value(0.0F));
    CHECK_FALSE(std::signbit(to_float(to_value(-0.0F))));
}

TEST_CASE("every NaN is the missing value, behind all numbers") {
    for (std::uint32_t const bits : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU})
        CHECK(to_value(std::bit_cast<float>(bits)) == kMissing);
    CHECK(std::isnan(to_float(kMissing)));
    CHECK(to_value(Limits::infinity()) == kInfinity);
    CHECK(to_value(Limits::max()) < kInfinity);
    CHECK(kInfinity < kMissing);
    CHECK(kMissing < kNoValue);
}

TEST_CASE("indicators are 0 and 1") {
    CHECK(kIndicatorOff == to_value(0.0F));
    CHECK(kIndicatorOn == to_value(1.0F));
}
