// Kernels for marks: bits, 64 to a word, that tell things apart.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/vector_loops.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct MarkKernels {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;
    using Loops = VectorLoops<Vectors>;

    // A mark for each of n numbers: whether `is_marked(those, i)`, asked for vectors of numbers from place i on.
    template <typename IsMarked>
    static void mark(Ordered const* numbers, std::size_t n, std::uint64_t* marks, IsMarked const& is_marked) {
        for (std::size_t begin = 0; begin < n; begin += 64) {
            std::uint64_t word = 0;
            std::size_t place = 0;
            Loops::for_each_vector(numbers + begin, n - begin < 64 ? n - begin : 64, [&](Vector those, auto mask) {
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
            auto const n_here = static_cast<std::size_t>(std::popcount(where[word]));
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
            auto const n_here = static_cast<std::size_t>(std::popcount(where[word]));
            std::uint64_t bits = n_here == 0 ? 0 : gathered[n / 64] >> shift;
            if (shift + n_here > 64)
                bits |= gathered[n / 64 + 1] << (64 - shift);
            marks[word] = Vectors::spread_bits(bits, where[word]);
            n += n_here;
        }
    }
};

}  // namespace
}  // namespace deciduous::kernels
