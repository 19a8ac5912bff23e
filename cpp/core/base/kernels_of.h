// The inner loops, written once for vectors of any processor. Each `kernels_*.cpp` says what a vector is there, is
// compiled for that processor, and makes a set of kernels of it.
//
// Everything is in a namespace without a name: the linker must never take a function that was compiled for a better
// processor where a worse one needs the same.
#pragma once

#include <bit>
#include <cstring>
#include <limits>

#include "base/kernels.h"

namespace deciduous::kernels {
namespace {

// `Vectors` has: kWidth, how many numbers a vector holds; `load`, and `load_first` for the first few with zeros behind;
// `all`, one number many times; `least` and `most` of two vectors; `greater` and `equal`, which give a mask; `first`, a
// mask of the first few; `both` of two masks; `bits` of a mask, and `any`, whether it has some; a `Counter`, with
// `count` for what is in a mask, and `total`; `least_where` and `most_where`, which take new numbers into account where
// a mask says so, and `more_where`, which adds one there; `keep`, which stores the numbers that some bits tell one
// behind the other, whatever is written behind them, and tells how many, and `keep_words`, the same for numbers of
// twice the size; `test_words`, which tells the words of a vector that have a bit; `lowest` and `highest` number of a
// vector; and `spread_bits` and `gather_bits`.
template <typename Vectors>
struct KernelsOf {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;

    static void to_values(float const* numbers, std::size_t n, Value* values) {
        for (std::size_t i = 0; i < n; ++i)
            values[i] = to_value(numbers[i]);
    }

    static Range find_range(Ordered const* values, std::size_t n) {
        Vector lowest = Vectors::all(values[0]);
        Vector highest = lowest;
        std::size_t i = 0;
        for (; i + kWidth <= n; i += kWidth) {
            Vector const those = Vectors::load(values + i);
            lowest = Vectors::least(lowest, those);
            highest = Vectors::most(highest, those);
        }
        Range range{Vectors::lowest(lowest), Vectors::highest(highest)};
        for (; i < n; ++i) {
            range.lowest = values[i] < range.lowest ? values[i] : range.lowest;
            range.highest = values[i] > range.highest ? values[i] : range.highest;
        }
        return range;
    }

    static void count_smaller(Ordered const* numbers, std::size_t n, std::uint32_t* n_smaller) {
        for (std::size_t i = 0; i < n; i += kWidth) {
            Vector const those = Vectors::load(numbers + i);
            Vector sums = Vectors::all(0);
            for (std::size_t j = 0; j < n; ++j)
                sums = Vectors::more_where(Vectors::greater(those, Vectors::all(numbers[j])), sums);
            std::memcpy(n_smaller + i, &sums, sizeof sums);
        }
    }

    // Calls `function(those, mask)` with all values, vector by vector, and a mask of those that are there.
    template <typename Function>
    static void for_each_vector(Ordered const* values, std::size_t n, Function const& function) {
        std::size_t i = 0;
        for (; i + kWidth <= n; i += kWidth)
            function(Vectors::load(values + i), Vectors::first(kWidth));
        if (i < n)
            function(Vectors::load_first(values + i, n - i), Vectors::first(n - i));
    }

    // Calls `function(begin, std::integral_constant of how many)` for groups of so many things that what belongs to
    // them stays in registers.
    template <typename Function>
    static void for_each_group(std::size_t n, Function const& function) {
        std::size_t begin = 0;
        for (; begin + 8 <= n; begin += 8)
            function.template operator()<8>(begin);
        if (begin + 4 <= n) {
            function.template operator()<4>(begin);
            begin += 4;
        }
        if (begin + 2 <= n) {
            function.template operator()<2>(begin);
            begin += 2;
        }
        if (begin < n)
            function.template operator()<1>(begin);
    }

