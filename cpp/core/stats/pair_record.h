// The record of an attribute that has two values on a node: whatever the candidates, they all part the rows in the same
// way.
#pragma once

#include <algorithm>
#include <span>

#include "base/wiped.h"
#include "data/changes.h"
#include "split/scan.h"
#include "stats/record.h"

namespace deciduous {

class PairRecord {
public:
    explicit PairRecord(Word const* record) : words_(record) {}

    [[nodiscard]] static std::size_t length(std::size_t n_classes) { return kHead + n_classes; }

    static void append(Attribute attribute, FoundPair const& found, WipedVector<Word>& records) {
        records.push_back(record_tag(RecordKind::pair, attribute));
        records.push_back(static_cast<Word>(length(found.at_high.size())));
        records.push_back(found.values.low);
        records.push_back(found.values.high);
        records.insert(records.end(), found.at_high.begin(), found.at_high.end());
    }

    [[nodiscard]] TwoValues values() const { return {words_[kRecordHead], words_[kRecordHead + 1]}; }
    [[nodiscard]] Count const* at_high() const { return words_ + kHead; }

    // Whether the attribute still has these two values.
    [[nodiscard]] static bool update(Word* record, std::span<Count const> totals, Dataset const& data,
                                     Changes const& changes) {
        Attribute const attribute = record_attribute(record);
        auto const [low, high] = PairRecord(record).values();
        Count* const at_high = record + kHead;
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
        for (std::size_t y = 0; y < totals.size(); ++y) {
            has_low |= at_high[y] < totals[y];
            has_high |= at_high[y] > 0;
        }
        return has_low && has_high;
    }

    [[nodiscard]] bool equals(FoundPair const& found) const {
        return values().low == found.values.low && values().high == found.values.high &&
               std::equal(found.at_high.begin(), found.at_high.end(), at_high());
    }

private:
    static constexpr std::size_t kHead = kRecordHead + 2;

    Word const* words_;
};

}  // namespace deciduous
