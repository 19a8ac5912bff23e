// What a leaf predicts (docs/algorithm.md, 2.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"

namespace deciduous {

// Adds the shares of the classes among the rows of a leaf. Without weights, all classes weigh the same.
inline void add_leaf_shares(std::span<Count const> counts, std::span<std::uint32_t const> class_weights,
                            double* shares) {
    auto const weighted = [&](std::size_t y) {
        return std::uint64_t{counts[y]} * (class_weights.empty() ? 1 : class_weights[y]);
    };
    std::uint64_t total = 0;
    for (std::size_t y = 0; y < counts.size(); ++y)
        total += weighted(y);
    for (std::size_t y = 0; y < counts.size(); ++y)
        shares[y] += static_cast<double>(weighted(y)) / static_cast<double>(total);
}

}  // namespace deciduous
