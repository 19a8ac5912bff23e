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

// Whether the attribute is one, and if so puts the rows, per class, at the higher value into `at_high`. With one value,
// both are that.
[[nodiscard]] std::optional<TwoValues> count_two_valued(NodeRows const& node, Attribute attribute,
                                                        std::vector<Count>& at_high);

// Appends the candidates of attributes that have two values on a node of few rows. `rank_of(values, low)` tells the
// rank of one with these values and these rows at the lower one.
template <typename RankOf>
void append_pairs(NodeRows const& node, std::span<Attribute const> attributes, WipedVector<RowSet>& low_rows,
                  Candidates& candidates, RankOf const& rank_of) {
    low_rows.resize(std::max(low_rows.size(), attributes.size()));
    Count* const left = candidates.append_many(attributes.size(), [&](std::size_t i, Candidate& its) {
        auto const held = *node.data.values_of_bits(attributes[i]);
        RowSet const is_set = node.small->column(attributes[i]) & node.set;
        bool const is_set_lower = held.set < held.clear;
        low_rows[i] = is_set_lower ? is_set : node.set & ~is_set;
        its.attribute = attributes[i];
        its.value = is_set_lower ? held.set : held.clear;
        its.next = is_set_lower ? held.clear : held.set;
        its.rank = rank_of(TwoValues{its.value, its.next}, low_rows[i]);
    });
    kernels::chosen->count_common(low_rows.data(), attributes.size(), node.small->classes().data(), node.n_classes(),
                                  left);
}

// Appends the candidate between two values, with so many rows per class at the higher one.
inline void append_pair(Attribute attribute, TwoValues values, Count const* at_high, std::span<Count const> totals,
                        Rank rank, Candidates& candidates) {
    Count* const left = candidates.append(attribute, values.low, values.high, rank);
    for (std::size_t y = 0; y < totals.size(); ++y)
        left[y] = totals[y] - at_high[y];
}

}  // namespace deciduous
