// The inner loops, of all sets that this machine can run, against loops too simple to be wrong.
#include "base/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
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
        for (std::size_t const n : {0, 1, 7, 16, 17, 33})
            for (std::size_t const n_those : {1, 4, 5, 8, 13}) {
                auto const values = numbers(n, 10);
                std::vector<std::uint32_t> n_above(n_those);
                std::vector<std::uint32_t> n_below(3 * n_those);  // every third is in use
                std::vector<std::uint32_t> n_equal(n_those);
                std::vector<Ordered> least(n_those);
                set->look_above(those.data(), n_those, values.data(), n, n_above.data(), least.data());
                set->count_below(those.data(), n_those, values.data(), n, n_below.data(), 3);
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
                    CHECK(n_below[3 * i] == n - n_above[i]);
                    CHECK(n_equal[i] == std::ranges::count(values, those[i]));
                }
            }
}

TEST_CASE("values find their places among bounds") {
    std::array<Ordered, 5> const bounds = {-21, -15, -15, 0, 7};
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            auto values = numbers(n, 40);
            values.resize(n + kernels::kLanes);
            std::vector<std::uint32_t> places(n + kernels::kLanes);
            set->find_places_among(bounds.data(), bounds.size(), values.data(), n, places.data());
            for (std::size_t i = 0; i < n; ++i)
                CHECK(places[i] == std::ranges::count_if(bounds, [&](Ordered bound) { return values[i] > bound; }));
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
        }
}

TEST_CASE("a square of bits is transposed") {
    for (auto const* const set : every_set()) {
        auto const before = words(64);
        auto square = before;
        set->transpose(square.data());
        for (std::size_t i = 0; i < 64; ++i)
            for (std::size_t j = 0; j < 64; ++j)
                CHECK((square[i] >> j & 1) == (before[j] >> i & 1));
    }
}

TEST_CASE("words with a bit are counted, class by class") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            auto const bits = words(n + kernels::kLanes);
            std::array<std::uint32_t, 4> const ends = {
                static_cast<std::uint32_t>(n / 3), static_cast<std::uint32_t>(n / 3), static_cast<std::uint32_t>(n / 2),
                static_cast<std::uint32_t>(n)};
            std::array<std::uint32_t, 4> counts{};
            set->count_bit(bits.data(), ends.data(), ends.size(), 41, counts.data());
            for (std::size_t y = 0, begin = 0; y < ends.size(); begin = ends[y++])
                CHECK(counts[y] == std::count_if(bits.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 bits.begin() + ends[y], [](auto word) { return word >> 41 & 1; }));
        }
}

TEST_CASE("numbers are added up where a bit of their words is set, or where it is not") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {0, 1, 7, 8, 9, 1000}) {
            std::mt19937_64 random(n);
            std::vector<std::uint64_t> words(n);
            std::vector<std::int64_t> numbers(n);
            std::int64_t expected[2] = {0, 0};
            for (std::size_t i = 0; i < n; ++i) {
                words[i] = random();
                numbers[i] = static_cast<std::int64_t>(random() >> 23) - (std::int64_t{1} << 40);
                expected[words[i] >> 63] += numbers[i];
            }
            for (bool const is_wanted : {false, true})
                CHECK(set->sum_where_bit(words.data(), numbers.data(), n, 63, is_wanted) == expected[is_wanted]);
        }
}

