// Quantiles of the targets that rows find in the leaves where they arrive (docs/algorithm.md, 2.10).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/types.h"
#include "data/dataset.h"
#include "tree/tree.h"

namespace deciduous {

// For each row, those of the targets around it, in fixed point. The trees have rows, and none of their nodes that the
// rows reach is unbuilt.
[[nodiscard]] std::vector<double> quantiles_of_rows(std::span<Tree const* const> trees, Dataset const& data,
                                                    Matrix const& rows, std::span<double const> shares,
                                                    std::size_t n_threads, Progress const& progress = {});

}  // namespace deciduous
