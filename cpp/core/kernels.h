// The inner loops that most of the time goes into: simple enough for compilers to do many steps at a time, and compiled
// for several processors, of which the program takes the best that the machine has. Integers only, so all of them give
// the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace deciduous::kernels {

// The values of these numbers.
void to_values(float const* numbers, std::size_t n, Value* values);

// For each of the values, how many of them are smaller. Quadratic, but for some hundred values nothing is faster.
void count_smaller(Value const* values, std::size_t n, std::uint32_t* n_smaller);

// What is at a value and around it.
struct Surroundings {
    std::uint32_t n_below_or_at;
    std::uint32_t n_at;
    Value next;  // the least value above, or kNoValue
};
[[nodiscard]] Surroundings look_around(Value value, Value const* values, std::size_t n);

// The greatest value below, or kNoValue.
[[nodiscard]] Value find_previous(Value value, Value const* values, std::size_t n);

// How many of the values are this one.
[[nodiscard]] std::uint32_t count_equal(Value value, Value const* values, std::size_t n);

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

// Of 64 words, makes bit j of word i bit i of word j.
void transpose(std::uint64_t* square);

// For each of the sets, how many bits it has in common with `bits`.
void count_common(std::uint64_t bits, std::uint64_t const* sets, std::size_t n_sets, std::uint32_t* counts);

// For each of the numbers, how many of them are smaller.
void count_smaller_64(std::uint64_t const* numbers, std::size_t n, std::uint64_t* n_smaller);

}  // namespace deciduous::kernels
