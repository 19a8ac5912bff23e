// The inner loops, of all sets that this machine can run, against loops too simple to be wrong.
#include "base/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "split/impurity.h"

using namespace deciduous;

namespace {

std::vector<kernels::Set const*> every_set() {
    auto const [sets, n] = kernels::available();
    return {sets, sets + n};
}

// Numbers that collide.
std::vector<Ordered> numbers(std::size_t n, std::uint32_t n_distinct) {
    std::mt19937 random(static_cast<std::uint32_t>(n));
    std::vector<Ordered> result(n);
    std::ranges::generate(result, [&] { return static_cast<Ordered>(random() % n_distinct) - 20; });
    return result;
}

std::vector<std::uint64_t> words(std::size_t n) {
    std::mt19937_64 random(n);
    std::vector<std::uint64_t> result(n);
    std::ranges::generate(result, random);
    return result;
}

auto count(std::vector<Ordered> const& values, auto const& is_counted) {
    return static_cast<std::uint32_t>(std::ranges::count_if(values, is_counted));
}

bool is_marked(std::vector<std::uint64_t> const& marks, std::size_t i) {
    return (marks[i / 64] >> (i % 64) & 1) != 0;
}

constexpr std::array<std::size_t, 12> kSizes = {1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 200};

}  // namespace

TEST_CASE("the set that the environment names is in use, or the best one") {
    char const* const wanted = std::getenv("DECIDUOUS_PROCESSOR");
    auto const sets = every_set();
    auto const is_wanted = [&](kernels::Set const* set) {
        return wanted != nullptr && set->name == std::string(wanted);
    };
    auto const place = std::ranges::find_if(sets, is_wanted);
    CHECK(kernels::chosen == (place == sets.end() ? sets.back() : *place));
}

TEST_CASE("smaller numbers are counted") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {16, 32, 64, 160}) {
            auto const values = numbers(n, 40);
            std::vector<std::uint32_t> n_smaller(n);
            set->count_smaller(values.data(), n, n_smaller.data());
            for (std::size_t i = 0; i < n; ++i)
                CHECK(n_smaller[i] == count(values, [&](Ordered value) { return value < values[i]; }));
        }
}

TEST_CASE("the range of numbers is found") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            auto const values = numbers(n, 400);
            auto const [lowest, highest] = set->find_range(values.data(), n);
            CHECK(lowest == std::ranges::min(values));
            CHECK(highest == std::ranges::max(values));
        }
}

TEST_CASE("values above, below and at others are counted, and the nearest ones are found") {
    std::array<Ordered, 13> const those = {-21, -20, -18, -15, -12, -11, 0, 100, -19, -17, -16, -14, -13};
    for (auto const* const set : every_set())
        for (std::size_t const n : {0, 1, 7, 16, 33})
            for (std::size_t const n_those : {1, 4, 5, 8, 13}) {
                auto const values = numbers(n, 10);
                std::vector<std::uint32_t> n_above(n_those);
                std::vector<std::uint32_t> n_below(n_those);
                std::vector<std::uint32_t> n_equal(n_those);
                std::vector<Ordered> least(n_those);
                set->look_above(those.data(), n_those, values.data(), n, n_above.data(), least.data());
                set->count_below(those.data(), n_those, values.data(), n, n_below.data());
                std::vector<std::uint32_t> n_lower(n_those);
                std::vector<Ordered> most(n_those);
                set->look_below(those.data(), n_those, values.data(), n, n_lower.data(), most.data());
                set->count_equal(those.data(), n_those, values.data(), n, n_equal.data());
                for (std::size_t i = 0; i < n_those; ++i) {
                    Ordered next = to_ordered(kNoValue);
                    for (Ordered const value : values)
                        if (value > those[i])
                            next = std::min(next, value);
                    CHECK(least[i] == next);
                    Ordered former = to_ordered(kNoLower);
                    for (Ordered const value : values)
                        if (value < those[i])
                            former = std::max(former, value);
                    CHECK(most[i] == former);
                    CHECK(n_lower[i] == n - n_above[i] - n_equal[i]);
                    CHECK(n_above[i] == count(values, [&](Ordered value) { return value > those[i]; }));
                    CHECK(n_below[i] == n - n_above[i]);
                    CHECK(n_equal[i] == std::ranges::count(values, those[i]));
                }
            }
}

