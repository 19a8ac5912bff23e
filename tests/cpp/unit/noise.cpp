// The noise of scores that makes splits stable.
#include "split/noise.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace deciduous;

namespace {

constexpr std::array<Count, 2> kMany = {5000, 5000};

Params with_stability(double stability) {
    Params params;
    params.stability = stability;
    return params;
}

}  // namespace

TEST_CASE("there is no noise without stability, nor at nodes of fewer than 1,000 rows") {
    CHECK(Noise(with_stability(0), 1, kMany, {}).is_silent());
    CHECK(Noise(with_stability(1), 1, std::array<Count, 2>{998, 1}, {}).is_silent());
    CHECK_FALSE(Noise(with_stability(1), 1, std::array<Count, 2>{998, 2}, {}).is_silent());
}

TEST_CASE("the noise is a Gumbel variable times the root of the number of rows, but for a constant") {
    Noise const noise(with_stability(0.25), 7, kMany, {});
    constexpr int kDraws = 100000;
    double sum = 0;
    double squares = 0;
    for (int rank = 0; rank < kDraws; ++rank) {
        double const its = noise.of(3, static_cast<Rank>(rank)) / (0.25 * 100);
        sum += its;
        squares += its * its;
    }
    double const variance = squares / kDraws - sum / kDraws * (sum / kDraws);
    double const expected = std::acos(-1.0) * std::acos(-1.0) / 6;
    CHECK(std::abs(variance - expected) < 0.03);
}

TEST_CASE("the noise depends on node, attribute and rank, and on nothing else") {
    Noise const noise(with_stability(1), 7, kMany, {});
    CHECK(noise.of(3, 5) == Noise(with_stability(1), 7, kMany, {}).of(3, 5));
    CHECK(noise.of(3, 5) != Noise(with_stability(1), 8, kMany, {}).of(3, 5));
    CHECK(noise.of(3, 5) != noise.of(4, 5));
    CHECK(noise.of(3, 5) != noise.of(3, 6));
}

TEST_CASE("class weights and entropy change the unit of the noise as they change that of scores") {
    constexpr std::array<std::uint32_t, 2> kWeights = {1U << 20, 1U << 20};
    double const plain = Noise(with_stability(1), 7, kMany, {}).of(3, 5);
    CHECK(Noise(with_stability(1), 7, kMany, kWeights).of(3, 5) == std::ldexp(plain, 20));
    Params entropy = with_stability(1);
    entropy.criterion = Criterion::entropy;
    CHECK(Noise(entropy, 7, kMany, {}).of(3, 5) == std::ldexp(plain, 28));
}
