// Ranks of candidates: which of them are sampled, and who wins a tie (docs/algorithm.md, 2.5).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/kernels.h"
#include "base/types.h"

namespace deciduous {

// A bound that nothing is beyond.
inline constexpr Rank kEverything = ~Rank{0};

inline constexpr Label kNoClass = ~Label{0};

// The class that most rows of a node are of, or kNoClass if too many are of others.
[[nodiscard]] Label dominant_class(Key node, std::span<Count const> totals);

// Whether a value is marked: whether some rows there are of another class than the dominant one. `is_present(y)` tells
// whether class y has rows there.
template <typename NClasses, typename IsPresent>
[[nodiscard]] bool is_marked(Label dominant, NClasses n_classes, IsPresent const& is_present) {
    bool has_others = false;
    for (std::size_t y = 0; y < n_classes; ++y)
        has_others |= y != dominant && is_present(y);
    return has_others;
}
[[nodiscard]] inline bool is_marked(Label dominant, std::span<Count const> at) {
    return is_marked(dominant, at.size(), [&](std::size_t y) { return at[y] != 0; });
}

// What the ranks of all candidates of a node are worked out with.
struct CandidateKeys {
    explicit CandidateKeys(Key node) : above(hash(node, kCandidate)), below(hash(node, kCandidateBelow)) {}
    Key above;
    Key below;
};

// The ranks of an attribute's candidates on a node: a candidate between two values has the rank of the cut above the
// lower one if that value is *marked*, else of the cut below the higher one. A value is marked if it has rows of
// another class than the dominant one; without such a class, every value is.
class Ranks {
public:
    Ranks(CandidateKeys const& node, Attribute attribute, Label dominant)
        : above_(hash(node.above, attribute)), below_(hash(node.below, attribute)), dominant_(dominant) {}

    [[nodiscard]] bool are_all_marked() const { return dominant_ == kNoClass; }
    [[nodiscard]] Label dominant() const { return dominant_; }

    // Whether a value is marked; `is_present(y)` tells whether class y has rows there.
    template <typename NClasses, typename IsPresent>
    [[nodiscard]] bool is_marked(NClasses n_classes, IsPresent const& is_present) const {
        return deciduous::is_marked(dominant_, n_classes, is_present);
    }

    [[nodiscard]] Rank above(Value value) const { return rank(above_, float_bits(value)); }
    [[nodiscard]] Rank below(Value value) const { return rank(below_, float_bits(value)); }
    [[nodiscard]] Rank between(bool is_lower_marked, Value lower, Value higher) const {
        return is_lower_marked ? above(lower) : below(higher);
    }

    // What ranks of cuts above values, or below them, are worked out with.
    [[nodiscard]] Key key(bool is_above) const { return is_above ? above_ : below_; }

    // The ranks of many values, as to_ordered has them.
    void find_above(Ordered const* values, std::size_t n, Ordered* ranks) const {
        kernels::chosen->rank_values(values, n, above_, ranks);
    }
    void find_below(Ordered const* values, std::size_t n, Ordered* ranks) const {
        kernels::chosen->rank_values(values, n, below_, ranks);
    }

private:
    Key above_;
    Key below_;
    Label dominant_;
};

// A rank that as many of these (as to_ordered has them) as are wanted are at or below, or kEverything if there are not
// more, or all are wanted. More of them if several have the rank of the last one.
[[nodiscard]] Rank last_wanted(std::span<Ordered const> ranks, std::size_t n_wanted);

}  // namespace deciduous