TEST_CASE("sets of few rows with targets are scored alike whichever side they are, and the best ones are found") {
    auto const random = words(4000);
    for (auto const* const set : every_set())
        for (std::size_t round = 0; round < 60; ++round) {
            std::uint64_t const rows = random[round] | std::uint64_t{3} << 62;
            std::size_t const n_sets = 1 + round % 20;
            kernels::TargetsOfFew node{{}, static_cast<double>(std::popcount(rows)), 0, 1.0 + round % 3};
            std::array<double, 64> targets{};  // by row
            std::size_t n = 0;
            for (std::size_t row = 0; row < 64; ++row)
                if ((rows >> row & 1) != 0) {
                    targets[row] = node.targets[n++] =
                        static_cast<double>(random[100 + row] % (round % 4 == 0 ? 3 : 1ULL << 40));
                    node.sum += targets[row];
                }
            std::vector<std::uint64_t> sets(n_sets + kernels::kLanes);
            for (std::size_t i = 0; i < sets.size(); ++i)
                sets[i] = random[200 + 20 * round + i % n_sets] & rows & (i % 2 == 0 ? ~std::uint64_t{0} : 0xFF);
            std::vector<double> scores(n_sets + kernels::kLanes);
            std::vector<std::uint32_t> places(n_sets + kernels::kLanes);
            std::size_t const n_best =
                set->find_best_sets(sets.data(), n_sets, rows, node, scores.data(), places.data());
            std::vector<double> expected;
            for (std::size_t i = 0; i < n_sets; ++i) {
                double const n_set = std::popcount(sets[i]);
                double sum = 0;
                for (std::size_t row = 0; row < 64; ++row)
                    sum += (sets[i] >> row & 1) != 0 ? targets[row] : 0;
                double const excess = node.n * sum - n_set * node.sum;
                bool const is_admissible = std::min(n_set, node.n - n_set) >= node.min_on_side;
                expected.push_back(is_admissible ? -((excess * excess) / (n_set * (node.n - n_set)))
                                                 : std::numeric_limits<double>::infinity());
                CHECK(scores[i] == expected.back());
            }
            double const lowest = std::ranges::min(expected);
            std::vector<std::uint32_t> best;
            for (std::uint32_t i = 0; i < n_sets; ++i)
                if (expected[i] == lowest && lowest < std::numeric_limits<double>::infinity())
                    best.push_back(i);
            CHECK(std::vector(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(n_best)) == best);
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

TEST_CASE("marks are spread to where others are, and gathered from there") {
    for (auto const* const set : every_set()) {
        std::vector<std::uint64_t> gathered = {0b101, 0};
        std::vector<std::uint64_t> const where = {0b11010};
        std::uint64_t spread = 0;
        set->spread_marks(gathered.data(), where.data(), 1, &spread);
        CHECK(spread == 0b10010);
        for (std::size_t const n_words : {1, 2, 3, 7}) {
            auto const marks = words(n_words);
            auto places = words(n_words + 1);
            places[n_words - 1] = n_words % 2 == 0 ? 0 : ~std::uint64_t{0};  // none, or all
            std::vector<std::uint64_t> together(n_words + 1);
            std::vector<std::uint64_t> again(n_words);
            set->gather_marks(marks.data(), places.data(), n_words, together.data());
            set->spread_marks(together.data(), places.data(), n_words, again.data());
            std::size_t n = 0;
            for (std::size_t i = 0; i < 64 * n_words; ++i)
                if (is_marked(places, i))
                    CHECK(is_marked(together, n++) == is_marked(marks, i));
            for (std::size_t i = 0; i < n_words; ++i)
                CHECK(again[i] == (marks[i] & places[i]));
        }
    }
}

TEST_CASE("marked numbers, and their places, are kept in their order") {
    for (auto const* const set : every_set())
        for (std::size_t const n_words : {1, 2, 5}) {
            auto const those = numbers(64 * n_words + kernels::kLanes, 1000);
            auto marks = words(n_words);
            marks[0] = n_words == 2 ? 0 : std::uint64_t{1} << 63;
            std::vector<Ordered> kept(those.size());
            std::vector<std::uint32_t> places(those.size());
            kept.resize(set->keep_marked(marks.data(), n_words, those.data(), kept.data()));
            places.resize(set->list_marked(marks.data(), n_words, places.data()));
            std::vector<Ordered> expected;
            std::vector<std::uint32_t> expected_places;
            for (std::uint32_t i = 0; i < 64 * n_words; ++i)
                if (is_marked(marks, i)) {
                    expected.push_back(those[i]);
                    expected_places.push_back(i);
                }
            CHECK(kept == expected);
            CHECK(places == expected_places);
        }
}

TEST_CASE("numbers that are repeated are marked, all but the last of a kind, and those that equal another") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {2, 5, 16, 17, 63, 64, 65, 129, 200}) {
            auto those = numbers(n, 6);
            std::ranges::sort(those);
            those.resize(n + kernels::kLanes, those.back());  // what follows must not count
            std::vector<std::uint64_t> repeated((n + 63) / 64);
            std::vector<std::uint64_t> equal((n + 63) / 64);
            set->mark_repeated(those.data(), n, repeated.data());
            set->mark_equal(-18, those.data(), n, equal.data());
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(is_marked(repeated, i) == (i + 1 < n && those[i] == those[i + 1]));
                CHECK(is_marked(equal, i) == (those[i] == -18));
            }
        }
}

