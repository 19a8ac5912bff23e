// Kernels that count: numbers beyond, at or below others, and bits of words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

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

    // For each of some numbers, how many values `compare` with it.
    template <typename Compare>
    static void count_each(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                           std::uint32_t* results, Compare const& compare) {
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
