// The inner loops, written once for vectors of any processor. Each `kernels_*.cpp` says what a vector is there, is
// compiled for that processor, and makes a set of kernels of it.
//
// Everything is in a namespace without a name: the linker must never take a function that was compiled for a better
// processor where a worse one needs the same.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/kernels.h"

namespace deciduous::kernels {
namespace {

// `Vectors` has: kWidth, how many numbers a vector holds; `load`, and `load_first` for the first few with zeros behind;
// `all`, one number many times; `sum`, `difference`, `least` and `most` of two vectors; `greater` and `equal`, which
// give a mask; `first`, a mask of the first few; `both` and `either` of two masks, and one `without` the other; `bits`
// of a mask; a `Counter`, with `count` for what is in a mask, and `total`; `select` of two vectors by a mask;
// `least_where` and `most_where`, which take new numbers into account where a mask says so, and `more_where`, which
// adds one there; `keep`, which stores the numbers that some bits tell one behind the other, whatever is written behind
// them, and tells how many, and `keep_words`, the same for numbers of twice the size; `test_words`, which tells the
// words of a vector that have a bit, and `varying_words`, those that have some bits of a set, but not all of them;
// `lowest` and `highest` number of a vector; and `spread_bits` and `gather_bits`.
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

    // For each of n numbers where it would be if they were sorted; of equal ones, which the lowest integer must not be,
    // the first comes first. Behind numbers and places is room for whole vectors.
    [[gnu::noinline]] static void find_places(Ordered const* numbers, std::size_t n, std::uint32_t* places) {
        for (std::size_t begin = 0; begin < n; begin += kWidth) {
            Vector const those = Vectors::load(numbers + begin);
            // Of those before, all that are not higher come before; of those behind, the lower ones.
            Vector n_higher = Vectors::all(0);
            Vector n_lower = Vectors::all(0);
            for (std::size_t i = 0; i < begin; ++i)
                n_higher = Vectors::more_where(Vectors::greater(Vectors::all(numbers[i]), those), n_higher);
            std::size_t const n_own = n - begin < kWidth ? n - begin : kWidth;
#pragma GCC unroll 1  // there is more to gain by being short
            for (std::size_t i = 0; i < n_own; ++i) {
                Ordered const number = numbers[begin + i];
                Ordered const lower = number == std::numeric_limits<Ordered>::min() ? number : number - 1;
                Vector const its = Vectors::select(Vectors::first(i + 1), Vectors::all(number), Vectors::all(lower));
                n_lower = Vectors::more_where(Vectors::greater(those, its), n_lower);
            }
            for (std::size_t i = begin + kWidth; i < n; ++i)
                n_lower = Vectors::more_where(Vectors::greater(those, Vectors::all(numbers[i])), n_lower);
            Vector const sums =
                Vectors::sum(n_lower, Vectors::difference(Vectors::all(static_cast<Ordered>(begin)), n_higher));
            std::memcpy(places + begin, &sums, sizeof sums);
        }
    }

    static constexpr std::size_t kMaxCounted = 64;  // so many are sorted by finding their places

    static void sort_few(Ordered* values, std::uint32_t* labels, std::size_t n, Ordered* values_beside,
                         std::uint32_t* labels_beside) {
        std::uint32_t places[kMaxCounted + kLanes];
        for (std::size_t i = 0; i < n; i += kWidth) {
            copy_vector(values + i, values_beside + i);
            copy_vector(reinterpret_cast<Ordered*>(labels + i), reinterpret_cast<Ordered*>(labels_beside + i));
        }
        find_places(values_beside, n, places);
        for (std::size_t i = 0; i < n; ++i) {
            values[places[i]] = values_beside[i];
            labels[places[i]] = labels_beside[i];
        }
    }

    static void copy_vector(Ordered const* from, Ordered* to) {
        Vector const those = Vectors::load(from);
        std::memcpy(to, &those, sizeof those);
    }

