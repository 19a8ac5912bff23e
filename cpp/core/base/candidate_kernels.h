// Kernels for valid candidates (docs/algorithm.md, 2.5): which values are marked, which candidates are valid and, where
// all rows fit into a word, which are sampled.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/mark_kernels.h"
#include "base/rank_kernels.h"
#include "base/sort_kernels.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct CandidateKernels {
    struct Validity {
        std::uint64_t valid;
        std::uint64_t marked;
    };

    // Of a word of values, of which `only(y)` has those with rows of class y alone; `only_behind(y)` is the next word.
    template <typename NClasses, typename Only, typename OnlyBehind>
    static Validity find_valid(NClasses n_classes, std::uint32_t dominant, Only const& only,
                               OnlyBehind const& only_behind) {
        std::uint64_t alike = 0;  // neighbours that have the same class and no other
        for (std::size_t y = 0; y < n_classes; ++y)
            alike |= only(y) & (only(y) >> 1 | only_behind(y) << 63);
        return {~alike, dominant < n_classes ? ~only(dominant) : ~std::uint64_t{0}};
    }

    static std::uint64_t first_marks(std::size_t n) { return n >= 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << n); }

    static void mark_valid(std::uint64_t const* only, std::size_t n_classes, std::size_t n, std::uint32_t dominant,
                           std::uint64_t* valid, std::uint64_t* marked) {
        std::size_t const n_words = (n + 63) / 64;
        for (std::size_t word = 0; word < n_words; ++word) {
            auto const its = find_valid(
                n_classes, dominant, [&](std::size_t y) { return only[y * n_words + word]; },
                [&](std::size_t y) { return word + 1 < n_words ? only[y * n_words + word + 1] : 0; });
            valid[word] = its.valid & first_marks(n - 1 - 64 * word);
            marked[word] = its.marked & first_marks(n - 64 * word);
        }
    }

    static std::size_t sample_word(Ordered* values, std::uint32_t const* ends, std::size_t n_classes,
                                   ValidSample const& wanted, Ordered* values_beside, WordOfRows& found, Count* left) {
        if (n_classes == 2)
            return sample(std::integral_constant<std::size_t, 2>{}, values, ends, wanted, values_beside, found, left);
        return sample(n_classes, values, ends, wanted, values_beside, found, left);
    }

    template <typename NClasses>
    static std::size_t sample(NClasses n_classes, Ordered* values, std::uint32_t const* ends, ValidSample const& wanted,
                              Ordered* values_beside, WordOfRows& found, Count* left) {
        std::uint64_t const repeated =
            SortKernels<Vectors>::sort_classes(values, ends, n_classes, values_beside, found.sets);
        std::uint64_t const last = ~repeated & first_marks(ends[n_classes - 1]);  // row of each value
        if ((last & (last - 1)) == 0)
            return 0;
        std::uint64_t const valid = find_valid_rows(n_classes, repeated, last, wanted.dominant, found);
        std::uint64_t const sampled = sample_valid(values, valid, wanted, values_beside, found);
        std::size_t const n_sampled = MarkKernels<Vectors>::list_marked(&sampled, 1, found.places);
        for (std::size_t i = 0; i < n_sampled; ++i)
            for (std::size_t y = 0; y < n_classes; ++y)
                *left++ = static_cast<Count>(std::popcount(found.sets[y] << (63 - found.places[i])));
        return n_sampled;
    }

    // Valid candidates, and marked values, at the last rows of their values.
    template <typename NClasses>
    static std::uint64_t find_valid_rows(NClasses n_classes, std::uint64_t repeated, std::uint64_t last,
                                         std::uint32_t dominant, WordOfRows& found) {
        auto const nothing = [](std::size_t) { return std::uint64_t{0}; };
        if (repeated == 0) {
            auto const its = find_valid(n_classes, dominant, [&](std::size_t y) { return found.sets[y]; }, nothing);
            found.marked = its.marked;
            return its.valid & last & last >> 1;
        }
        for (std::size_t y = 0; y < n_classes; ++y)
            found.only[y] = Vectors::gather_bits(only_at_last(found.sets[y], repeated), last);
        auto const its = find_valid(n_classes, dominant, [&](std::size_t y) { return found.only[y]; }, nothing);
        found.marked = Vectors::spread_bits(its.marked, last);
        std::uint64_t const highest = std::bit_floor(last);
        return Vectors::spread_bits(its.valid, last) & ~highest;
    }

    // Marks the last row of each value that has rows of this set alone, and some others. Rows of other sets are carried
    // there, which a sum of marks does.
    static std::uint64_t only_at_last(std::uint64_t set, std::uint64_t repeated) {
        return ~((((~set & repeated) + repeated) ^ repeated) | ~set);
    }

    // Of valid candidates, at the last rows of their lower values, those that are sampled.
    static std::uint64_t sample_valid(Ordered const* values, std::uint64_t valid, ValidSample const& wanted,
                                      Ordered* ranks, WordOfRows& found) {
        auto const n_valid = static_cast<std::size_t>(std::popcount(valid));
        if (wanted.n_thresholds == 0 || n_valid <= wanted.n_thresholds)
            return valid;
        MarkKernels<Vectors>::list_marked(&valid, 1, found.places);
        for (std::size_t i = 0; i < n_valid; ++i) {
            std::size_t const place = found.places[i];
            bool const is_marked = (found.marked >> place & 1) != 0;
            ranks[i] = to_ordered(rank(is_marked ? wanted.above : wanted.below,
                                       RankKernels<Vectors>::bits_of(values[place + (is_marked ? 0 : 1)])));
        }
        Ordered const last = RankKernels<Vectors>::find_bound(ranks, n_valid, wanted.n_thresholds);
        std::uint64_t is_sampled = 0;
        MarkKernels<Vectors>::mark_below(last, ranks, n_valid, &is_sampled);
        return Vectors::spread_bits(is_sampled, valid);
    }
};

}  // namespace
}  // namespace deciduous::kernels
