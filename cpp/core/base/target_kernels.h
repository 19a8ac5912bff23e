// Kernels for nodes of few rows in a regression forest (docs/algorithm.md, 2.10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/kernels.h"
#include "base/score_kernels.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct TargetKernels {
    using Doubles = typename Vectors::Doubles;
    using Words = typename Vectors::Words;
    static constexpr std::size_t kWidth = sizeof(Doubles) / sizeof(double);

    static Doubles all(double number) { return Doubles{} + number; }

    // Scores of splits that leave so many rows, and such sums of targets, on one side, whichever it is; infinite if too
    // few are on either.
    static Doubles scores(TargetsOfFew const& node, Doubles n_on_side, Doubles sum) {
        Doubles const n_others = node.n - n_on_side;
        Doubles const excess = node.n * sum - n_on_side * node.sum;
        Doubles const least = all(node.min_on_side);
        auto const is_admissible = (n_on_side >= least) & (n_others >= least);
        return is_admissible ? -((excess * excess) / (n_on_side * n_others))
                             : all(std::numeric_limits<double>::infinity());
    }

    static std::size_t find_best_sets(std::uint64_t const* sets, std::size_t n_sets, std::uint64_t rows,
                                      TargetsOfFew const& node, double* its_scores, std::uint32_t* places) {
        for (std::size_t begin = 0; begin < n_sets; begin += kWidth) {
            Words its_sets;
            std::memcpy(&its_sets, sets + begin, sizeof its_sets);
            Doubles n_set{};
            Doubles sum{};
            double const* target = node.targets;
            for (std::uint64_t rest = rows; rest != 0; rest &= rest - 1, ++target) {
                auto const is_set = (its_sets & (rest & -rest)) != 0;
                n_set = is_set ? n_set + 1.0 : n_set;
                sum = is_set ? sum + *target : sum;
            }
            Doubles const found = scores(node, n_set, sum);
            std::memcpy(its_scores + begin, &found, sizeof found);
        }
        return ScoreKernels<Vectors>::find_lowest(its_scores, n_sets, places);
    }
};

}  // namespace
}  // namespace deciduous::kernels
