// Scores of splits: pure functions of class counts (docs/algorithm.md, 2.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/params.h"
#include "base/types.h"

namespace deciduous {

// Integer weights of the classes, or none if they weigh the same. Being integers, they leave every sum exact.
using ClassWeights = std::span<std::uint32_t const>;

// How bad it is to put `left` of the rows counted by `totals` on the left; lower is better. Both sides have rows.
[[nodiscard]] double split_score(Criterion criterion, std::span<Count const> left, std::span<Count const> totals,
                                 ClassWeights weights);

// The scores of many splits, with the counts of each at its left behind those of the one before.
void score_splits(Criterion criterion, Count const* left, std::span<Count const> totals, ClassWeights weights,
                  std::span<double> scores);

// The Gini score without class weights; `n_classes` may be a compile-time constant.
template <typename NClasses>
[[nodiscard]] double gini_score(NClasses n_classes, Count const* left, Count const* totals) {
    // Signed, as processors turn signed integers into doubles in one step: there are fewer than 2^30 rows, and the sum
    // of the squares is not more than the square of the sum.
    std::int64_t n_left = 0;
    std::int64_t n_right = 0;
    std::int64_t squares_left = 0;
    std::int64_t squares_right = 0;
    for (std::size_t y = 0; y < n_classes; ++y) {
        std::int64_t const l = left[y];
        std::int64_t const r = totals[y] - left[y];
        n_left += l;
        n_right += r;
        squares_left += l * l;
        squares_right += r * r;
    }
    return -(static_cast<double>(squares_left) / static_cast<double>(n_left) +
             static_cast<double>(squares_right) / static_cast<double>(n_right));
}

[[nodiscard]] inline Count sum(std::span<Count const> counts) {
    Count total = 0;
    for (Count const n : counts)
        total += n;
    return total;
}

// The squared-error score of a split (docs/algorithm.md, 2.10): of n rows, whose targets have this sum, so many, with
// such a sum, are at the left. In integers that hold a sum times n: what the sides would have to exchange for equal
// means.
template <typename Integer>
[[nodiscard]] double squared_error_score(Count n, Integer sum, Count n_left, Integer left) {
    auto const excess = static_cast<double>(static_cast<Integer>(n) * left - static_cast<Integer>(n_left) * sum);
    return -((excess * excess) / (static_cast<double>(n_left) * static_cast<double>(n - n_left)));
}

// The same of many splits, by the rows and the sums of the targets at the left of each candidate.
void score_squared_errors(Count const* n_left, TargetSum const* left, std::size_t n_candidates, Count n_rows,
                          TargetSum total, double* scores);

// The chance that two rows are of the same class.
[[nodiscard]] double chance_of_same_class(std::span<Count const> counts);

// Whether at most one class has rows.
[[nodiscard]] inline bool is_pure(std::span<Count const> counts) {
    std::size_t n_present = 0;
    for (Count const n : counts)
        n_present += n > 0 ? 1 : 0;
    return n_present <= 1;
}

// The rows with the weights of their classes.
[[nodiscard]] double weighed(std::span<Count const> totals, ClassWeights weights);

inline constexpr int kLogDigits = 28;

// log2(n) in units of 2^-28, by integers only, so that every machine agrees.
[[nodiscard]] std::int64_t fixed_log2(std::uint64_t n);

}  // namespace deciduous
