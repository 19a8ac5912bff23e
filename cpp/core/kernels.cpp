#include "kernels.h"

#include <bit>

#include "hash.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DECIDUOUS_FOR_ALL_PROCESSORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DECIDUOUS_FOR_ALL_PROCESSORS
#endif

namespace deciduous::kernels {

namespace {

// In the order of signed numbers, which every processor compares.
constexpr std::int32_t as_signed(Value value) {
    return static_cast<std::int32_t>(value ^ kSignBit);
}

}  // namespace

DECIDUOUS_FOR_ALL_PROCESSORS
void to_values(float const* numbers, std::size_t n, Value* values) {
    for (std::size_t i = 0; i < n; ++i)
        values[i] = to_value(numbers[i]);
}

DECIDUOUS_FOR_ALL_PROCESSORS
void count_smaller(Value const* values, std::size_t n, std::uint32_t* n_smaller) {
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t const value = as_signed(values[i]);
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < n; ++j)
            sum += as_signed(values[j]) < value ? 1 : 0;
        n_smaller[i] = sum;
    }
}

DECIDUOUS_FOR_ALL_PROCESSORS
Surroundings look_around(Value value, Value const* values, std::size_t n) {
    // Distances from the value upwards: of what is below or at it they wrap around, so they are the larger ones.
    std::uint32_t const to_end = kNoValue - value;
    std::uint32_t n_below_or_at = 0;
    std::uint32_t n_at = 0;
    std::uint32_t least = to_end;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t const distance = values[i] - value - 1;
        n_below_or_at += distance >= to_end ? 1 : 0;
        n_at += values[i] == value ? 1 : 0;
        least = distance < least ? distance : least;
    }
    return {n_below_or_at, n_at, least == to_end ? kNoValue : value + 1 + least};
}

DECIDUOUS_FOR_ALL_PROCESSORS
Value find_previous(Value value, Value const* values, std::size_t n) {
    std::uint32_t least = value;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t const distance = value - values[i] - 1;
        least = distance < least ? distance : least;
    }
    return least == value ? kNoValue : value - 1 - least;
}

DECIDUOUS_FOR_ALL_PROCESSORS
std::uint32_t count_equal(Value value, Value const* values, std::size_t n) {
    std::uint32_t n_equal = 0;
    for (std::size_t i = 0; i < n; ++i)
        n_equal += values[i] == value ? 1 : 0;
    return n_equal;
}

DECIDUOUS_FOR_ALL_PROCESSORS
void hash_values(Value const* values, std::size_t n, Key key, std::uint64_t* hashes) {
    for (std::size_t i = 0; i < n; ++i) {
        // float_bits without a branch
        std::uint32_t const is_negative = (values[i] >> 31) - 1;  // all ones for negative numbers
        std::uint32_t const bits = values[i] ^ (is_negative | kSignBit);
        hashes[i] = hash(key, bits);
    }
}

DECIDUOUS_FOR_ALL_PROCESSORS
void hash_words(std::uint32_t const* words, std::size_t n, Key key, std::uint64_t* hashes) {
    for (std::size_t i = 0; i < n; ++i)
        hashes[i] = hash(key, words[i]);
}

DECIDUOUS_FOR_ALL_PROCESSORS
BitCounts count_bit(std::uint64_t const* words, std::uint32_t const* labels, std::size_t n, unsigned bit) {
    std::uint64_t n_set = 0;
    std::uint64_t n_set_of_1 = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t const is_set = words[i] >> bit & 1;
        n_set += is_set;
        n_set_of_1 += is_set & labels[i];
    }
    return {n_set, n_set_of_1};
}

DECIDUOUS_FOR_ALL_PROCESSORS
void transpose(std::uint64_t* square) {
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

DECIDUOUS_FOR_ALL_PROCESSORS
void count_common(std::uint64_t bits, std::uint64_t const* sets, std::size_t n_sets, std::uint32_t* counts) {
    for (std::size_t i = 0; i < n_sets; ++i)
        counts[i] = static_cast<std::uint32_t>(std::popcount(bits & sets[i]));
}

DECIDUOUS_FOR_ALL_PROCESSORS
void count_smaller_64(std::uint64_t const* numbers, std::size_t n, std::uint64_t* n_smaller) {
    for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t sum = 0;
        for (std::size_t j = 0; j < n; ++j)
            sum += numbers[j] < numbers[i] ? 1 : 0;
        n_smaller[i] = sum;
    }
}

}  // namespace deciduous::kernels