    // Of n values, those beyond each of some bounds: how many there are, and the nearest of them, or `none`.
    // `Direction` tells which are beyond, and which is nearer.
    template <typename Direction>
    static void look_beyond(Ordered none, Ordered const* bounds, std::size_t n_bounds, Ordered const* values,
                            std::size_t n, std::uint32_t* n_beyond, Ordered* nearest) {
        for_each_group(n_bounds, [&]<std::size_t kN>(std::size_t begin) {
            Vector here[kN];
            Vector near[kN];
            typename Vectors::Counter counts[kN] = {};
            for (std::size_t i = 0; i < kN; ++i) {
                here[i] = Vectors::all(bounds[begin + i]);
                near[i] = Vectors::all(none);
            }
            for_each_vector(values, n, [&](Vector those, auto mask) {
                for (std::size_t i = 0; i < kN; ++i) {
                    auto const is_beyond = Vectors::both(Direction::is_beyond(those, here[i]), mask);
                    Vectors::count(is_beyond, counts[i]);
                    near[i] = Direction::nearer_where(is_beyond, near[i], those);
                }
            });
            for (std::size_t i = 0; i < kN; ++i) {
                n_beyond[begin + i] = Vectors::total(counts[i]);
                nearest[begin + i] = Direction::nearest(near[i]);
            }
        });
    }

    struct Upwards {
        static auto is_beyond(Vector those, Vector here) { return Vectors::greater(those, here); }
        static Vector nearer_where(auto mask, Vector a, Vector b) { return Vectors::least_where(mask, a, b); }
        static Ordered nearest(Vector near) { return Vectors::lowest(near); }
    };
    struct Downwards {
        static auto is_beyond(Vector those, Vector here) { return Vectors::greater(here, those); }
        static Vector nearer_where(auto mask, Vector a, Vector b) { return Vectors::most_where(mask, a, b); }
        static Ordered nearest(Vector near) { return Vectors::highest(near); }
    };

    static void look_above(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                           std::uint32_t* n_above, Ordered* least) {
        look_beyond<Upwards>(to_ordered(kNoValue), bounds, n_bounds, values, n, n_above, least);
    }

    static void look_below(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                           std::uint32_t* n_below, Ordered* most) {
        look_beyond<Downwards>(to_ordered(kNoLower), bounds, n_bounds, values, n, n_below, most);
    }

    // For each of some numbers, how many values `compare` with it.
    template <typename Compare>
    static void count_each(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                           std::uint32_t* results, Compare const& compare) {
        for_each_group(n_wanted, [&]<std::size_t kN>(std::size_t begin) {
            Vector here[kN];
            typename Vectors::Counter counts[kN] = {};
            for (std::size_t i = 0; i < kN; ++i)
                here[i] = Vectors::all(wanted[begin + i]);
            for_each_vector(values, n, [&](Vector those, auto mask) {
                for (std::size_t i = 0; i < kN; ++i)
                    Vectors::count(Vectors::both(compare(those, here[i]), mask), counts[i]);
            });
            for (std::size_t i = 0; i < kN; ++i)
                results[begin + i] = Vectors::total(counts[i]);
        });
    }

    static void count_below(Ordered const* thresholds, std::size_t n_thresholds, Ordered const* values, std::size_t n,
                            std::uint32_t* counts) {
        count_each(thresholds, n_thresholds, values, n, counts,
                   [](Vector those, Vector here) { return Vectors::greater(those, here); });
        for (std::size_t i = 0; i < n_thresholds; ++i)
            counts[i] = static_cast<std::uint32_t>(n) - counts[i];
    }

    static void count_equal(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                            std::uint32_t* counts) {
        count_each(wanted, n_wanted, values, n, counts,
                   [](Vector those, Vector here) { return Vectors::equal(those, here); });
    }

    static void rank_values(Ordered const* values, std::size_t n, Key key, Ordered* ranks) {
        for (std::size_t i = 0; i < n; ++i) {
            // float_bits without a branch
            auto const bits = static_cast<std::uint32_t>(values[i] ^ ((values[i] >> 31) & 0x7FFFFFFF));
            ranks[i] = to_ordered(rank(key, bits));
        }
    }

