// Which trees a row belongs to (docs/algorithm.md, 2.3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/kernels.h"
#include "base/params.h"
#include "base/types.h"

namespace deciduous {

class Occupancy {
public:
    explicit Occupancy(Params const& params)
        : params_(params),
          numbers_(params.n_trees + kernels::kLanes),
          near_(params.n_trees + kernels::kLanes),
          ranks_(params.n_trees + kernels::kLanes),
          near_beside_(near_.size()),
          ranks_beside_(ranks_.size()) {
        std::iota(numbers_.begin(), numbers_.end(), 0U);
        // Ranks are uniform: so many are likely to be enough.
        double const n_wanted = params.trees_per_row;
        double const share = (n_wanted + 4 * std::sqrt(n_wanted) + 4) / params.n_trees;
        guess_ = share < 0.5 ? to_ordered(static_cast<Rank>(share * 0x1p32)) : kHighest;
    }

    // The trees of a row, until the next call.
    [[nodiscard]] std::span<std::uint32_t const> trees_of(RowId id) {
        Key const row = hash(params_.seed, kOccupancy, static_cast<std::uint64_t>(id));
        std::size_t n_near = take_up_to(guess_, row);
        if (n_near < params_.trees_per_row)
            n_near = take_up_to(kHighest, row);
        kernels::chosen->sort(ranks_.data(), near_.data(), n_near, ranks_beside_.data(), near_beside_.data());
        return std::span(near_).first(params_.trees_per_row);
    }

private:
    // Those trees whose ranks are not higher; how many they are.
    std::size_t take_up_to(Ordered bound, Key row) {
        return kernels::chosen->keep_ranked(numbers_.data(), params_.n_trees, row, std::numeric_limits<Ordered>::min(),
                                            bound, near_.data(), ranks_.data());
    }

    static constexpr Ordered kHighest = std::numeric_limits<Ordered>::max();

    Params const& params_;
    std::vector<std::uint32_t> numbers_;
    std::vector<std::uint32_t> near_;
    std::vector<Ordered> ranks_;
    std::vector<std::uint32_t> near_beside_;
    std::vector<Ordered> ranks_beside_;
    Ordered guess_;
};

}  // namespace deciduous
