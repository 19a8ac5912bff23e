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

namespace {

double score_of(Count n_left, TargetSum left, Count n, TargetSum total) {
    double score = 0;
    score_squared_errors(&n_left, &left, 1, n, total, &score);
    return score;
}

}  // namespace

TEST_CASE("the score of a split is the decrease of the squared error, times the rows") {
    // Targets 0, 0 | 6: the sum of squares goes from 24 to 0.
    CHECK(score_of(2, 0, 3, 6) == -72.0);
    // Both sides have the mean of all.
    CHECK(score_of(1, 5, 3, 15) == 0.0);
}

TEST_CASE("the largest sums do not overflow, neither of few rows nor of many") {
    for (Count const n : {Count{1024}, Count{1025}, kMaxRows - 1}) {
        TargetSum const left = static_cast<TargetSum>(n / 2) * kMaxTarget;
        double const mean = static_cast<double>(kMaxTarget) * (n / 2) * n;
        CHECK(score_of(n / 2, left, n, 0) == -(mean * mean / (static_cast<double>(n / 2) * (n - n / 2))));
    }
}

TEST_CASE("scores that are worked out in 64 bits are those of 128, as far as they are") {
    // Of targets at the limits: a score of more than 1,024 rows is worked out in 128 bits, which some of 4,096 rows
    // need.
    for (Count const n : {Count{2}, Count{3}, Count{1023}, Count{1024}, Count{1025}, Count{8192}})
        for (Count n_left = 1; n_left < n; ++n_left)
            for (Target const left : {-kMaxTarget, Target{0}, kMaxTarget - 1, kMaxTarget})
                for (Target const right : {-kMaxTarget, Target{1}, kMaxTarget}) {
                    TargetSum const sum_left = static_cast<TargetSum>(n_left) * left;
                    TargetSum const total = sum_left + static_cast<TargetSum>(n - n_left) * right;
                    auto const excess = static_cast<double>(n * sum_left - n_left * total);
                    double const expected =
                        -((excess * excess) / (static_cast<double>(n_left) * static_cast<double>(n - n_left)));
                    REQUIRE(score_of(n_left, sum_left, n, total) == expected);
                }
}
