// The inner loops that most of the time goes into, for several processors. The program takes the set for the best one
// that the machine has, or for the one that the environment variable DECIDUOUS_PROCESSOR names. Integers, and doubles
// without any rounding but that of the definition, so all sets give the same results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/types.h"

namespace deciduous::kernels {

// The most numbers that a vector holds: so many are drawn at a time, and may be read and written behind others.
inline constexpr std::size_t kLanes = 16;

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

// Which candidates of an attribute are wanted (docs/algorithm.md, 2.5): what ranks are worked out with, the dominant
// class or one that is not there, and how many are sampled, or 0 for all.
struct ValidSample {
    Key above;
    Key below;
    std::uint32_t dominant;
    std::uint32_t n_thresholds;
};

// What is found out about an attribute on the rows of a word, in the order of their values.
inline constexpr std::size_t kMaxWordClasses = 32;
struct WordOfRows {
    std::uint64_t sets[kMaxWordClasses];  // of the rows of each class
    std::uint64_t only[kMaxWordClasses];  // scratch
    std::uint64_t marked;                 // the last row of each marked value
    std::uint32_t places[64 + kLanes];    // of the last rows of lower values of sampled candidates
};

// A node of few rows in a regression forest: their targets, how many they are, the sum, and the fewest rows that a side
// of a split may have. All are whole numbers that doubles hold, and so are sums of targets times numbers of rows.
struct TargetsOfFew {
    double targets[64];
    double n;
    double sum;
    double min_on_side;
};

// What every set has.
struct Set {
    char const* name;

    // The values of these numbers.
    void (*to_values)(float const* numbers, std::size_t n, Value* values);

    // The range of at least one value.
    Range (*find_range)(Ordered const* values, std::size_t n);

    // Sorts values, among which the lowest integer is once at most, with a label for each. There is room for kLanes
    // more behind them, and as much beside.
    void (*sort)(Ordered* values, std::uint32_t* labels, std::size_t n, Ordered* values_beside,
                 std::uint32_t* labels_beside);

    // Of n values, those above each of some bounds: how many there are, and the least of them, or to_ordered(kNoValue).
    void (*look_above)(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                       std::uint32_t* n_above, Ordered* least);

    // Of n values, those below each of some bounds: how many there are, and the most of them, or to_ordered(kNoLower).
    void (*look_below)(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                       std::uint32_t* n_below, Ordered* most);

    // For each of some numbers, how many of n values are at or below it, one count in every `step` places, …
    void (*count_below)(Ordered const* thresholds, std::size_t n_thresholds, Ordered const* values, std::size_t n,
                        std::uint32_t* counts, std::size_t step);
    // … and how many are the same.
    void (*count_equal)(Ordered const* wanted, std::size_t n_wanted, Ordered const* values, std::size_t n,
                        std::uint32_t* counts);

    // For each of n values, how many of some bounds it is above. There is room for kLanes more, and as many are behind
    // the values.
    void (*find_places_among)(Ordered const* bounds, std::size_t n_bounds, Ordered const* values, std::size_t n,
                              std::uint32_t* places);

    // rank(key, float_bits(value)) of each value, as to_ordered has it.
    void (*rank_values)(Ordered const* values, std::size_t n, Key key, Ordered* ranks);

    // Of n words, those whose rank(key, word), as to_ordered has it, is from one bound to another, and these ranks; how
    // many they are. There is room for kLanes more than all, and the words have kLanes more behind them.
    std::size_t (*keep_ranked)(std::uint32_t const* words, std::size_t n, Key key, Ordered from, Ordered to,
                               std::uint32_t* kept, Ordered* ranks);
    // The same for values, whose rank is that of float_bits(value), without the ranks.
    std::size_t (*keep_values_ranked)(Ordered const* values, std::size_t n, Key key, Ordered from, Ordered to,
                                      Ordered* kept);

    // A bound that as many of n ranks as are wanted, which is fewer than all, are at or below; if several are equal,
    // the least one with more.
    Ordered (*find_bound)(Ordered const* ranks, std::size_t n, std::size_t n_wanted);

    // Of the kLanes points from number `first` on of a window (docs/algorithm.md, 2.6), those in the range, rounded
    // down; how many they are. There is room for kLanes more.
    std::size_t (*draw_arrivals)(Window const& window, std::uint64_t first, Value* arrivals);

    // Marks are bits, 64 to a word. A mark for each of n numbers: whether it is at or below the threshold, …
    void (*mark_below)(Ordered threshold, Ordered const* numbers, std::size_t n, std::uint64_t* marks);
    // … whether it is this one, …
    void (*mark_equal)(Ordered wanted, Ordered const* numbers, std::size_t n, std::uint64_t* marks);
    // … whether the next one, of at least one and with kLanes more behind them, is the same; …
    void (*mark_repeated)(Ordered const* numbers, std::size_t n, std::uint64_t* marks);
    // … and for each of n words, whether it has this bit.
    void (*mark_bit)(std::uint64_t const* words, std::size_t n, unsigned bit, std::uint64_t* marks);

