// The inner loops, written once for vectors of any processor; a file for each kind of them. Each `kernels_*.cpp` says
// what a vector is there, is compiled for that processor, and makes a set of kernels of it.
//
// Everything is in a namespace without a name: the linker must never take a function that was compiled for a better
// processor where a worse one needs the same.
#pragma once

#include "base/candidate_kernels.h"
#include "base/count_kernels.h"
#include "base/kernels.h"
#include "base/mark_kernels.h"
#include "base/rank_kernels.h"
#include "base/score_kernels.h"
#include "base/sort_kernels.h"
#include "base/target_kernels.h"

namespace deciduous::kernels {
namespace {

// `Vectors` has: kWidth, how many numbers a vector holds; `Doubles` and `Words`, vectors of numbers of twice the size;
// `load`, and `load_first` for the first few with zeros behind;
// `all`, one number many times; `sum`, `difference`, `least` and `most` of two vectors; `greater` and `equal`, which
// give a mask; `first`, a mask of the first few; `both` and `either` of two masks, and one `without` the other; `bits`
// of a mask; a `Counter`, with `count` for what is in a mask, and `total`; `select` of two vectors by a mask;
// `least_where` and `most_where`, which take new numbers into account where a mask says so, and `more_where`, which
// adds one there; `keep`, which stores the numbers that some bits tell one behind the other, whatever is written behind
// them, and tells how many, and `keep_words`, the same for numbers of twice the size; `test_words`, which tells the
// words of a vector that have a bit, and `varying_words`, those that have some bits of a set, but not all of them;
// `lowest` and `highest` number of a vector; and `spread_bits` and `gather_bits`.
template <typename Vectors>
struct KernelsOf {
    static void to_values(float const* numbers, std::size_t n, Value* values) {
        for (std::size_t i = 0; i < n; ++i)
            values[i] = to_value(numbers[i]);
    }

    static constexpr Set set(char const* name) {
        return {
            .name = name,
            .to_values = to_values,
            .find_range = CountKernels<Vectors>::find_range,
            .sort = SortKernels<Vectors>::sort,
            .look_above = CountKernels<Vectors>::look_above,
            .look_below = CountKernels<Vectors>::look_below,
            .count_below = CountKernels<Vectors>::count_below,
            .count_equal = CountKernels<Vectors>::count_equal,
            .find_places_among = CountKernels<Vectors>::find_places_among,
            .rank_values = RankKernels<Vectors>::rank_values,
            .keep_ranked = RankKernels<Vectors>::keep_ranked,
            .keep_values_ranked = RankKernels<Vectors>::keep_values_ranked,
            .find_bound = RankKernels<Vectors>::find_bound,
            .draw_arrivals = RankKernels<Vectors>::draw_arrivals,
            .mark_below = MarkKernels<Vectors>::mark_below,
            .mark_equal = MarkKernels<Vectors>::mark_equal,
            .mark_repeated = MarkKernels<Vectors>::mark_repeated,
            .mark_bit = MarkKernels<Vectors>::mark_bit,
            .divide = MarkKernels<Vectors>::divide,
            .divide_words = MarkKernels<Vectors>::divide_words,
            .keep_marked = MarkKernels<Vectors>::keep_marked,
            .list_marked = MarkKernels<Vectors>::list_marked,
            .gather_marks = MarkKernels<Vectors>::gather_marks,
            .spread_marks = MarkKernels<Vectors>::spread_marks,
            .find_varying = CountKernels<Vectors>::find_varying,
            .count_bit = CountKernels<Vectors>::count_bit,
            .sum_where_bit = CountKernels<Vectors>::sum_where_bit,
            .transpose = CountKernels<Vectors>::transpose,
            .count_common = CountKernels<Vectors>::count_common,
            .keep_varying = CountKernels<Vectors>::keep_varying,
            .sample_word = CandidateKernels<Vectors>::sample_word,
            .mark_valid = CandidateKernels<Vectors>::mark_valid,
            .count_before = CountKernels<Vectors>::count_before,
            .count_up_to = CountKernels<Vectors>::count_up_to,
            .score_gini = ScoreKernels<Vectors>::score_gini,
            .find_best_sets = TargetKernels<Vectors>::find_best_sets,
            .find_lowest = ScoreKernels<Vectors>::find_lowest,
        };
    }
};

}  // namespace
}  // namespace deciduous::kernels
