// The record of an attribute that has two values on a node: whatever the candidates, they all part the rows in the same
// way.
//
// Words: head · lower value · higher value · rows per class at the higher one · where candidates need it, the sum of
// the targets at the lower one.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "base/wiped.h"
#include "data/changes.h"
#include "split/scan.h"
#include "stats/record.h"

namespace deciduous {

class PairRecord {
public:
    explicit PairRecord(Word const* record) : words_(record) {}

    [[nodiscard]] static std::size_t length(std::size_t n_classes, bool has_sum) {
        return kHead + n_classes + (has_sum ? kSumWords : 0);
    }

    static void append(Attribute attribute, FoundPair const& found, bool has_sum, WipedVector<Word>& records) {
        std::size_t const begin = records.size();
        std::size_t const n_classes = found.at_high.size();
        records.resize(begin + length(n_classes, has_sum), 0);
        Word* const record = records.data() + begin;
        record[0] = record_tag(RecordKind::pair, attribute);
        record[1] = static_cast<Word>(records.size() - begin);
        record[kRecordHead] = found.values.low;
        record[kRecordHead + 1] = found.values.high;
        std::ranges::copy(found.at_high, record + kHead);
        if (has_sum)
            store_sum(record, n_classes, found.sum_at_low);
    }

    [[nodiscard]] TwoValues values() const { return {words_[kRecordHead], words_[kRecordHead + 1]}; }
    [[nodiscard]] Count const* at_high() const { return words_ + kHead; }
    [[nodiscard]] bool has_sum(std::size_t n_classes) const { return record_length(words_) > length(n_classes, false); }
    [[nodiscard]] TargetSum sum_at_low(std::size_t n_classes) const {
        TargetSum sum = 0;
        std::memcpy(&sum, words_ + kHead + n_classes, sizeof sum);
        return sum;
    }

    // Whether the attribute still has these two values.
    [[nodiscard]] static bool update(Word* record, std::span<Count const> totals, Dataset const& data,
                                     Changes const& changes) {
        Attribute const attribute = record_attribute(record);
        auto const [low, high] = PairRecord(record).values();
        Count* const at_high = record + kHead;
        TargetSum sum_change = 0;  // at the lower value
        for (ChangedRow const& row : changes.removed)
            if (row.value(data, attribute) == high)
                at_high[row.vote.label] -= row.vote.weight;
            else
                sum_change -= row.vote.weighted_target();
        for (ChangedRow const& row : changes.added) {
            Value const value = row.value(data, attribute);
            if (value == high)
                at_high[row.vote.label] += row.vote.weight;
            else if (value == low)
                sum_change += row.vote.weighted_target();
            else
                return false;
        }
        if (PairRecord const its(record); its.has_sum(totals.size()))
            store_sum(record, totals.size(), its.sum_at_low(totals.size()) + sum_change);
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
    static constexpr std::size_t kSumWords = sizeof(TargetSum) / sizeof(Word);

    static void store_sum(Word* record, std::size_t n_classes, TargetSum sum) {
        std::memcpy(record + kHead + n_classes, &sum, sizeof sum);
    }

    Word const* words_;
};

}  // namespace deciduous
