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
        : params_(params), numbers_(params.n_trees), ranks_(params.n_trees), near_(params.n_trees + kernels::kLanes) {
        std::iota(numbers_.begin(), numbers_.end(), 0U);
        // Ranks are uniform: so many are likely to be enough.
        double const n_wanted = params.trees_per_row;
        double const share = (n_wanted + 4 * std::sqrt(n_wanted) + 4) / params.n_trees;
        guess_ = share < 0.5 ? to_ordered(static_cast<Rank>(share * 0x1p32)) : kHighest;
    }

    // The trees of a row, until the next call.
    [[nodiscard]] std::span<std::uint32_t const> trees_of(RowId id) {
        Key const row = hash(params_.seed, kOccupancy, static_cast<std::uint64_t>(id));
        kernels::chosen->rank_words(numbers_.data(), numbers_.size(), row, ranks_.data());
        std::size_t n_near = take_up_to(guess_);
        if (n_near < params_.trees_per_row)
            n_near = take_up_to(kHighest);
        auto const near = std::span(near_).first(n_near);
        std::ranges::nth_element(near, near.begin() + (params_.trees_per_row - 1), {},
                                 [this](std::uint32_t t) { return ranks_[t]; });
        return near.first(params_.trees_per_row);
    }

private:
    // Those trees whose ranks are not higher; how many they are.
    std::size_t take_up_to(Ordered bound) {
        return kernels::chosen->find_within(std::numeric_limits<Ordered>::min(), bound, ranks_.data(), ranks_.size(),
                                            near_.data());
    }

    static constexpr Ordered kHighest = std::numeric_limits<Ordered>::max();

    Params const& params_;
    std::vector<std::uint32_t> numbers_;
    std::vector<Ordered> ranks_;
    std::vector<std::uint32_t> near_;
    Ordered guess_;
};

}  // namespace deciduous
