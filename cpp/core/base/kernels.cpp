#include "base/kernels.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DECIDUOUS_FOR_ALL_PROCESSORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DECIDUOUS_FOR_ALL_PROCESSORS
#endif

namespace deciduous::kernels {

namespace {

// kLanes numbers that are worked on at a time. Comparisons give -1 where they hold.
using Lanes = Ordered __attribute__((vector_size(kLanes * sizeof(Ordered))));

}  // namespace

DECIDUOUS_FOR_ALL_PROCESSORS
void to_values(float const* numbers, std::size_t n, Value* values) {
    for (std::size_t i = 0; i < n; ++i)
        values[i] = to_value(numbers[i]);
}

DECIDUOUS_FOR_ALL_PROCESSORS
Range find_range(Ordered const* values, std::size_t n) {
    Ordered lowest = values[0];
    Ordered highest = values[0];
    for (std::size_t i = 0; i < n; ++i) {
        lowest = values[i] < lowest ? values[i] : lowest;
        highest = values[i] > highest ? values[i] : highest;
    }
    return {lowest, highest};
}

DECIDUOUS_FOR_ALL_PROCESSORS
void count_smaller(Ordered const* numbers, std::size_t n, std::uint32_t* n_smaller) {
    for (std::size_t i = 0; i < n; i += kLanes) {
        Lanes those;
        std::memcpy(&those, numbers + i, sizeof those);
        Lanes sums{};
        for (std::size_t j = 0; j < n; ++j)
            sums -= Lanes{} + numbers[j] < those;
        std::memcpy(n_smaller + i, &sums, sizeof sums);
    }
}

DECIDUOUS_FOR_ALL_PROCESSORS
void look_above(Ordered const* bounds, Ordered const* values, std::size_t n, Above& found) {
    Lanes here;
    std::memcpy(&here, bounds, sizeof here);
    Lanes const none = Lanes{} + to_ordered(kNoValue);
    Lanes n_above{};
    Lanes least = none;
    for (std::size_t i = 0; i < n; ++i) {
        Lanes const value = Lanes{} + values[i];
        Lanes const is_above = value > here;
        n_above -= is_above;
        Lanes const above = is_above ? value : none;
        least = above < least ? above : least;
    }
    std::memcpy(found.n, &n_above, sizeof n_above);
    std::memcpy(found.least, &least, sizeof least);
}

DECIDUOUS_FOR_ALL_PROCESSORS
std::uint32_t count_equal(Ordered value, Ordered const* values, std::size_t n) {
    std::uint32_t n_equal = 0;
    for (std::size_t i = 0; i < n; ++i)
        n_equal += values[i] == value ? 1 : 0;
    return n_equal;
}

DECIDUOUS_FOR_ALL_PROCESSORS
void count_below(Ordered const* thresholds, Ordered const* values, std::size_t n, std::uint32_t* counts) {
    Lanes here;
    std::memcpy(&here, thresholds, sizeof here);
    Lanes n_above{};
    for (std::size_t i = 0; i < n; ++i)
        n_above -= Lanes{} + values[i] > here;
    Lanes const n_below = static_cast<Ordered>(n) - n_above;
    std::memcpy(counts, &n_below, sizeof n_below);
}

DECIDUOUS_FOR_ALL_PROCESSORS
void rank_values(Ordered const* values, std::size_t n, Key key, Ordered* ranks) {
    for (std::size_t i = 0; i < n; ++i) {
        // float_bits without a branch
        auto const bits = static_cast<std::uint32_t>(values[i] ^ ((values[i] >> 31) & 0x7FFFFFFF));
        ranks[i] = to_ordered(rank(key, bits));
    }
}

DECIDUOUS_FOR_ALL_PROCESSORS
void rank_words(std::uint32_t const* words, std::size_t n, Key key, Ordered* ranks) {
    for (std::size_t i = 0; i < n; ++i)
        ranks[i] = to_ordered(rank(key, words[i]));
}

DECIDUOUS_FOR_ALL_PROCESSORS
std::size_t find_within(Ordered from, Ordered to, Ordered const* numbers, std::size_t n, std::uint32_t* places) {
    // Where few are wanted most blocks have none of them; in the others there are no branches, as their outcomes would
    // be random.
    constexpr std::size_t kBlock = 16;
    auto const width = static_cast<std::uint32_t>(to) - static_cast<std::uint32_t>(from);
    auto const is_within = [&](std::size_t i) {
        return static_cast<std::uint32_t>(numbers[i]) - static_cast<std::uint32_t>(from) <= width;
    };
    std::size_t n_found = 0;
    std::size_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
        std::uint32_t n_here = 0;
        for (std::size_t j = 0; j < kBlock; ++j)
            n_here += is_within(i + j) ? 1 : 0;
        if (n_here == 0)
            continue;
        for (std::size_t j = 0; j < kBlock; ++j) {
            places[n_found] = static_cast<std::uint32_t>(i + j);
            n_found += is_within(i + j) ? 1 : 0;
        }
    }
    for (; i < n; ++i) {
        places[n_found] = static_cast<std::uint32_t>(i);
        n_found += is_within(i) ? 1 : 0;
    }
    return n_found;
}

DECIDUOUS_FOR_ALL_PROCESSORS
std::uint64_t count_bit(std::uint64_t const* words, std::size_t n, unsigned bit) {
    std::uint64_t n_set = 0;
    for (std::size_t i = 0; i < n; ++i)
        n_set += words[i] >> bit & 1;
    return n_set;
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
void count_up_to(std::uint64_t const* sets, std::size_t n_sets, std::uint32_t const* places, std::size_t n,
                 std::uint32_t* counts) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t set = 0; set < n_sets; ++set)
            *counts++ = static_cast<std::uint32_t>(std::popcount(sets[set] << (63 - places[i])));
}

DECIDUOUS_FOR_ALL_PROCESSORS
void score_two_classes(Count const* left, std::size_t n, Count const* totals, double* scores) {
    // Signed, as processors turn many signed numbers into doubles at a time.
    auto const total_0 = static_cast<double>(static_cast<std::int32_t>(totals[0]));
    auto const total_1 = static_cast<double>(static_cast<std::int32_t>(totals[1]));
    for (std::size_t i = 0; i < n; ++i) {
        auto const left_0 = static_cast<double>(static_cast<std::int32_t>(left[2 * i]));
        auto const left_1 = static_cast<double>(static_cast<std::int32_t>(left[2 * i + 1]));
        double const right_0 = total_0 - left_0;
        double const right_1 = total_1 - left_1;
        scores[i] = -((left_0 * left_0 + left_1 * left_1) / (left_0 + left_1) +
                      (right_0 * right_0 + right_1 * right_1) / (right_0 + right_1));
    }
}

}  // namespace deciduous::kernels
