// Ranks of candidates: which of them are sampled, and who wins a tie (docs/algorithm.md, 2.5).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/kernels.h"
#include "base/types.h"

namespace deciduous {

// A bound that nothing is beyond.
inline constexpr Rank kEverything = ~Rank{0};

// The ranks of an attribute's candidates on a node.
class Ranks {
public:
    Ranks(Key node, Attribute attribute) : key_(hash(node, kCandidate, attribute)) {}

    [[nodiscard]] Rank operator()(Value value) const { return rank(key_, float_bits(value)); }

    // The ranks of many values, as to_ordered has them.
    void find(Ordered const* values, std::size_t n, Ordered* ranks) const {
        kernels::chosen->rank_values(values, n, key_, ranks);
    }

private:
    Key key_;
};

// Finds the rank of the last thing that is wanted, of those with the lowest ranks.
class LastWanted {
public:
    // Of distinct ranks, as to_ordered has them; kEverything if there are not more than are wanted, or all are.
    [[nodiscard]] Rank operator()(std::vector<Ordered>& ranks, std::size_t n_wanted);

private:
    std::vector<std::uint32_t> n_smaller_;
};

}  // namespace deciduous
