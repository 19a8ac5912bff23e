// What a leaf predicts (docs/algorithm.md, 2.8): the shares of its classes, or the mean of its targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "data/dataset.h"
#include "tree/tree.h"

namespace deciduous {

// The sum of the targets of some rows, by weight.
[[nodiscard]] inline TargetSum sum_of_targets(Dataset const& data, std::span<Slot const> slots) {
    TargetSum sum = 0;
    for (Slot const slot : slots)
        sum += static_cast<TargetSum>(data.vote(slot).weight) * data.targets()[slot];
    return sum;
}

// The mean of the targets of so many rows, by weight.
[[nodiscard]] inline double mean_of(TargetSum sum, Count n) {
    return static_cast<double>(sum) / static_cast<double>(n);
}

// Adds the shares of the classes. Without weights, all classes weigh the same.
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

class LeafValues {
public:
    LeafValues(Dataset const& data, std::span<std::uint32_t const> class_weights)
        : data_(&data), class_weights_(class_weights) {}

    [[nodiscard]] bool are_means() const { return data_->has_targets(); }

    // Adds those of a leaf with rows.
    void add(Tree const& tree, Node const& leaf, double* values) const {
        auto const counts = tree.counts(leaf);
        if (are_means())
            values[0] += mean_of(sum_of_targets(*data_, tree.rows(leaf)), counts[0]);
        else
            add_leaf_shares(counts, class_weights_, values);
    }

private:
    Dataset const* data_;
    std::span<std::uint32_t const> class_weights_;
};

}  // namespace deciduous
