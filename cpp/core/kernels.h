// The inner loops that most of the time goes into: simple enough for compilers to do many steps at a time, and compiled
// for several processors, of which the program takes the best that the machine has. Integers only, so all of them give
// the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace deciduous::kernels {

// For each of the values, how many of them are smaller. Quadratic, but for some hundred values nothing is faster.
void count_smaller(Value const* values, std::size_t n, std::uint32_t* n_smaller);

// For each of the values, how many of the bounds are smaller.
void count_bounds_below(Value const* values, std::size_t n, Value const* bounds, std::size_t n_bounds,
                        std::uint32_t* n_below);

// hash(key, float_bits(value)) of each value.
void hash_values(Value const* values, std::size_t n, Key key, std::uint64_t* hashes);

// hash(key, word) of each word.
void hash_words(std::uint32_t const* words, std::size_t n, Key key, std::uint64_t* hashes);

// How many of the words have this bit set, and of those how many have the last bit of `labels` set.
struct BitCounts {
    std::uint64_t n_set;
    std::uint64_t n_set_of_1;
};
[[nodiscard]] BitCounts count_bit(std::uint64_t const* words, std::uint32_t const* labels, std::size_t n, unsigned bit);

}  // namespace deciduous::kernels
