// Kernels for scores of splits (docs/algorithm.md, 2.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/kernels.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct ScoreKernels {
    // Several splits side by side, so that each processor does with them what it can. The rows are so few that squares
    // and their sums are exact in doubles.
    template <std::size_t kN>
    static void score_some(Count const* left, Count const* totals, std::size_t n_classes, double* scores) {
        double n_left[kN] = {};
        double n_right[kN] = {};
        double squares_left[kN] = {};
        double squares_right[kN] = {};
        for (std::size_t y = 0; y < n_classes; ++y)
            for (std::size_t i = 0; i < kN; ++i) {
                auto const l = static_cast<std::int32_t>(left[i * n_classes + y]);
                auto const r = static_cast<std::int32_t>(totals[y]) - l;
                n_left[i] += l;
                n_right[i] += r;
                squares_left[i] += static_cast<double>(l) * l;
                squares_right[i] += static_cast<double>(r) * r;
            }
        for (std::size_t i = 0; i < kN; ++i)
            scores[i] = -(squares_left[i] / n_left[i] + squares_right[i] / n_right[i]);
    }

    static void score_gini(Count const* left, std::size_t n, Count const* totals, std::size_t n_classes,
                           double* scores) {
        if (n_classes == 2) {
            score_two_classes(left, n, totals, scores);
            return;
        }
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8)
            score_some<8>(left + i * n_classes, totals, n_classes, scores + i);
        for (; i < n; ++i)
            score_some<1>(left + i * n_classes, totals, n_classes, scores + i);
    }

    static void score_two_classes(Count const* left, std::size_t n, Count const* totals, double* scores) {
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

    static std::size_t find_lowest(double const* scores, std::size_t n, std::uint32_t* places) {
        constexpr std::size_t kAtOnce = 8;
        double lowest[kAtOnce];
        for (double& its : lowest)
            its = std::numeric_limits<double>::infinity();
        std::size_t i = 0;
        for (; i + kAtOnce <= n; i += kAtOnce)
            for (std::size_t j = 0; j < kAtOnce; ++j)
                lowest[j] = scores[i + j] < lowest[j] ? scores[i + j] : lowest[j];
        for (; i < n; ++i)
            lowest[0] = scores[i] < lowest[0] ? scores[i] : lowest[0];
        for (double const its : lowest)
            lowest[0] = its < lowest[0] ? its : lowest[0];
        if (lowest[0] == std::numeric_limits<double>::infinity())
            return 0;
        std::size_t n_found = 0;
        auto const take = [&](std::size_t place) {
            places[n_found] = static_cast<std::uint32_t>(place);
            n_found += scores[place] == lowest[0] ? 1 : 0;
        };
        for (i = 0; i + kAtOnce <= n; i += kAtOnce) {
            int n_here = 0;
            for (std::size_t j = 0; j < kAtOnce; ++j)
                n_here |= scores[i + j] == lowest[0] ? 1 : 0;
            for (std::size_t j = 0; n_here != 0 && j < kAtOnce; ++j)  // few have any
                take(i + j);
        }
        for (; i < n; ++i)
            take(i);
        return n_found;
    }
};

}  // namespace
}  // namespace deciduous::kernels