TEST_CASE("values are sorted with their labels, many of them and few, equal ones and the lowest integer") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {0, 1, 2, 15, 16, 17, 64, 65, 100, 300, 5000})
            for (std::uint32_t const n_distinct : {1U, 2U, 50U, 1U << 30}) {
                auto values = numbers(n, n_distinct);
                if (n > 0 && n_distinct > 50)
                    values[n / 2] = std::numeric_limits<Ordered>::min();
                std::vector<std::pair<Ordered, std::uint32_t>> expected;
                std::vector<std::uint32_t> labels(n);
                for (std::uint32_t i = 0; i < n; ++i)
                    expected.emplace_back(values[i], labels[i] = i * 7 % 5);
                values.resize(n + kernels::kLanes);
                labels.resize(values.size());
                std::vector<Ordered> values_beside(values.size());
                std::vector<std::uint32_t> labels_beside(values.size());
                set->sort(values.data(), labels.data(), n, values_beside.data(), labels_beside.data());
                CHECK(std::ranges::is_sorted(std::span(values).first(n)));
                std::vector<std::pair<Ordered, std::uint32_t>> sorted;
                for (std::size_t i = 0; i < n; ++i)
                    sorted.emplace_back(values[i], labels[i]);
                std::ranges::sort(sorted);
                std::ranges::sort(expected);
                CHECK(sorted == expected);
            }
}

namespace {

// The distinct values of rows, class after class, and which classes each has.
std::map<Ordered, std::set<std::size_t>> classes_by_value(std::span<Ordered const> values,
                                                          std::span<std::uint32_t const> ends) {
    std::map<Ordered, std::set<std::size_t>> result;
    for (std::size_t y = 0, begin = 0; y < ends.size(); begin = ends[y++])
        for (std::size_t i = begin; i < ends[y]; ++i)
            result[values[i]].insert(y);
    return result;
}

bool is_marked_value(std::set<std::size_t> const& classes, std::uint32_t dominant) {
    return std::ranges::any_of(classes, [&](std::size_t y) { return y != dominant; });
}

bool is_valid_pair(std::set<std::size_t> classes, std::set<std::size_t> const& next) {
    classes.insert(next.begin(), next.end());
    return classes.size() > 1;
}

}  // namespace

TEST_CASE("of values with their classes, the valid candidates and the marked ones are marked") {
    for (auto const* const set : every_set())
        for (std::size_t const n : {2, 3, 63, 64, 65, 200})
            for (std::uint32_t const dominant : {0U, 2U, ~0U}) {
                std::size_t const n_words = (n + 63) / 64;
                auto const random = numbers(n, 5);  // from -20: the only class, or several
                std::vector<std::uint64_t> only(3 * n_words);
                std::vector<std::set<std::size_t>> classes(n);
                for (std::size_t i = 0; i < n; ++i) {
                    auto const y = static_cast<std::size_t>(random[i] + 20);
                    classes[i] = y < 3 ? std::set<std::size_t>{y} : std::set<std::size_t>{y - 3, 2};
                    if (y < 3)
                        only[y * n_words + i / 64] |= std::uint64_t{1} << (i % 64);
                }
                std::vector<std::uint64_t> valid(n_words);
                std::vector<std::uint64_t> marked(n_words);
                set->mark_valid(only.data(), 3, n, dominant, valid.data(), marked.data());
                for (std::size_t i = 0; i < 64 * n_words; ++i) {
                    CHECK(is_marked(valid, i) == (i + 1 < n && is_valid_pair(classes[i], classes[i + 1])));
                    CHECK(is_marked(marked, i) == (i < n && is_marked_value(classes[i], dominant)));
                }
            }
}

