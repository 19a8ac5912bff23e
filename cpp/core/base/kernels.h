// The inner loops that most of the time goes into: simple enough for compilers to do many steps at a time, and compiled
// for several processors, of which the program takes the best that the machine has. Integers, and doubles without any
// rounding but that of the definition, so all of them give the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/types.h"

namespace deciduous::kernels {

// So many numbers are compared with all others at a time. Each has its own sums, so nothing is ever added up across.
inline constexpr std::size_t kLanes = 8;

[[nodiscard]] constexpr std::size_t whole_vectors(std::size_t n) {
    return (n + kLanes - 1) / kLanes * kLanes;
}

// The values of these numbers.
void to_values(float const* numbers, std::size_t n, Value* values);

struct Range {
    Ordered lowest;
    Ordered highest;
};
// Of at least one value.
[[nodiscard]] Range find_range(Ordered const* values, std::size_t n);

// For each of the numbers, how many of them are smaller; n is a multiple of kLanes. Quadratic, but for some dozens
// nothing is faster.
void count_smaller(Ordered const* numbers, std::size_t n, std::uint32_t* n_smaller);

// Of n values, those above each of kLanes bounds: how many there are, and the least of them, or to_ordered(kNoValue).
struct Above {
    std::uint32_t n[kLanes];
    Ordered least[kLanes];
};
void look_above(Ordered const* bounds, Ordered const* values, std::size_t n, Above& found);

// How many of the values are this one.
[[nodiscard]] std::uint32_t count_equal(Ordered value, Ordered const* values, std::size_t n);

// For each of kLanes thresholds, how many of n values are at or below it.
void count_below(Ordered const* thresholds, Ordered const* values, std::size_t n, std::uint32_t* counts);

// rank(key, float_bits(value)) of each value, as to_ordered has it.
void rank_values(Ordered const* values, std::size_t n, Key key, Ordered* ranks);

// rank(key, word) of each word, as to_ordered has it.
void rank_words(std::uint32_t const* words, std::size_t n, Key key, Ordered* ranks);

// The places of the numbers from one bound to another; how many they are. There is room for all.
[[nodiscard]] std::size_t find_within(Ordered from, Ordered to, Ordered const* numbers, std::size_t n,
                                      std::uint32_t* places);

// How many of the words have this bit set.
[[nodiscard]] std::uint64_t count_bit(std::uint64_t const* words, std::size_t n, unsigned bit);

// Of 64 words, makes bit j of word i bit i of word j.
void transpose(std::uint64_t* square);

// For each of the sets, how many bits it has in common with `bits`.
void count_common(std::uint64_t bits, std::uint64_t const* sets, std::size_t n_sets, std::uint32_t* counts);

// For each of n places, how many bits of each of the sets are at or below it: n_sets counts for each place.
void count_up_to(std::uint64_t const* sets, std::size_t n_sets, std::uint32_t const* places, std::size_t n,
                 std::uint32_t* counts);

// The Gini scores (docs/algorithm.md, 2.7) of n splits of rows of two classes, fewer than kMaxFewRows in all; `left`
// has two counts for each split.
inline constexpr Count kMaxFewRows = Count{1} << 26;  // whose squares are exact in doubles
void score_two_classes(Count const* left, std::size_t n, Count const* totals, double* scores);

}  // namespace deciduous::kernels