    // Divides things by their marks: those with a mark go left, the others right, each side in its order. There is room
    // for kLanes more than all at the right; `left` may be `things`.
    void (*divide)(std::uint64_t const* marks, std::uint32_t const* things, std::size_t n, std::uint32_t* left,
                   std::uint32_t* right);
    void (*divide_words)(std::uint64_t const* marks, std::uint64_t const* words, std::size_t n, std::uint64_t* left,
                         std::uint64_t* right);

    // The numbers that have a mark, or their places, one behind the other; how many they are. There is room for kLanes
    // more than all, and for whole words of numbers.
    std::size_t (*keep_marked)(std::uint64_t const* marks, std::size_t n_words, Ordered const* numbers, Ordered* kept);
    std::size_t (*list_marked)(std::uint64_t const* marks, std::size_t n_words, std::uint32_t* places);

    // The marks at some places, one beside the other, …
    void (*gather_marks)(std::uint64_t const* marks, std::uint64_t const* where, std::size_t n_words,
                         std::uint64_t* gathered);
    // … and the other way round. There is room for a word more than n_words beside each other.
    void (*spread_marks)(std::uint64_t const* gathered, std::uint64_t const* where, std::size_t n_words,
                         std::uint64_t* marks);

    // The bits in which some of the words differ from the first one.
    std::uint64_t (*find_varying)(std::uint64_t const* words, std::size_t n);

    // How many of the words of each class, which end where `ends` tells, have this bit set. There are kLanes more words
    // behind them.
    void (*count_bit)(std::uint64_t const* words, std::uint32_t const* ends, std::size_t n_classes, unsigned bit,
                      std::uint32_t* counts);

    // The sum of those of n numbers whose word has this bit, if it is wanted, or does not have it.
    std::int64_t (*sum_where_bit)(std::uint64_t const* words, std::int64_t const* numbers, std::size_t n, unsigned bit,
                                  bool is_wanted);

    // Of 64 words, makes bit j of word i bit i of word j.
    void (*transpose)(std::uint64_t* square);

    // For each of n words, how many bits it has in common with each of the sets: n_sets counts for each word.
    void (*count_common)(std::uint64_t const* words, std::size_t n, std::uint64_t const* sets, std::size_t n_sets,
                         std::uint32_t* counts);

    // Of n words, each with a name, those that have some bits of a set, but not all of them; how many they are. There
    // is room for kLanes more than all, and as many are behind them.
    std::size_t (*keep_varying)(std::uint64_t set, std::uint64_t const* words, std::uint32_t const* names,
                                std::size_t n, std::uint64_t* kept_words, std::uint32_t* kept_names);

    // Sorts values of up to 64 rows, class after class, each of which ends where `ends` tells, and finds the sampled
    // candidates: how many they are, none if there is one value alone, and for each of them the rows per class at or
    // below its lower value. Behind the values is room for kLanes more, and as much beside.
    std::size_t (*sample_word)(Ordered* values, std::uint32_t const* ends, std::size_t n_classes,
                               ValidSample const& wanted, Ordered* values_beside, WordOfRows& found, Count* left);

    // Of n values, by sets of those that have rows of one class alone, class after class, marks those that are valid
    // candidates together with the next one, and those that are marked values (docs/algorithm.md, 2.5).
    void (*mark_valid)(std::uint64_t const* only, std::size_t n_classes, std::size_t n, std::uint32_t dominant,
                       std::uint64_t* valid, std::uint64_t* marked);

    // Of sets of n_words words, how many bits each has before each of its words: n_sets counts for each word, …
    void (*count_before)(std::uint64_t const* sets, std::size_t n_sets, std::size_t n_words, std::uint32_t* n_before);
    // … and how many up to each of n places: n_sets counts for each place.
    void (*count_up_to)(std::uint64_t const* sets, std::size_t n_sets, std::size_t n_words,
                        std::uint32_t const* n_before, std::uint32_t const* places, std::size_t n,
                        std::uint32_t* counts);

    // The Gini scores (docs/algorithm.md, 2.7) of n splits of fewer than kMaxFewRows rows; `left` has n_classes counts
    // for each split.
    void (*score_gini)(Count const* left, std::size_t n, Count const* totals, std::size_t n_classes, double* scores);

    // Of some sets of rows of a node of few rows in a regression forest, whose rows are `rows`: those that are best to
    // part from the others, with their scores; how many they are. There is room for kLanes more than all, and as many
    // are behind them.
    std::size_t (*find_best_sets)(std::uint64_t const* sets, std::size_t n_sets, std::uint64_t rows,
                                  TargetsOfFew const& node, double* scores, std::uint32_t* places);

    // The places of the lowest of the scores; how many there are, none if all scores are infinite. There is room for
    // kLanes more than all.
    std::size_t (*find_lowest)(double const* scores, std::size_t n, std::uint32_t* places);
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