TEST_CASE("places of numbers within bounds are found, whichever vectors they are in") {
    auto const values = numbers(500, 400);
    for (auto const* const set : every_set())
        for (Ordered const from : {-30, -20, 0, 300})
            for (Ordered const to : {from, from + 3, 1000}) {
                std::vector<std::uint32_t> places(values.size() + kernels::kLanes);
                places.resize(set->find_within(from, to, values.data(), values.size(), places.data()));
                std::vector<std::uint32_t> expected;
                for (std::uint32_t i = 0; i < values.size(); ++i)
                    if (from <= values[i] && values[i] <= to)
                        expected.push_back(i);
                CHECK(places == expected);
            }
}

TEST_CASE("numbers at or below a threshold, and words with a bit, are marked") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            auto const values = numbers(n, 40);
            auto const bits = words(n);
            std::vector<std::uint64_t> below((n + 63) / 64);
            std::vector<std::uint64_t> with_bit((n + 63) / 64);
            set->mark_below(-3, values.data(), n, below.data());
            set->mark_bit(bits.data(), n, 41, with_bit.data());
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(is_marked(below, i) == (values[i] <= -3));
                CHECK(is_marked(with_bit, i) == ((bits[i] >> 41 & 1) != 0));
            }
            CHECK(set->count_bit(bits.data(), n, 41) ==
                  static_cast<std::size_t>(std::ranges::count_if(bits, [](auto word) { return word >> 41 & 1; })));
        }
}

TEST_CASE("things are divided by their marks, in place, and stay in order on both sides") {
    auto const check = [](auto const& divide, auto things, std::vector<std::uint64_t> const& marks) {
        decltype(things) expected_left;
        decltype(things) expected_right;
        for (std::size_t i = 0; i < things.size(); ++i)
            (is_marked(marks, i) ? expected_left : expected_right).push_back(things[i]);
        decltype(things) right(things.size() + kernels::kLanes);
        divide(marks.data(), things.data(), things.size(), things.data(), right.data());
        things.resize(expected_left.size());
        right.resize(expected_right.size());
        CHECK(things == expected_left);
        CHECK(right == expected_right);
    };
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            std::vector<std::uint32_t> things(n);
            std::iota(things.begin(), things.end(), 1000U);
            auto const marks = words((n + 63) / 64);
            check(set->divide, things, marks);
            check(set->divide_words, words(n), marks);
        }
}

TEST_CASE("bits are spread to where others are") {
    for (auto const* const set : every_set()) {
        CHECK(set->spread_bits(0b101, 0b11010) == 0b10010);
        CHECK(set->spread_bits(~std::uint64_t{0}, 0b11010) == 0b11010);
        CHECK(set->spread_bits(0b11, ~std::uint64_t{0} << 60) == std::uint64_t{3} << 60);
    }
}

TEST_CASE("gathering bits undoes spreading them") {
    for (auto const* const set : every_set())
        for (std::uint64_t const where : words(20)) {
            std::uint64_t const bits = set->gather_bits(0x123456789ABCDEF0U, where);
            CHECK(set->spread_bits(bits, where) == (0x123456789ABCDEF0U & where));
            CHECK(set->gather_bits(where, where) == ~std::uint64_t{0} >> (64 - std::popcount(where)));
        }
}

TEST_CASE("numbers whose bit is set are kept in their order") {
    auto const those = numbers(64, 1000);
    for (auto const* const set : every_set())
        for (std::uint64_t const bits : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}, words(1)[0]}) {
            std::vector<Ordered> expected;
            for (std::size_t i = 0; i < those.size(); ++i)
                if ((bits >> i & 1) != 0)
                    expected.push_back(those[i]);
            std::vector<Ordered> kept(64 + kernels::kLanes);
            std::size_t const n = set->keep_set(those.data(), bits, kept.data());
            CHECK(std::ranges::equal(std::span(kept).first(n), expected));
        }
}

