// What makes splits stable: scores of the candidates of large nodes get a noise that is a hash of their names, so that
// near ties are not turned by a row that comes or goes (docs/algorithm.md, 2.7).
#pragma once

#include <span>

#include "base/hash.h"
#include "base/params.h"
#include "base/types.h"
#include "split/impurity.h"

namespace deciduous {

// Smaller nodes have no noise: growing their children again takes little.
inline constexpr Count kMinStableRows = 1000;

[[nodiscard]] inline bool may_be_noisy(std::span<Count const> totals) {
    return sum(totals) >= kMinStableRows;
}

class Noise {
public:
    // Of a greedy node with so many rows per class.
    Noise(Params const& params, Key node, std::span<Count const> totals, ClassWeights weights);

    [[nodiscard]] bool is_silent() const { return scale_ == 0; }

    // What the score of a candidate of this rank gets: less for a better one.
    [[nodiscard]] double of(Attribute attribute, Rank rank) const;

private:
    Key key_;
    double scale_ = 0;
};

}  // namespace deciduous
