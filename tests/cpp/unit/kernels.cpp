// The inner loops, against loops too simple to be wrong.
#include "base/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <vector>

#include "split/impurity.h"

using namespace deciduous;

namespace {

// Numbers that collide.
std::vector<Ordered> numbers(std::size_t n, std::uint32_t n_distinct) {
    std::mt19937 random(static_cast<std::uint32_t>(n));
    std::vector<Ordered> result(n);
    std::ranges::generate(result, [&] { return static_cast<Ordered>(random() % n_distinct) - 20; });
    return result;
}

auto count(std::vector<Ordered> const& values, auto const& is_counted) {
    return static_cast<std::uint32_t>(std::ranges::count_if(values, is_counted));
}

}  // namespace

TEST_CASE("smaller numbers are counted") {
    for (std::size_t const n : {8, 16, 24, 64, 160}) {
        auto const values = numbers(n, 40);
        std::vector<std::uint32_t> n_smaller(n);
        kernels::count_smaller(values.data(), n, n_smaller.data());
        for (std::size_t i = 0; i < n; ++i)
            CHECK(n_smaller[i] == count(values, [&](Ordered value) { return value < values[i]; }));
    }
}

TEST_CASE("values above, below and at others are counted, and the next one is found") {
    for (std::size_t const n : {0, 1, 7, 33}) {
        auto const values = numbers(n, 10);
        std::array<Ordered, kernels::kLanes> const those = {-21, -20, -18, -15, -12, -11, 0, 100};
        kernels::Above above;
        std::array<std::uint32_t, kernels::kLanes> n_below{};
        kernels::look_above(those.data(), values.data(), n, above);
        kernels::count_below(those.data(), values.data(), n, n_below.data());
        for (std::size_t i = 0; i < those.size(); ++i) {
            Ordered least = to_ordered(kNoValue);
            for (Ordered const value : values)
                if (value > those[i])
                    least = std::min(least, value);
            CHECK(above.least[i] == least);
            CHECK(above.n[i] == count(values, [&](Ordered value) { return value > those[i]; }));
            CHECK(n_below[i] == n - above.n[i]);
            CHECK(kernels::count_equal(those[i], values.data(), n) == std::ranges::count(values, those[i]));
        }
    }
}

TEST_CASE("places of numbers within bounds are found, whichever blocks they are in") {
    auto const values = numbers(500, 400);
    for (Ordered const from : {-30, -20, 0, 300})
        for (Ordered const to : {from, from + 3, 1000}) {
            std::vector<std::uint32_t> places(values.size());
            places.resize(kernels::find_within(from, to, values.data(), values.size(), places.data()));
            std::vector<std::uint32_t> expected;
            for (std::uint32_t i = 0; i < values.size(); ++i)
                if (from <= values[i] && values[i] <= to)
                    expected.push_back(i);
            CHECK(places == expected);
        }
}

TEST_CASE("ranks of values are those of their bits") {
    std::vector<float> const floats = {0.0F, 1.5F, -1.5F, 1e-45F, -3e38F};
    std::vector<Ordered> values;
    for (float const x : floats)
        values.push_back(to_ordered(to_value(x)));
    std::vector<Ordered> ranks(values.size());
    kernels::rank_values(values.data(), values.size(), 77, ranks.data());
    for (std::size_t i = 0; i < floats.size(); ++i)
        CHECK(from_ordered(ranks[i]) == rank(77, std::bit_cast<std::uint32_t>(floats[i])));
}

TEST_CASE("bits up to places are counted") {
    std::array<std::uint64_t, 2> const sets = {0b1011, ~std::uint64_t{0}};
    std::array<std::uint32_t, 3> const places = {0, 2, 63};
    std::array<std::uint32_t, 6> counts{};
    kernels::count_up_to(sets.data(), 2, places.data(), 3, counts.data());
    CHECK(counts == std::array<std::uint32_t, 6>{1, 1, 2, 3, 3, 64});
}

TEST_CASE("scores of many splits are those of single ones, up to the most rows") {
    std::vector<std::array<Count, 2>> const lefts = {{1, 0}, {3, 7}, {5, 1U << 24}, {(1U << 25) - 1, 2}};
    std::array<Count, 2> const totals = {1U << 25, (1U << 25) - 1};
    std::vector<double> scores(lefts.size());
    kernels::score_two_classes(lefts.front().data(), lefts.size(), totals.data(), scores.data());
    for (std::size_t i = 0; i < lefts.size(); ++i)
        CHECK(scores[i] == split_score(Criterion::gini, lefts[i], totals, {}));
}