    static void copy(Ordered const* from, std::size_t n, Ordered* to) {
        if (n < kWidth) {
            for (std::size_t i = 0; i < n; ++i)
                to[i] = from[i];
            return;
        }
        for (std::size_t i = 0; i + kWidth < n; i += kWidth)
            copy_vector(from + i, to + i);
        copy_vector(from + n - kWidth, to + n - kWidth);
    }

    // One of the values that is likely to be near the middle.
    static Ordered middle_of(Ordered const* values, std::size_t n, Ordered* sample) {
        std::uint32_t places[kLanes];
        for (std::size_t i = 0; i < kLanes; ++i)
            sample[i] = values[i * (n / kLanes)];
        find_places(sample, kLanes, places);
        std::size_t middle = 0;
        for (std::size_t i = 0; i < kLanes; ++i)  // without branches, as their outcomes would be random
            middle |= places[i] == kLanes / 2 - 1 ? i : 0;
        return sample[middle];
    }

    // Moves values above the bound behind the others, with their labels; how many the others are.
    static std::size_t part(Ordered bound, Ordered* values, std::uint32_t* labels, std::size_t n,
                            Ordered* values_beside, std::uint32_t* labels_beside) {
        Vector const here = Vectors::all(bound);
        std::size_t n_low = 0;
        std::size_t n_high = 0;
        auto* const low_values = reinterpret_cast<std::uint32_t*>(values);
        auto* const high_values = reinterpret_cast<std::uint32_t*>(values_beside);
        std::size_t i = 0;
        for (; i + kWidth <= n; i += kWidth) {
            Vector const those = Vectors::load(values + i);
            Vector const theirs = Vectors::load(reinterpret_cast<Ordered*>(labels + i));
            std::uint32_t const high = Vectors::bits(Vectors::greater(those, here));
            std::uint32_t const low = ~high & ((1U << kWidth) - 1);
            Vectors::keep(labels_beside + n_high, theirs, high);
            n_high += Vectors::keep(high_values + n_high, those, high);
            Vectors::keep(labels + n_low, theirs, low);
            n_low += Vectors::keep(low_values + n_low, those, low);
        }
        for (; i < n; ++i) {
            bool const is_high = values[i] > bound;
            values_beside[n_high] = values[n_low] = values[i];
            labels_beside[n_high] = labels[n_low] = labels[i];
            n_high += is_high ? 1 : 0;
            n_low += is_high ? 0 : 1;
        }
        copy(values_beside, n_high, values + n_low);
        copy(reinterpret_cast<Ordered*>(labels_beside), n_high, reinterpret_cast<Ordered*>(labels + n_low));
        return n_low;
    }

