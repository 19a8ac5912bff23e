// Kernels for hashes: ranks of things, and uniform points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/hash.h"
#include "base/vector_loops.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct RankKernels {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;
    using Loops = VectorLoops<Vectors>;

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
            Loops::for_each_vector(ranks, n, [&](Vector those, auto mask) {
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
            is_outside[i] = ((point < window.low) | (point >= window.high)) ? 1 : 0;
        }
        std::size_t n = 0;
        for (std::size_t i = 0; i < kLanes; i += kWidth)
            n += Vectors::keep(arrivals + n, Vectors::load(rounded + i),
                               Vectors::bits(Vectors::equal(Vectors::load(is_outside + i), Vectors::all(0))));
        std::memset(rounded, 0, sizeof rounded);
        asm volatile("" : : "r"(rounded) : "memory");  // or the compiler leaves that out
        return n;
    }
};

}  // namespace
}  // namespace deciduous::kernels
