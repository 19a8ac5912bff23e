// Attributes that have two values or fewer on all rows, one-hot columns and categories among them: counting the rows at
// the higher value tells everything.
#pragma once

#include <optional>
#include <vector>

#include "split/candidates.h"
#include "split/node_rows.h"

namespace deciduous {

struct TwoValues {
    Value low;
    Value high;
};

// Whether the attribute is one, and if so puts the rows, per class, at the higher value into `at_high`. With one value,
// both are that.
[[nodiscard]] std::optional<TwoValues> count_two_valued(NodeRows const& node, Attribute attribute,
                                                        std::vector<Count>& at_high);

// Appends the candidate between two values, with so many rows per class at the higher one.
inline void append_pair(Attribute attribute, TwoValues values, Count const* at_high, std::span<Count const> totals,
                        Rank rank, Candidates& candidates) {
    Count* const left = candidates.append(attribute, values.low, values.high, rank);
    for (std::size_t y = 0; y < totals.size(); ++y)
        left[y] = totals[y] - at_high[y];
}

}  // namespace deciduous
