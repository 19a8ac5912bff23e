// The inner loops that most of the time goes into, for several processors. The program takes the set for the best one
// that the machine has, or for the one that the environment variable DECIDUOUS_PROCESSOR names. Integers, and doubles
// without any rounding but that of the definition, so all sets give the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/types.h"

namespace deciduous::kernels {

// Numbers that are compared with all others come in groups of so many.
inline constexpr std::size_t kLanes = 16;

[[nodiscard]] constexpr std::size_t whole_vectors(std::size_t n) {
    return (n + kLanes - 1) / kLanes * kLanes;
}

struct Range {
    Ordered lowest;
    Ordered highest;
};

// Where uniform points are drawn, and the range that they must be in.
struct Window {
    Key key;
    double begin;
    double width;
    double low;
    double high;
};

inline constexpr Count kMaxFewRows = Count{1} << 26;  // whose squares are exact in doubles

// What every set has.
struct Set {
    char const* name;

    // The values of these numbers.
    void (*to_values)(float const* numbers, std::size_t n, Value* values);

    // The range of at least one value.
    Range (*find_range)(Ordered const* values, std::size_t n);

    // For each of the numbers, how many of them are smaller; n is a multiple of kLanes. Quadratic, but for some dozens
    // nothing is faster.
    void (*count_smaller)(Ordered const* numbers, std::size_t n, std::uint32_t* n_smaller);

    // Of n values, those above each of some bounds: how many there are, and the least of them, or to_ordered(kNoValue).
    void (*look_above)(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                       std::uint32_t* n_above, Ordered* least);

    // Of n values, those below each of some bounds: how many there are, and the most of them, or to_ordered(kNoLower).
    void (*look_below)(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                       std::uint32_t* n_below, Ordered* most);

    // For each of some numbers, how many of n values are at or below it, …
    void (*count_below)(Ordered const* thresholds, std::size_t n_thresholds, Ordered const* values, std::size_t n,
                        std::uint32_t* counts);
    // … and how many are the same.
    void (*count_equal)(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                        std::uint32_t* counts);

    // rank(key, float_bits(value)) of each value, and rank(key, word) of each word, as to_ordered has them.
    void (*rank_values)(Ordered const* values, std::size_t n, Key key, Ordered* ranks);
    void (*rank_words)(std::uint32_t const* words, std::size_t n, Key key, Ordered* ranks);

    // Of the kLanes points from number `first` on of a window (docs/algorithm.md, 2.6), those in the range, rounded
    // down; how many they are. There is room for kLanes more.
    std::size_t (*draw_arrivals)(Window const& window, std::uint64_t first, Value* arrivals);

    // The places of the numbers from one bound to another; how many they are. There is room for kLanes more than all.
    std::size_t (*find_within)(Ordered from, Ordered to, Ordered const* numbers, std::size_t n, std::uint32_t* places);

    // A bit for each of n numbers, 64 to a word: whether it is at or below the threshold, …
    void (*mark_below)(Ordered threshold, Ordered const* numbers, std::size_t n, std::uint64_t* marks);
    // … and for each of n words, whether it has this bit.
    void (*mark_bit)(std::uint64_t const* words, std::size_t n, unsigned bit, std::uint64_t* marks);

    // Divides things by their marks: those with a mark go left, the others right, each side in its order. There is room
    // for kLanes more than all at the right; `left` may be `things`.
    void (*divide)(std::uint64_t const* marks, std::uint32_t const* things, std::size_t n, std::uint32_t* left,
                   std::uint32_t* right);
    void (*divide_words)(std::uint64_t const* marks, std::uint64_t const* words, std::size_t n, std::uint64_t* left,
                         std::uint64_t* right);

    // Of 64 numbers, those whose bit is set, one behind the other; how many they are. There is room for kLanes more.
    std::size_t (*keep_set)(Ordered const* numbers, std::uint64_t bits, Ordered* kept);

    // A bit for each of n numbers, 64 at the most: whether the next one is the same. There are kLanes more behind them.
    std::uint64_t (*mark_repeated)(Ordered const* numbers, std::size_t n);

    // The bits that are set, as many as there are from the lowest on, moved to where `where` has its bits, …
    std::uint64_t (*spread_bits)(std::uint64_t bits, std::uint64_t where);
    // … and the other way round: the bits at these places, one beside the other.
    std::uint64_t (*gather_bits)(std::uint64_t bits, std::uint64_t where);

    // The bits in which some of the words differ from the first one.
    std::uint64_t (*find_varying)(std::uint64_t const* words, std::size_t n);

    // How many of the words have this bit set.
    std::uint64_t (*count_bit)(std::uint64_t const* words, std::size_t n, unsigned bit);

    // Of 64 words, makes bit j of word i bit i of word j.
    void (*transpose)(std::uint64_t* square);

    // For each of the sets, how many bits it has in common with `bits`.
    void (*count_common)(std::uint64_t bits, std::uint64_t const* sets, std::size_t n_sets, std::uint32_t* counts);

    // For each of n places, how many bits of each of the sets are at or below it: n_sets counts for each place.
    void (*count_up_to)(std::uint64_t const* sets, std::size_t n_sets, std::uint32_t const* places, std::size_t n,
                        std::uint32_t* counts);

    // The Gini scores (docs/algorithm.md, 2.7) of n splits of rows of two classes, fewer than kMaxFewRows in all;
    // `left` has two counts for each split.
    void (*score_two_classes)(Count const* left, std::size_t n, Count const* totals, double* scores);

    // The lowest of the scores, or infinity if there are none.
    double (*find_lowest)(double const* scores, std::size_t n);
};

// All sets that this machine can run, the plain one first.
struct Sets {
    Set const* sets[3];
    std::size_t n;
};
[[nodiscard]] Sets available();

// The set in use.
extern Set const* const chosen;

}  // namespace deciduous::kernels