    static void sort(Ordered* values, std::uint32_t* labels, std::size_t n, Ordered* values_beside,
                     std::uint32_t* labels_beside) {
        struct Part {
            std::size_t begin;
            std::size_t end;
        };
        Part pending[64];  // each is at most half as long as the one before
        std::size_t n_pending = 0;
        Part its{0, n};
        for (;;) {
            while (its.end - its.begin > kMaxCounted) {
                auto const part_at = [&](Ordered bound) {
                    return its.begin + part(bound, values + its.begin, labels + its.begin, its.end - its.begin,
                                            values_beside, labels_beside);
                };
                Ordered const middle = middle_of(values + its.begin, its.end - its.begin, values_beside);
                std::size_t const place = part_at(middle);
                if (place == its.end) {  // it is the highest, and what is behind lower ones is all the same
                    its.end = middle == std::numeric_limits<Ordered>::min() ? its.begin : part_at(middle - 1);
                    continue;
                }
                bool const is_left_longer = place - its.begin > its.end - place;
                pending[n_pending++] = is_left_longer ? Part{its.begin, place} : Part{place, its.end};
                its = is_left_longer ? Part{place, its.end} : Part{its.begin, place};
            }
            sort_few(values + its.begin, labels + its.begin, its.end - its.begin, values_beside, labels_beside);
            if (n_pending == 0)
                return;
            its = pending[--n_pending];
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

    // float_bits of a value, without a branch.
    static std::uint32_t bits_of(Ordered value) {
        return static_cast<std::uint32_t>(value ^ ((value >> 31) & 0x7FFFFFFF));
    }

    static void rank_values(Ordered const* values, std::size_t n, Key key, Ordered* ranks) {
        for (std::size_t i = 0; i < n; ++i)
            ranks[i] = to_ordered(rank(key, bits_of(values[i])));
    }

    // Calls `keep(i, ranks, bits)` for vectors of things from place i on, with their ranks, and bits for those whose
    // rank is from one bound to another. `rank_of(i)` is the rank of a thing.
    template <typename RankOf, typename Keep>
    static void for_each_ranked(std::size_t n, Ordered from, Ordered to, RankOf const& rank_of, Keep const& keep) {
        alignas(64) Ordered ranks[kLanes];
        Vector const low = Vectors::all(from);
        Vector const high = Vectors::all(to);
        for (std::size_t begin = 0; begin < n; begin += kLanes) {
            for (std::size_t i = 0; i < kLanes; ++i)
                ranks[i] = to_ordered(rank_of(begin + i));
            for (std::size_t i = begin; i < begin + kLanes && i < n; i += kWidth) {
                Vector const those = Vectors::load(ranks + (i - begin));
                auto const is_outside = Vectors::either(Vectors::greater(low, those), Vectors::greater(those, high));
                auto const is_there = Vectors::first(n - i < kWidth ? n - i : kWidth);
                keep(i, those, Vectors::bits(Vectors::without(is_there, is_outside)));
            }
        }
    }

    static std::size_t keep_ranked(std::uint32_t const* words, std::size_t n, Key key, Ordered from, Ordered to,
                                   std::uint32_t* kept, Ordered* ranks) {
        std::size_t n_kept = 0;
        for_each_ranked(
            n, from, to, [&](std::size_t i) { return rank(key, words[i]); },
            [&](std::size_t i, Vector those, std::uint32_t bits) {
                Vectors::keep(kept + n_kept, Vectors::load(reinterpret_cast<Ordered const*>(words + i)), bits);
                n_kept += Vectors::keep(reinterpret_cast<std::uint32_t*>(ranks) + n_kept, those, bits);
            });
        return n_kept;
    }

    static std::size_t keep_values_ranked(Ordered const* values, std::size_t n, Key key, Ordered from, Ordered to,
                                          Ordered* kept) {
        std::size_t n_kept = 0;
        for_each_ranked(
            n, from, to, [&](std::size_t i) { return rank(key, bits_of(values[i])); },
            [&](std::size_t i, Vector, std::uint32_t bits) {
                n_kept +=
                    Vectors::keep(reinterpret_cast<std::uint32_t*>(kept) + n_kept, Vectors::load(values + i), bits);
            });
        return n_kept;
    }

    static Ordered find_bound(Ordered const* ranks, std::size_t n, std::size_t n_wanted) {
        // Up to `low` there are fewer than are wanted, up to `high` at least as many.
        std::int64_t low = std::int64_t{std::numeric_limits<Ordered>::min()} - 1;
        std::int64_t high = std::numeric_limits<Ordered>::max();
        std::uint64_t n_low = 0;
        std::uint64_t n_high = n;
        for (unsigned step = 1; high - low > 1; ++step) {
            // Ranks are uniform, so a share of them is in the same share of the range; if not, halving will do.
            auto const range = static_cast<std::uint64_t>(high - low);
            std::uint64_t const ahead =
                step % 4 == 0 ? range / 2 : range * (2 * (n_wanted - n_low) + 1) / (2 * (n_high - n_low) + 2);
            std::int64_t const guess = low + static_cast<std::int64_t>(ahead == 0      ? 1
                                                                       : ahead < range ? ahead
                                                                                       : range - 1);
            Vector const here = Vectors::all(static_cast<Ordered>(guess));
            typename Vectors::Counter counter{};
            for_each_vector(ranks, n, [&](Vector those, auto mask) {
                Vectors::count(Vectors::without(mask, Vectors::greater(those, here)), counter);
            });
            std::uint64_t const n_here = Vectors::total(counter);
            if (n_here == n_wanted)
                return static_cast<Ordered>(guess);
            (n_here < n_wanted ? low : high) = guess;
            (n_here < n_wanted ? n_low : n_high) = n_here;
        }
        return static_cast<Ordered>(high);
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

    // A mark for each of n numbers: whether `is_marked(those, i)`, asked for vectors of numbers from place i on.
    template <typename IsMarked>
    static void mark(Ordered const* numbers, std::size_t n, std::uint64_t* marks, IsMarked const& is_marked) {
        for (std::size_t begin = 0; begin < n; begin += 64) {
            std::uint64_t word = 0;
            std::size_t place = 0;
            for_each_vector(numbers + begin, n - begin < 64 ? n - begin : 64, [&](Vector those, auto mask) {
                word |= std::uint64_t{Vectors::bits(Vectors::both(mask, is_marked(those, begin + place)))} << place;
                place += kWidth;
            });
            marks[begin / 64] = word;
        }
    }

    static void mark_below(Ordered threshold, Ordered const* numbers, std::size_t n, std::uint64_t* marks) {
        Vector const here = Vectors::all(threshold);
        auto const all = Vectors::first(kWidth);
        mark(numbers, n, marks,
             [&](Vector those, std::size_t) { return Vectors::without(all, Vectors::greater(those, here)); });
    }

    static void mark_equal(Ordered wanted, Ordered const* numbers, std::size_t n, std::uint64_t* marks) {
        Vector const here = Vectors::all(wanted);
        mark(numbers, n, marks, [&](Vector those, std::size_t) { return Vectors::equal(those, here); });
    }

    static void mark_repeated(Ordered const* numbers, std::size_t n, std::uint64_t* marks) {
        marks[(n - 1) / 64] = 0;  // the last one may be alone in its word
        mark(numbers, n - 1, marks,
             [&](Vector those, std::size_t i) { return Vectors::equal(those, Vectors::load(numbers + i + 1)); });
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

    static std::size_t keep_marked(std::uint64_t const* marks, std::size_t n_words, Ordered const* numbers,
                                   Ordered* kept) {
        auto* const to = reinterpret_cast<std::uint32_t*>(kept);
        return for_each_marked(marks, n_words, [&](std::size_t n, std::size_t i, std::uint32_t bits) {
            return Vectors::keep(to + n, Vectors::load(numbers + i), bits);
        });
    }

    static std::size_t list_marked(std::uint64_t const* marks, std::size_t n_words, std::uint32_t* places) {
        Vector const steps = Vectors::load(kSteps);
        return for_each_marked(marks, n_words, [&](std::size_t n, std::size_t i, std::uint32_t bits) {
            return Vectors::keep(places + n, Vectors::sum(Vectors::all(static_cast<Ordered>(i)), steps), bits);
        });
    }

    static constexpr Ordered kSteps[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    // Calls `take(n, i, bits)` for each vector that has marks: n were taken before, and the vector begins at place i.
    // How many were taken.
    template <typename Take>
    static std::size_t for_each_marked(std::uint64_t const* marks, std::size_t n_words, Take const& take) {
        std::size_t n = 0;
        for (std::size_t word = 0; word < n_words; ++word) {
            std::size_t i = 64 * word;
            for (std::uint64_t bits = marks[word]; bits != 0; bits >>= kWidth, i += kWidth)
                n += take(n, i, static_cast<std::uint32_t>(bits) & ((1U << kWidth) - 1));
        }
        return n;
    }

    static void gather_marks(std::uint64_t const* marks, std::uint64_t const* where, std::size_t n_words,
                             std::uint64_t* gathered) {
        std::size_t n = 0;
        gathered[0] = 0;
        for (std::size_t word = 0; word < n_words; ++word) {
            std::uint64_t const bits = Vectors::gather_bits(marks[word], where[word]);
            std::size_t const shift = n % 64;
            gathered[n / 64] |= bits << shift;
            std::size_t const n_here = static_cast<std::size_t>(std::popcount(where[word]));
            if (shift + n_here >= 64)
                gathered[n / 64 + 1] = shift == 0 ? 0 : bits >> (64 - shift);
            n += n_here;
        }
    }

    static void spread_marks(std::uint64_t const* gathered, std::uint64_t const* where, std::size_t n_words,
                             std::uint64_t* marks) {
        std::size_t n = 0;
        for (std::size_t word = 0; word < n_words; ++word) {
            std::size_t const shift = n % 64;
            std::size_t const n_here = static_cast<std::size_t>(std::popcount(where[word]));
            std::uint64_t bits = n_here == 0 ? 0 : gathered[n / 64] >> shift;
            if (shift + n_here > 64)
                bits |= gathered[n / 64 + 1] << (64 - shift);
            marks[word] = Vectors::spread_bits(bits, where[word]);
            n += n_here;
        }
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

    static void count_common(std::uint64_t const* words, std::size_t n, std::uint64_t const* sets, std::size_t n_sets,
                             std::uint32_t* counts) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t set = 0; set < n_sets; ++set)
                *counts++ = static_cast<std::uint32_t>(std::popcount(words[i] & sets[set]));
    }

    static std::size_t keep_varying(std::uint64_t set, std::uint64_t const* words, std::uint32_t const* names,
                                    std::size_t n, std::uint64_t* kept_words, std::uint32_t* kept_names) {
        constexpr std::size_t kN = kWidth / 2;
        std::size_t n_kept = 0;
        for (std::size_t i = 0; i < n; i += kN) {
            std::uint32_t bits = Vectors::varying_words(words + i, set);
            bits &= n - i < kN ? (1U << (n - i)) - 1 : (1U << kN) - 1;
            Vectors::keep(kept_names + n_kept, Vectors::load(reinterpret_cast<Ordered const*>(names + i)), bits);
            n_kept += Vectors::keep_words(kept_words + n_kept,
                                          Vectors::load(reinterpret_cast<Ordered const*>(words + i)), bits);
        }
        return n_kept;
    }

    static std::uint64_t sort_classes(Ordered* values, std::uint32_t const* ends, std::size_t n_classes,
                                      Ordered* values_beside, std::uint64_t* sets) {
        std::uint32_t places[64 + kLanes];
        std::size_t const n = ends[n_classes - 1];
        find_places(values, n, places);
        for (std::size_t i = 0; i < n; i += kWidth)
            copy_vector(values + i, values_beside + i);
        std::size_t i = 0;
        for (std::size_t y = 0; y < n_classes; ++y) {
            std::uint64_t set = 0;
            for (; i < ends[y]; ++i) {
                values[places[i]] = values_beside[i];
                set |= std::uint64_t{1} << places[i];
            }
            sets[y] = set;
        }
        std::uint64_t repeated = 0;
        mark_repeated(values, n, &repeated);
        return repeated;
    }

    static void count_before(std::uint64_t const* sets, std::size_t n_sets, std::size_t n_words,
                             std::uint32_t* n_before) {
        for (std::size_t set = 0; set < n_sets; ++set) {
            std::uint32_t n = 0;
            for (std::size_t word = 0; word < n_words; ++word) {
                n_before[word * n_sets + set] = n;
                n += static_cast<std::uint32_t>(std::popcount(sets[set * n_words + word]));
            }
        }
    }

    static void count_up_to(std::uint64_t const* sets, std::size_t n_sets, std::size_t n_words,
                            std::uint32_t const* n_before, std::uint32_t const* places, std::size_t n,
                            std::uint32_t* counts) {
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t const word = places[i] / 64;
            for (std::size_t set = 0; set < n_sets; ++set)
                *counts++ =
                    n_before[word * n_sets + set] +
                    static_cast<std::uint32_t>(std::popcount(sets[set * n_words + word] << (63 - places[i] % 64)));
        }
    }

    // Several splits side by side, so that each processor does with them what it can. The rows are so few that squares
    // and their sums are exact in doubles.
    template <std::size_t kN>
    static void score_some(Count const* left, Count const* totals, std::size_t n_classes, double* scores) {
        double n_left[kN] = {};
        double n_right[kN] = {};
        double squares_left[kN] = {};
        double squares_right[kN] = {};
        for (std::size_t y = 0; y < n_classes; ++y)
            for (std::size_t i = 0; i < kN; ++i) {
                auto const l = static_cast<std::int32_t>(left[i * n_classes + y]);
                auto const r = static_cast<std::int32_t>(totals[y]) - l;
                n_left[i] += l;
                n_right[i] += r;
                squares_left[i] += static_cast<double>(l) * l;
                squares_right[i] += static_cast<double>(r) * r;
            }
        for (std::size_t i = 0; i < kN; ++i)
            scores[i] = -(squares_left[i] / n_left[i] + squares_right[i] / n_right[i]);
    }

    static void score_gini(Count const* left, std::size_t n, Count const* totals, std::size_t n_classes,
                           double* scores) {
        if (n_classes == 2) {
            score_two_classes(left, n, totals, scores);
            return;
        }
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8)
            score_some<8>(left + i * n_classes, totals, n_classes, scores + i);
        for (; i < n; ++i)
            score_some<1>(left + i * n_classes, totals, n_classes, scores + i);
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

    static std::size_t find_lowest(double const* scores, std::size_t n, std::uint32_t* places) {
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
        if (lowest[0] == std::numeric_limits<double>::infinity())
            return 0;
        std::size_t n_found = 0;
        auto const take = [&](std::size_t place) {
            places[n_found] = static_cast<std::uint32_t>(place);
            n_found += scores[place] == lowest[0] ? 1 : 0;
        };
        for (i = 0; i + kAtOnce <= n; i += kAtOnce) {
            int n_here = 0;
            for (std::size_t j = 0; j < kAtOnce; ++j)
                n_here |= scores[i + j] == lowest[0] ? 1 : 0;
            for (std::size_t j = 0; n_here != 0 && j < kAtOnce; ++j)  // few have any
                take(i + j);
        }
        for (; i < n; ++i)
            take(i);
        return n_found;
    }

    static constexpr Set set(char const* name) {
        return {
            .name = name,
            .to_values = to_values,
            .find_range = find_range,
            .sort = sort,
            .look_above = look_above,
            .look_below = look_below,
            .count_below = count_below,
            .count_equal = count_equal,
            .rank_values = rank_values,
            .keep_ranked = keep_ranked,
            .keep_values_ranked = keep_values_ranked,
            .find_bound = find_bound,
            .draw_arrivals = draw_arrivals,
            .mark_below = mark_below,
            .mark_equal = mark_equal,
            .mark_repeated = mark_repeated,
            .mark_bit = mark_bit,
            .divide = divide,
            .divide_words = divide_words,
            .keep_marked = keep_marked,
            .list_marked = list_marked,
            .gather_marks = gather_marks,
            .spread_marks = spread_marks,
            .find_varying = find_varying,
            .count_bit = count_bit,
            .transpose = transpose,
            .count_common = count_common,
            .keep_varying = keep_varying,
            .sort_classes = sort_classes,
            .count_before = count_before,
            .count_up_to = count_up_to,
            .score_gini = score_gini,
            .find_lowest = find_lowest,
        };
    }
};

}  // namespace
}  // namespace deciduous::kernels
