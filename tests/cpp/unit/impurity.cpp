// Scores of splits, and the logarithms in them.
#include "split/impurity.h"

#include <doctest/doctest.h>

#include <bit>

#include "base/hash.h"

using namespace deciduous;

namespace {

// Digit by digit, as docs/algorithm.md has it.
std::int64_t defined_log2(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    int const e = std::bit_width(n) - 1;
    Wide z = Wide{n} << (63 - e);
    std::int64_t f = 0;
    for (int i = 0; i < 28; ++i) {
        Wide const q = z * z;
        bool const digit = q >> 127 != 0;
        z = digit ? q >> 64 : q >> 63;
        f = 2 * f + (digit ? 1 : 0);
    }
    return (std::int64_t{e} << 28) + f;
}

}  // namespace

TEST_CASE(
    "logarithms have the digits of the definition, for small numbers, large ones, and those beside powers of two") {
    for (std::uint64_t n = 1; n < 300000; ++n)
        REQUIRE(fixed_log2(n) == defined_log2(n));
    for (std::uint64_t i = 0; i < 300000; ++i) {
        std::uint64_t const n = hash(1, i) >> (hash(2, i) % 64);
        REQUIRE(fixed_log2(n | 1) == defined_log2(n | 1));
    }
    for (int e = 1; e < 64; ++e)
        for (int distance = -2; distance <= 2; ++distance) {
            std::uint64_t const n = (std::uint64_t{1} << e) + static_cast<std::uint64_t>(distance);
            if (n > 0)
                REQUIRE(fixed_log2(n) == defined_log2(n));
        }
}
