// Scores of splits: pure functions of class counts (docs/algorithm.md, 2.7).
#pragma once

#include <cstdint>
#include <span>

#include "params.h"
#include "types.h"

namespace deciduous {

// Integer weights of the classes, or none if they weigh the same. Being integers, they leave every sum exact.
using ClassWeights = std::span<std::uint32_t const>;

// How bad it is to put `left` of the rows counted by `totals` on the left; lower is better. Both sides have rows.
[[nodiscard]] double split_score(Criterion criterion, std::span<Count const> left, std::span<Count const> totals,
                                 ClassWeights weights);

[[nodiscard]] Count sum(std::span<Count const> counts);

// Whether at most one class has rows.
[[nodiscard]] bool is_pure(std::span<Count const> counts);

// log2(n) in units of 2^-28, by integers only, so that every machine agrees.
[[nodiscard]] std::int64_t fixed_log2(std::uint64_t n);

}  // namespace deciduous