TEST_CASE("the valid candidates of few rows are sampled by their ranks") {
    constexpr Key kAbove = hash(1, kCandidate);
    constexpr Key kBelow = hash(1, kCandidateBelow);
    for (auto const* const set : every_set())
        for (std::uint32_t const n : {2U, 5U, 16U, 17U, 40U, 64U})
            for (std::uint32_t const n_distinct : {1U, 4U, 30U, 1U << 30})
                for (std::uint32_t const n_classes : {2U, 3U, std::uint32_t{kernels::kMaxWordClasses}})
                    for (std::uint32_t const n_thresholds : {0U, 1U, 5U, 25U}) {
                        auto values = numbers(n + kernels::kLanes, n_distinct);
                        std::vector<std::uint32_t> ends(n_classes);
                        for (std::uint32_t y = 0; y < n_classes; ++y)
                            ends[y] = n * (y + 1) / n_classes;
                        std::uint32_t const dominant = n % 2 == 0 ? n_classes - 1 : ~0U;
                        auto const rows = std::vector(values.begin(), values.begin() + n);
                        auto const by_value = classes_by_value(rows, ends);
                        struct Expected {
                            Rank rank;
                            Ordered value;
                            Ordered next;
                            bool is_marked;
                            auto operator<=>(Expected const&) const = default;
                        };
                        std::vector<Expected> expected;
                        for (auto its = by_value.begin(); std::next(its) != by_value.end(); ++its) {
                            auto const next = std::next(its);
                            if (!is_valid_pair(its->second, next->second))
                                continue;
                            bool const marked = is_marked_value(its->second, dominant);
                            Rank const its_rank = rank(marked ? kAbove : kBelow,
                                                       float_bits(from_ordered(marked ? its->first : next->first)));
                            expected.push_back({its_rank, its->first, next->first, marked});
                        }
                        std::ranges::sort(expected);
                        if (n_thresholds != 0 && expected.size() > n_thresholds)
                            expected.resize(n_thresholds);
                        std::ranges::sort(expected, {}, &Expected::value);

                        std::vector<Ordered> beside(values.size());
                        kernels::WordOfRows found{};
                        std::vector<Count> left(n * n_classes);
                        std::size_t const n_found = set->sample_word(values.data(), ends.data(), n_classes,
                                                                     {kAbove, kBelow, dominant, n_thresholds},
                                                                     beside.data(), found, left.data());
                        REQUIRE(n_found == expected.size());
                        for (std::size_t i = 0; i < n_found; ++i) {
                            std::uint32_t const place = found.places[i];
                            CHECK(values[place] == expected[i].value);
                            CHECK(values[place + 1] == expected[i].next);
                            CHECK((found.marked >> place & 1) == (expected[i].is_marked ? 1 : 0));
                            for (std::size_t y = 0, begin = 0; y < n_classes; begin = ends[y++])
                                CHECK(left[i * n_classes + y] ==
                                      std::count_if(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                                    rows.begin() + ends[y],
                                                    [&](Ordered value) { return value <= expected[i].value; }));
                        }
                    }
}

TEST_CASE("values of ranks within bounds are kept") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            auto const values = numbers(n + kernels::kLanes, 1U << 30);
            std::vector<Ordered> kept(values.size());
            kept.resize(set->keep_values_ranked(values.data(), n, 77, -1'000'000'000, 500'000'000, kept.data()));
            std::vector<Ordered> expected;
            for (std::size_t i = 0; i < n; ++i)
                if (Ordered const its = to_ordered(rank(77, float_bits(from_ordered(values[i]))));
                    -1'000'000'000 <= its && its <= 500'000'000)
                    expected.push_back(values[i]);
            CHECK(kept == expected);
        }
}

TEST_CASE("words of ranks within bounds are kept, with their ranks") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            std::vector<std::uint32_t> those(n + kernels::kLanes);
            std::iota(those.begin(), those.end(), 5U);
            std::vector<std::uint32_t> kept(those.size());
            std::vector<Ordered> ranks(those.size());
            std::size_t const n_kept =
                set->keep_ranked(those.data(), n, 77, -1'000'000'000, 500'000'000, kept.data(), ranks.data());
            std::size_t n_expected = 0;
            for (std::size_t i = 0; i < n; ++i)
                if (Ordered const its = to_ordered(rank(77, those[i])); -1'000'000'000 <= its && its <= 500'000'000) {
                    CHECK(kept[n_expected] == those[i]);
                    CHECK(ranks[n_expected++] == its);
                }
            CHECK(n_kept == n_expected);
        }
}

