// Kernels that sort: few numbers by counting for each how many come before it, many by parting them again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/mark_kernels.h"
#include "base/vector_loops.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct SortKernels {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;
    using Loops = VectorLoops<Vectors>;

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
            Loops::copy_vector(values + i, values_beside + i);
            Loops::copy_vector(reinterpret_cast<Ordered*>(labels + i), reinterpret_cast<Ordered*>(labels_beside + i));
        }
        find_places(values_beside, n, places);
        for (std::size_t i = 0; i < n; ++i) {
            values[places[i]] = values_beside[i];
            labels[places[i]] = labels_beside[i];
        }
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
        Loops::copy(values_beside, n_high, values + n_low);
        Loops::copy(reinterpret_cast<Ordered*>(labels_beside), n_high, reinterpret_cast<Ordered*>(labels + n_low));
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

    // Sorts values of up to 64 rows, class after class. The sets are the places of each class among the sorted ones.
    // Marks values that are repeated.
    static std::uint64_t sort_classes(Ordered* values, std::uint32_t const* ends, std::size_t n_classes,
                                      Ordered* values_beside, std::uint64_t* sets) {
        std::uint32_t places[64 + kLanes];
        std::size_t const n = ends[n_classes - 1];
        find_places(values, n, places);
        for (std::size_t i = 0; i < n; i += kWidth)
            Loops::copy_vector(values + i, values_beside + i);
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
        MarkKernels<Vectors>::mark_repeated(values, n, &repeated);
        return repeated;
    }
};

}  // namespace
}  // namespace deciduous::kernels
