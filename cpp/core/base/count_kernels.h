// Kernels that count: numbers beyond, at or below others, and bits of words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/vector_loops.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct CountKernels {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;
    using Loops = VectorLoops<Vectors>;

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

    // Of n values, those beyond each of some bounds: how many there are, and the nearest of them, or `none`.
    // `Direction` tells which are beyond, and which is nearer.
    template <typename Direction>
    static void look_beyond(Ordered none, Ordered const* bounds, std::size_t n_bounds, Ordered const* values,
                            std::size_t n, std::uint32_t* n_beyond, Ordered* nearest) {
        Loops::for_each_group(n_bounds, [&]<std::size_t kN>(std::size_t begin) {
            Vector here[kN];
            Vector near[kN];
            typename Vectors::Counter counts[kN] = {};
            for (std::size_t i = 0; i < kN; ++i) {
                here[i] = Vectors::all(bounds[begin + i]);
                near[i] = Vectors::all(none);
            }
            Loops::for_each_vector(values, n, [&](Vector those, auto mask) {
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

    // For each of some numbers, how many values `compare` with it, one result in every `step` places.
    template <typename Compare>
    static void count_each(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                           std::uint32_t* results, std::size_t step, Compare const& compare) {
        Loops::for_each_group(n_wanted, [&]<std::size_t kN>(std::size_t begin) {
            Vector here[kN];
            typename Vectors::Counter counts[kN] = {};
            for (std::size_t i = 0; i < kN; ++i)
                here[i] = Vectors::all(wanted[begin + i]);
            Loops::for_each_vector(values, n, [&](Vector those, auto mask) {
                for (std::size_t i = 0; i < kN; ++i)
                    Vectors::count(Vectors::both(compare(those, here[i]), mask), counts[i]);
            });
            for (std::size_t i = 0; i < kN; ++i)
                results[(begin + i) * step] = Vectors::total(counts[i]);
        });
    }

    static void count_below(Ordered const* thresholds, std::size_t n_thresholds, Ordered const* values, std::size_t n,
                            std::uint32_t* counts, std::size_t step) {
        if (n <= 2 * kWidth) {
            count_few_below(thresholds, n_thresholds, values, n, counts, step);
            return;
        }
        count_each(thresholds, n_thresholds, values, n, counts, step,
                   [](Vector those, Vector here) { return Vectors::greater(those, here); });
        for (std::size_t i = 0; i < n_thresholds; ++i)
            counts[i * step] = static_cast<std::uint32_t>(n) - counts[i * step];
    }

    // The other way round: a vector of thresholds is compared with one value after the other.
    static void count_few_below(Ordered const* thresholds, std::size_t n_thresholds, Ordered const* values,
                                std::size_t n, std::uint32_t* counts, std::size_t step) {
        for (std::size_t begin = 0; begin < n_thresholds; begin += kWidth) {
            std::size_t const n_here = n_thresholds - begin < kWidth ? n_thresholds - begin : kWidth;
            Vector const here = Vectors::load_first(thresholds + begin, n_here);
            Vector n_above = Vectors::all(0);
            for (std::size_t i = 0; i < n; ++i)
                n_above = Vectors::more_where(Vectors::greater(Vectors::all(values[i]), here), n_above);
            std::uint32_t results[kWidth];
            std::memcpy(results, &n_above, sizeof results);
            for (std::size_t i = 0; i < n_here; ++i)
                counts[(begin + i) * step] = static_cast<std::uint32_t>(n) - results[i];
        }
    }

    static void count_equal(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                            std::uint32_t* counts) {
        count_each(wanted, n_wanted, values, n, counts, 1,
                   [](Vector those, Vector here) { return Vectors::equal(those, here); });
    }

    // Several vectors at a time, so that each bound is read once for all of them.
    static void find_places_among(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                                  std::uint32_t* places) {
        constexpr std::size_t kN = 4;
        std::size_t i = 0;
        for (; i + kN * kWidth <= n; i += kN * kWidth)
            place_vectors<kN>(bounds, n_bounds, values + i, places + i);
        for (; i < n; i += kWidth)
            place_vectors<1>(bounds, n_bounds, values + i, places + i);
    }

    template <std::size_t kN>
    static void place_vectors(Ordered const* bounds, std::size_t n_bounds, Ordered const* values,
                              std::uint32_t* places) {
        Vector those[kN];
        Vector n_below[kN];
        for (std::size_t i = 0; i < kN; ++i) {
            those[i] = Vectors::load(values + i * kWidth);
            n_below[i] = Vectors::all(0);
        }
        for (std::size_t bound = 0; bound < n_bounds; ++bound) {
            Vector const here = Vectors::all(bounds[bound]);
            for (std::size_t i = 0; i < kN; ++i)
                n_below[i] = Vectors::more_where(Vectors::greater(those[i], here), n_below[i]);
        }
        std::memcpy(places, n_below, sizeof n_below);
    }

    static std::uint64_t find_varying(std::uint64_t const* words, std::size_t n) {
        std::uint64_t varying = 0;
        for (std::size_t i = 0; i < n; ++i)
            varying |= words[i] ^ words[0];
        return varying;
    }

    static void count_bit(std::uint64_t const* words, std::uint32_t const* ends, std::size_t n_classes, unsigned bit,
                          std::uint32_t* counts) {
        for (std::size_t y = 0, begin = 0; y < n_classes; begin = ends[y++])
            counts[y] = n_with_bit(words + begin, ends[y] - begin, bit);
    }

    static std::uint32_t n_with_bit(std::uint64_t const* words, std::size_t n, unsigned bit) {
        constexpr std::size_t kN = kWidth / 2;
        std::size_t i = 0;
        if constexpr (kN < 8) {  // a few bits at a time are counted more slowly than added up
            std::uint64_t n_set = 0;
            for (; i < n; ++i)
                n_set += words[i] >> bit & 1;
            return static_cast<std::uint32_t>(n_set);
        }
        int n_set = 0;
        for (; i + kN <= n; i += kN)
            n_set += std::popcount(Vectors::test_words(words + i, std::uint64_t{1} << bit));
        std::uint32_t const rest = (1U << (n - i)) - 1;
        return static_cast<std::uint32_t>(
            n_set + std::popcount(Vectors::test_words(words + i, std::uint64_t{1} << bit) & rest));
    }

    static std::int64_t sum_where_bit(std::uint64_t const* words, std::int64_t const* numbers, std::size_t n,
                                      unsigned bit, bool is_wanted) {
        std::uint64_t const flip = is_wanted ? 0 : 1;
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += numbers[i] & -static_cast<std::int64_t>((words[i] >> bit & 1) ^ flip);
        return sum;
    }

    // Swaps the two quarters beside the diagonal of squares half, a quarter, an eighth... as wide.
    static void transpose(std::uint64_t* square) {
        if constexpr (kWidth >= 16) {
            transpose_vectors(square);
            return;
        }
        std::uint64_t low = 0x00000000FFFFFFFFU;
        for (unsigned half = 32; half != 0; half /= 2, low ^= low << half)
            for (unsigned begin = 0; begin < 64; begin += 2 * half)
                for (unsigned i = begin; i < begin + half; ++i)
                    swap_quarters(square[i], square[i + half], half, low);
    }

    template <typename Rows>
    static void swap_quarters(Rows& upper, Rows& lower, unsigned half, std::uint64_t low) {
        Rows const swapped = (upper >> half ^ lower) & low;
        upper ^= swapped << half;
        lower ^= swapped;
    }

    using Words = std::uint64_t __attribute__((vector_size(64)));

    // The same with eight rows in a vector, where processors can move them within it.
    static void transpose_vectors(std::uint64_t* square) {
        Words rows[8];
        std::memcpy(rows, square, sizeof rows);
        std::uint64_t low = 0x00000000FFFFFFFFU;
        for (unsigned apart = 4; apart != 0; apart /= 2, low ^= low << 8 * apart)
            for (unsigned i = 0; i < 8; ++i)
                if ((i & apart) == 0)
                    swap_quarters(rows[i], rows[i + apart], 8 * apart, low);
        swap_within<4>(rows, 0x0F0F0F0F0F0F0F0FU);
        swap_within<2>(rows, 0x3333333333333333U);
        swap_within<1>(rows, 0x5555555555555555U);
        std::memcpy(square, rows, sizeof rows);
    }

    template <unsigned kHalf>
    static void swap_within(Words* rows, std::uint64_t low) {
        constexpr Words kNumbers = {0, 1, 2, 3, 4, 5, 6, 7};
        Words const is_lower = (kNumbers & kHalf) != 0;  // all bits, or none
        Words const kept = low ^ is_lower;
        for (std::size_t i = 0; i < 8; ++i) {
            Words others;
            for (std::size_t row = 0; row < 8; ++row)
                others[row] = rows[i][row ^ kHalf];
            Words const moved = is_lower ? others >> kHalf : others << kHalf;
            rows[i] = (rows[i] & kept) | (moved & ~kept);
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
};

}  // namespace
}  // namespace deciduous::kernels
