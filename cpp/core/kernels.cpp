#include "kernels.h"

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
void count_bounds_below(Value const* values, std::size_t n, Value const* bounds, std::size_t n_bounds,
                        std::uint32_t* n_below) {
    constexpr std::size_t kBlock = 32;  // of values, whose sums stay in registers
    std::size_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
        std::uint32_t sums[kBlock] = {};
        for (std::size_t j = 0; j < n_bounds; ++j) {
            std::int32_t const bound = as_signed(bounds[j]);
            for (std::size_t k = 0; k < kBlock; ++k)
                sums[k] += bound < as_signed(values[i + k]) ? 1 : 0;
        }
        for (std::size_t k = 0; k < kBlock; ++k)
            n_below[i + k] = sums[k];
    }
    for (; i < n; ++i) {
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < n_bounds; ++j)
            sum += as_signed(bounds[j]) < as_signed(values[i]) ? 1 : 0;
        n_below[i] = sum;
    }
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

}  // namespace deciduous::kernels
