// The record of an attribute that has two values on a node: whatever the candidates, they all part the rows in the same
// way.
#pragma once

#include <span>

#include "candidates.h"
#include "table.h"

namespace deciduous {

inline void append_pair(Attribute attribute, TwoValued values, std::span<Count const> at_high,
                        WipedVector<Word>& records) {
    records.push_back(record_tag(RecordKind::pair, attribute));
    records.push_back(static_cast<Word>(kPairHeader + at_high.size()));
    records.push_back(values.low);
    records.push_back(values.high);
    records.insert(records.end(), at_high.begin(), at_high.end());
}

[[nodiscard]] inline TwoValued pair_values(Word const* record) {
    return {record[2], record[3]};
}

// Whether the attribute still has two values.
template <typename NClasses>
[[nodiscard]] bool update_pair(NClasses n_classes, Word* record, Count const* totals, Dataset const& data,
                               Changes const& changes) {
    Attribute const attribute = record_attribute(record);
    auto const [low, high] = pair_values(record);
    Count* const at_high = record + kPairHeader;
    for (ChangedRow const& row : changes.removed)
        if (row.value(data, attribute) == high)
            at_high[row.vote.label] -= row.vote.weight;
    for (ChangedRow const& row : changes.added) {
        Value const value = row.value(data, attribute);
        if (value == high)
            at_high[row.vote.label] += row.vote.weight;
        else if (value != low)
            return false;
    }
    bool has_low = false;
    bool has_high = false;
    for (std::size_t y = 0; y < n_classes; ++y) {
        has_low |= at_high[y] < totals[y];
        has_high |= at_high[y] > 0;
    }
    return has_low && has_high;
}

// Offers the split between the two values.
template <typename NClasses, typename RankOf, typename ThresholdOf>
void offer_pair(NClasses n_classes, Attribute attribute, Count const* at_high, BestSplit& best, Workspace& work,
                RankOf const& rank_of, ThresholdOf const& threshold_of) {
    work.left.resize(n_classes);
    for (std::size_t y = 0; y < n_classes; ++y)
        work.left[y] = best.scoring().totals[y] - at_high[y];
    best.offer(n_classes, attribute, work.left.data(), rank_of, threshold_of);
}

}  // namespace deciduous