    static void rank_words(std::uint32_t const* words, std::size_t n, Key key, Ordered* ranks) {
        for (std::size_t i = 0; i < n; ++i)
            ranks[i] = to_ordered(rank(key, words[i]));
    }

    static std::size_t draw_arrivals(Window const& window, std::uint64_t first, Value* arrivals) {
        alignas(64) Ordered rounded[kLanes];
        alignas(64) Ordered is_outside[kLanes];
        for (std::size_t i = 0; i < kLanes; ++i) {
            auto const bits = static_cast<std::int64_t>(hash(window.key, first + i) >> 11);
            double const point = window.begin + window.width * (static_cast<double>(bits) * 0x1p-53);
            auto const nearest = static_cast<float>(point);
            Value const value = to_value(nearest);
            Value const step = value == to_value(0.0F) ? 2 : 1;  // between it and the number below stands -0.0
            rounded[i] = static_cast<Ordered>(value - (static_cast<double>(nearest) > point ? step : 0));
            // The ends are float32, so a point is between them exactly if its rounding down is.
            is_outside[i] = (point < window.low) | (point >= window.high) ? 1 : 0;
        }
        std::size_t n = 0;
        for (std::size_t i = 0; i < kLanes; i += kWidth)
            n += Vectors::keep(arrivals + n, Vectors::load(rounded + i),
                               Vectors::bits(Vectors::equal(Vectors::load(is_outside + i), Vectors::all(0))));
        std::memset(rounded, 0, sizeof rounded);
        asm volatile("" : : "r"(rounded) : "memory");  // or the compiler leaves that out
        return n;
    }

    static std::size_t find_within(Ordered from, Ordered to, Ordered const* numbers, std::size_t n,
                                   std::uint32_t* places) {
        Vector const low = Vectors::all(from);
        Vector const high = Vectors::all(to);
        alignas(64) Ordered counted[kWidth];
        for (std::size_t i = 0; i < kWidth; ++i)
            counted[i] = static_cast<Ordered>(i);
        Vector const steps = Vectors::load(counted);
        std::size_t n_found = 0;
        std::size_t begin = 0;
        for_each_vector(numbers, n, [&](Vector those, auto mask) {
            auto const is_outside = Vectors::either(Vectors::greater(low, those), Vectors::greater(those, high));
            auto const is_within = Vectors::without(mask, is_outside);
            if (Vectors::any(is_within))  // few are wanted, so most vectors have none of them
                n_found +=
                    Vectors::keep(places + n_found, Vectors::sum(Vectors::all(static_cast<Ordered>(begin)), steps),
                                  Vectors::bits(is_within));
            begin += kWidth;
        });
        return n_found;
    }

    static void mark_below(Ordered threshold, Ordered const* numbers, std::size_t n, std::uint64_t* marks) {
        Vector const here = Vectors::all(threshold);
        for (std::size_t begin = 0; begin < n; begin += 64) {
            std::uint64_t word = 0;
            std::size_t place = 0;
            for_each_vector(numbers + begin, n - begin < 64 ? n - begin : 64, [&](Vector those, auto mask) {
                word |= std::uint64_t{Vectors::bits(Vectors::without(mask, Vectors::greater(those, here)))} << place;
                place += kWidth;
            });
            marks[begin / 64] = word;
        }
    }

    static void mark_bit(std::uint64_t const* words, std::size_t n, unsigned bit, std::uint64_t* marks) {
        for (std::size_t begin = 0; begin < n; begin += 64) {
            constexpr std::size_t kN = kWidth / 2;
            std::size_t const n_here = n - begin < 64 ? n - begin : 64;
            std::uint64_t word = 0;
            std::size_t i = 0;
            for (; i + kN <= n_here; i += kN)
                word |= std::uint64_t{Vectors::test_words(words + begin + i, std::uint64_t{1} << bit)} << i;
            for (; i < n_here; ++i)
                word |= (words[begin + i] >> bit & 1) << i;
            marks[begin / 64] = word;
        }
    }

