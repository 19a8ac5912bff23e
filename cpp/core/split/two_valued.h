// Attributes that have two values or fewer on all rows, one-hot columns and categories among them: counting the rows at
// the higher value tells everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/kernels.h"
#include "split/candidates.h"
#include "split/node_rows.h"

namespace deciduous {

struct TwoValues {
    Value low;
    Value high;
};

// Whether the attribute is one, and if so puts the rows, per class, at the higher value into `at_high`.
// With one value, both are that.
[[nodiscard]] std::optional<TwoValues> count_two_valued(NodeRows const& node, Attribute attribute,
                                                        std::vector<Count>& at_high);

// Appends incomplete candidates of attributes that have two values on a node of few rows.
void append_pairs(NodeRows const& node, std::span<Attribute const> attributes, WipedVector<RowSet>& set_rows,
                  Candidates& candidates);

// Completes one, but for its rank.
void complete_pair(NodeRows const& node, Candidate& candidate, Count* left);

// Appends the candidate between two values, with so many rows per class at the higher one. `rank_of(at_low)` is what it
// notes as its rank.
template <typename RankOf>
void append_pair(Attribute attribute, TwoValues values, Count const* at_high, std::span<Count const> totals,
                 Candidates& candidates, RankOf const& rank_of) {
    Count* const left = candidates.append(attribute, values.low, values.high, 0);
    for (std::size_t y = 0; y < totals.size(); ++y)
        left[y] = totals[y] - at_high[y];
    candidates.note_last_rank(rank_of({left, totals.size()}));
}

}  // namespace deciduous