TEST_CASE("words that have some bits of a set, but not all, are kept with their names") {
    for (auto const* const set : every_set())
        for (std::size_t const n : kSizes) {
            std::vector<std::uint64_t> those(n + kernels::kLanes);
            std::vector<std::uint32_t> names(those.size());
            for (std::uint32_t i = 0; i < those.size(); ++i) {
                those[i] = i % 8;
                names[i] = 100 + i;
            }
            std::vector<std::uint64_t> kept(those.size());
            std::vector<std::uint32_t> kept_names(those.size());
            kept.resize(set->keep_varying(0b110, those.data(), names.data(), n, kept.data(), kept_names.data()));
            std::vector<std::uint32_t> expected;
            for (std::size_t i = 0; i < n; ++i)
                if ((i & 6) != 0 && (i & 6) != 6)
                    expected.push_back(names[i]);
            kept_names.resize(kept.size());
            CHECK(kept_names == expected);
            for (std::size_t i = 0; i < kept.size(); ++i)
                CHECK(kept[i] == (kept_names[i] - 100) % 8);
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
                scores[place] = scores[n / 2] = -2;
                std::vector<std::uint32_t> places(n + kernels::kLanes);
                places.resize(set->find_lowest(scores.data(), n, places.data()));
                std::set<std::size_t> const expected = {place, n / 2};
                CHECK(std::ranges::equal(places, expected));
            }
    double const none = std::numeric_limits<double>::infinity();
    std::array<std::uint32_t, 1 + kernels::kLanes> places{};
    CHECK(kernels::chosen->find_lowest(nullptr, 0, places.data()) == 0);
    CHECK(kernels::chosen->find_lowest(&none, 1, places.data()) == 0);
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
    // Two sets of two words each.
    std::array<std::uint64_t, 4> const sets = {0b1011, 0b100, ~std::uint64_t{0}, 1};
    std::array<std::uint32_t, 4> const places = {0, 66, 2, 63};
    for (auto const* const set : every_set()) {
        std::array<std::uint32_t, 4> before{};
        set->count_before(sets.data(), 2, 2, before.data());
        CHECK(before == std::array<std::uint32_t, 4>{0, 0, 3, 64});
        std::array<std::uint32_t, 8> counts{};
        set->count_up_to(sets.data(), 2, 2, before.data(), places.data(), 4, counts.data());
        CHECK(counts == std::array<std::uint32_t, 8>{1, 1, 4, 65, 2, 3, 3, 64});
        std::array<std::uint32_t, 4> common{};
        set->count_common(sets.data(), 2, sets.data() + 1, 2, common.data());
        CHECK(common == std::array<std::uint32_t, 4>{0, 3, 1, 1});
    }
}

TEST_CASE("scores of many splits are those of single ones, up to the most rows, for any number of classes") {
    std::vector<std::array<Count, 2>> const lefts = {{1, 0}, {3, 7}, {5, 1U << 24}, {(1U << 25) - 1, 2}};
    std::array<Count, 2> const totals = {1U << 25, (1U << 25) - 1};
    for (auto const* const set : every_set()) {
        std::vector<double> scores(lefts.size());
        set->score_gini(lefts.front().data(), lefts.size(), totals.data(), 2, scores.data());
        for (std::size_t i = 0; i < lefts.size(); ++i)
            CHECK(scores[i] == split_score(Criterion::gini, lefts[i], totals, {}));
        for (std::size_t const n_classes : {1, 3, 10}) {
            constexpr std::size_t kSplits = 21;
            std::vector<Count> const all(n_classes, (kernels::kMaxFewRows - 1) / 10);
            std::vector<Count> left(kSplits * n_classes);
            for (std::size_t i = 0; i < left.size(); ++i)
                left[i] = 1 + static_cast<Count>(i * i * 7919 % (all[0] - 1));
            scores.resize(kSplits);
            set->score_gini(left.data(), kSplits, all.data(), n_classes, scores.data());
            for (std::size_t i = 0; i < kSplits; ++i)
                CHECK(scores[i] ==
                      split_score(Criterion::gini, std::span(left).subspan(i * n_classes, n_classes), all, {}));
        }
    }
}
