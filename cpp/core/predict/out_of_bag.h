// What the trees that a training row does not belong to predict for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/params.h"
#include "base/types.h"
#include "data/dataset.h"
#include "predict/leaf_values.h"
#include "tree/tree.h"

namespace deciduous {

// n_values for each row, in this order: the mean over such trees, as in predictions, or NaN if there is none. No tree
// has unbuilt nodes.
[[nodiscard]] std::vector<double> out_of_bag_values(std::span<Tree const> trees, Dataset const& data,
                                                    Params const& params, std::span<Slot const> rows,
                                                    LeafValues const& values, std::size_t n_values,
                                                    std::size_t n_threads);

}  // namespace deciduous
