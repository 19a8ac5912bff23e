// Things in ascending order of their ranks, as far as they are asked for: ranks are hashes, so the first few of many
// are found without sorting all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/types.h"

namespace deciduous {

class RankOrder {
public:
    // Takes things of these ranks (as to_ordered has them), of which about n_wanted will be asked for. The ranks must
    // stay.
    void start(std::span<Ordered const> ranks, double n_wanted);

    static constexpr std::size_t kNone = ~std::size_t{0};

    // The place of the next one among the ranks, or kNone. Of several with one rank, one comes.
    [[nodiscard]] std::size_t next() {
        while (place_ == n_sorted_)
            if (!take_more())
                return kNone;
        std::uint32_t const its = sorted_[place_];
        std::size_t const begin = place_++;
        while (place_ < n_sorted_ && sorted_[place_] == kHole)
            ++place_;
        n_alike_ = place_ - begin;
        return its;
    }

    // The same if its rank is not above the bound, else kNone and nothing has come.
    [[nodiscard]] std::size_t next_within(Rank bound) {
        while (place_ == n_sorted_)
            if (bound_ > std::int64_t{to_ordered(bound)} || !take_more())
                return kNone;
        return ranks_[sorted_[place_]] > to_ordered(bound) ? kNone : next();
    }

    // How many have the rank of the last one that came.
    [[nodiscard]] std::size_t n_alike() const { return n_alike_; }

private:
    static constexpr std::uint32_t kHole = ~std::uint32_t{0};

    bool take_more();
    void sort_taken();

    std::span<Ordered const> ranks_;
    std::int64_t bound_ = 0;  // those below it were taken
    std::int64_t step_ = 0;   // by which it is raised
    std::vector<std::uint32_t> taken_;
    std::vector<Ordered> taken_ranks_;
    std::vector<std::uint32_t> n_smaller_;
    std::vector<std::uint32_t> sorted_;
    std::size_t n_sorted_ = 0;
    std::size_t place_ = 0;
    std::size_t n_alike_ = 0;
};

}  // namespace deciduous