    // Calls `take(i, goes_left)` for vectors of things, and `take_one` for those behind them.
    template <std::size_t kN, typename Take, typename TakeOne>
    static void for_each_mark(std::uint64_t const* marks, std::size_t n, Take const& take, TakeOne const& take_one) {
        std::size_t i = 0;
        for (; i + kN <= n; i += kN)
            take(i, static_cast<std::uint32_t>(marks[i / 64] >> (i % 64)) & ((1U << kN) - 1));
        for (; i < n; ++i)
            take_one(i, marks[i / 64] >> (i % 64) & 1);
    }

    static void divide(std::uint64_t const* marks, std::uint32_t const* things, std::size_t n, std::uint32_t* left,
                       std::uint32_t* right) {
        for_each_mark<kWidth>(
            marks, n,
            [&](std::size_t i, std::uint32_t goes_left) {
                Vector const those = Vectors::load(reinterpret_cast<Ordered const*>(things + i));
                right += Vectors::keep(right, those, ~goes_left & ((1U << kWidth) - 1));
                left += Vectors::keep(left, those, goes_left);
            },
            [&](std::size_t i, std::uint64_t goes_left) { put(things[i], goes_left, left, right); });
    }

    static void divide_words(std::uint64_t const* marks, std::uint64_t const* words, std::size_t n, std::uint64_t* left,
                             std::uint64_t* right) {
        constexpr std::size_t kN = Vectors::kWidth / 2;
        for_each_mark<kN>(
            marks, n,
            [&](std::size_t i, std::uint32_t goes_left) {
                Vector const those = Vectors::load(reinterpret_cast<Ordered const*>(words + i));
                right += Vectors::keep_words(right, those, ~goes_left & ((1U << kN) - 1));
                left += Vectors::keep_words(left, those, goes_left);
            },
            [&](std::size_t i, std::uint64_t goes_left) { put(words[i], goes_left, left, right); });
    }

    // No branches, as their outcomes would be random.
    template <typename Thing>
    static void put(Thing thing, std::uint64_t goes_left, Thing*& left, Thing*& right) {
        *left = thing;
        *right = thing;
        left += goes_left;
        right += 1 - goes_left;
    }

    static std::size_t keep_set(Ordered const* numbers, std::uint64_t bits, Ordered* kept) {
        auto* const to = reinterpret_cast<std::uint32_t*>(kept);
        std::size_t n = 0;
        for (; bits != 0; bits >>= kWidth, numbers += kWidth)
            n += Vectors::keep(to + n, Vectors::load(numbers), static_cast<std::uint32_t>(bits) & ((1U << kWidth) - 1));
        return n;
    }

    static std::uint64_t mark_repeated(Ordered const* numbers, std::size_t n) {
        std::uint64_t repeated = 0;
        for (std::size_t i = 0; i + 1 < n; i += kWidth)
            repeated |=
                std::uint64_t{Vectors::bits(Vectors::equal(Vectors::load(numbers + i), Vectors::load(numbers + i + 1)))}
                << i;
        return n == 0 ? 0 : repeated & ((std::uint64_t{1} << (n - 1)) - 1);
    }

    static std::uint64_t find_varying(std::uint64_t const* words, std::size_t n) {
        std::uint64_t varying = 0;
        for (std::size_t i = 0; i < n; ++i)
            varying |= words[i] ^ words[0];
        return varying;
    }

    static std::uint64_t count_bit(std::uint64_t const* words, std::size_t n, unsigned bit) {
        std::uint64_t n_set = 0;
        for (std::size_t i = 0; i < n; ++i)
            n_set += words[i] >> bit & 1;
        return n_set;
    }