TEST_CASE("numbers that are repeated are marked, all but the last of a kind") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {1, 2, 5, 16, 17, 63, 64}) {
            auto those = numbers(n, 6);
            std::ranges::sort(those);
            those.resize(n + kernels::kLanes, those.back());  // what follows must not count
            std::uint64_t expected = 0;
            for (std::size_t i = 0; i + 1 < n; ++i)
                expected |= std::uint64_t{those[i] == those[i + 1]} << i;
            CHECK(set->mark_repeated(those.data(), n) == expected);
        }
}

TEST_CASE("arrivals are the points of the window that are in the range, rounded down") {
    // From a window around zero, one of subnormal numbers, and one where float32 is coarse.
    std::array<kernels::Window, 3> const windows = {
        {{7, -1.0, 2.0, -0.25, 0.5}, {8, 0.0, 0x1p-147, 0.0, 0x1p-148}, {9, 0x1p24, 0x1p4, 0x1p24, 0x1p24 + 8}}};
    for (auto const* const set : every_set())
        for (auto const& window : windows)
            for (std::uint64_t const first : {0, 16, 1600}) {
                std::vector<Value> expected;
                for (std::uint64_t i = first; i < first + kernels::kLanes; ++i) {
                    double const share = static_cast<double>(hash(window.key, i) >> 11) * 0x1p-53;
                    double const point = window.begin + window.width * share;
                    auto rounded = static_cast<float>(point);
                    if (static_cast<double>(rounded) > point)
                        rounded = std::nextafter(rounded, -1e30F);
                    if (window.low <= point && point < window.high)
                        expected.push_back(to_value(rounded));
                }
                std::vector<Value> arrivals(2 * kernels::kLanes);
                std::size_t const n = set->draw_arrivals(window, first, arrivals.data());
                CHECK(std::ranges::equal(std::span(arrivals).first(n), expected));
            }
}

TEST_CASE("the lowest score is found, wherever it is") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes)
            for (std::size_t place = 0; place < n; ++place) {
                std::vector<double> scores(n, -1.5);
                scores[place] = -2;
                CHECK(set->find_lowest(scores.data(), n) == -2);
            }
    CHECK(kernels::chosen->find_lowest(nullptr, 0) == std::numeric_limits<double>::infinity());
}

TEST_CASE("bits that vary are found") {
    for (auto const* const set : every_set()) {
        std::vector<std::uint64_t> those(20, 0b1010);
        CHECK(set->find_varying(those.data(), those.size()) == 0);
        those[17] = 0b1001;
        CHECK(set->find_varying(those.data(), those.size()) == 0b0011);
    }
}

TEST_CASE("ranks of values are those of their bits") {
    std::vector<float> const floats = {0.0F, 1.5F, -1.5F, 1e-45F, -3e38F};
    std::vector<Ordered> values;
    for (float const x : floats)
        values.push_back(to_ordered(to_value(x)));
    for (auto const* const set : every_set()) {
        std::vector<Ordered> ranks(values.size());
        set->rank_values(values.data(), values.size(), 77, ranks.data());
        for (std::size_t i = 0; i < floats.size(); ++i)
            CHECK(from_ordered(ranks[i]) == rank(77, std::bit_cast<std::uint32_t>(floats[i])));
    }
}

TEST_CASE("bits up to places are counted") {
    std::array<std::uint64_t, 2> const sets = {0b1011, ~std::uint64_t{0}};
    std::array<std::uint32_t, 3> const places = {0, 2, 63};
    for (auto const* const set : every_set()) {
        std::array<std::uint32_t, 6> counts{};
        set->count_up_to(sets.data(), 2, places.data(), 3, counts.data());
        CHECK(counts == std::array<std::uint32_t, 6>{1, 1, 2, 3, 3, 64});
    }
}

TEST_CASE("scores of many splits are those of single ones, up to the most rows") {
    std::vector<std::array<Count, 2>> const lefts = {{1, 0}, {3, 7}, {5, 1U << 24}, {(1U << 25) - 1, 2}};
    std::array<Count, 2> const totals = {1U << 25, (1U << 25) - 1};
    for (auto const* const set : every_set()) {
        std::vector<double> scores(lefts.size());
        set->score_two_classes(lefts.front().data(), lefts.size(), totals.data(), scores.data());
        for (std::size_t i = 0; i < lefts.size(); ++i)
            CHECK(scores[i] == split_score(Criterion::gini, lefts[i], totals, {}));
    }
}