    static void transpose(std::uint64_t* square) {
        // Swaps the two quarters beside the diagonal of squares half, a quarter, an eighth... as wide.
        std::uint64_t low = 0x00000000FFFFFFFFU;
        for (unsigned half = 32; half != 0; half /= 2, low ^= low << half)
            for (unsigned begin = 0; begin < 64; begin += 2 * half)
                for (unsigned i = begin; i < begin + half; ++i) {
                    std::uint64_t const swapped = (square[i] >> half ^ square[i + half]) & low;
                    square[i] ^= swapped << half;
                    square[i + half] ^= swapped;
                }
    }

    static void count_common(std::uint64_t bits, std::uint64_t const* sets, std::size_t n_sets, std::uint32_t* counts) {
        for (std::size_t i = 0; i < n_sets; ++i)
            counts[i] = static_cast<std::uint32_t>(std::popcount(bits & sets[i]));
    }

    static void count_up_to(std::uint64_t const* sets, std::size_t n_sets, std::uint32_t const* places, std::size_t n,
                            std::uint32_t* counts) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t set = 0; set < n_sets; ++set)
                *counts++ = static_cast<std::uint32_t>(std::popcount(sets[set] << (63 - places[i])));
    }

    static void score_two_classes(Count const* left, std::size_t n, Count const* totals, double* scores) {
        // Signed, as processors turn many signed numbers into doubles at a time.
        auto const total_0 = static_cast<double>(static_cast<std::int32_t>(totals[0]));
        auto const total_1 = static_cast<double>(static_cast<std::int32_t>(totals[1]));
        for (std::size_t i = 0; i < n; ++i) {
            auto const left_0 = static_cast<double>(static_cast<std::int32_t>(left[2 * i]));
            auto const left_1 = static_cast<double>(static_cast<std::int32_t>(left[2 * i + 1]));
            double const right_0 = total_0 - left_0;
            double const right_1 = total_1 - left_1;
            scores[i] = -((left_0 * left_0 + left_1 * left_1) / (left_0 + left_1) +
                          (right_0 * right_0 + right_1 * right_1) / (right_0 + right_1));
        }
    }

    static double find_lowest(double const* scores, std::size_t n) {
        constexpr std::size_t kAtOnce = 8;
        double lowest[kAtOnce];
        for (double& its : lowest)
            its = std::numeric_limits<double>::infinity();
        std::size_t i = 0;
        for (; i + kAtOnce <= n; i += kAtOnce)
            for (std::size_t j = 0; j < kAtOnce; ++j)
                lowest[j] = scores[i + j] < lowest[j] ? scores[i + j] : lowest[j];
        for (; i < n; ++i)
            lowest[0] = scores[i] < lowest[0] ? scores[i] : lowest[0];
        for (double const its : lowest)
            lowest[0] = its < lowest[0] ? its : lowest[0];
        return lowest[0];
    }

    static constexpr Set set(char const* name) {
        return {
            .name = name,
            .to_values = to_values,
            .find_range = find_range,
            .count_smaller = count_smaller,
            .look_above = look_above,
            .look_below = look_below,
            .count_below = count_below,
            .count_equal = count_equal,
            .rank_values = rank_values,
            .rank_words = rank_words,
            .draw_arrivals = draw_arrivals,
            .find_within = find_within,
            .mark_below = mark_below,
            .mark_bit = mark_bit,
            .divide = divide,
            .divide_words = divide_words,
            .keep_set = keep_set,
            .mark_repeated = mark_repeated,
            .spread_bits = Vectors::spread_bits,
            .gather_bits = Vectors::gather_bits,
            .find_varying = find_varying,
            .count_bit = count_bit,
            .transpose = transpose,
            .count_common = count_common,
            .count_up_to = count_up_to,
            .score_two_classes = score_two_classes,
            .find_lowest = find_lowest,
        };
    }
};

}  // namespace
}  // namespace deciduous::kernels
