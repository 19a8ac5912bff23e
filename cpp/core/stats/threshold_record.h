// The record of an attribute with uniform thresholds. They change only with the range of the numbers.
//
// Words: head · number of thresholds · lowest and highest number · rows at them · rows without a number · thresholds,
// ascending. A threshold is: its value · its rank · rows per class above the previous threshold and at or below this
// one.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/wiped.h"
#include "data/changes.h"
#include "split/candidates.h"
#include "split/scan.h"
#include "stats/record.h"

namespace deciduous {

template <typename NClasses>
class ThresholdRecord {
public:
    ThresholdRecord(NClasses n_classes, Word* record) : n_classes_(n_classes), words_(record) {}

    [[nodiscard]] static std::size_t length(NClasses n_classes, std::size_t n_thresholds) {
        return kHead + n_thresholds * (2 + n_classes);
    }

    // Writes what was found into a record of this size.
    void write(FoundThresholds const& found) const {
        words_[kSize] = static_cast<Word>(found.size());
        words_[kLowest] = found.lowest;
        words_[kHighest] = found.highest;
        words_[kAtLowest] = found.n_lowest;
        words_[kAtHighest] = found.n_highest;
        words_[kAtMissing] = found.n_missing;
        for (std::size_t i = 0; i < found.size(); ++i) {
            at(i)[0] = found.threshold(i);
            at(i)[1] = found.rank(i);
            for (std::size_t y = 0; y < n_classes_; ++y)
                bucket(i)[y] = found.left(i)[y] - (i == 0 ? 0 : found.left(i - 1)[y]);
        }
    }

    // Whether the range is what it was.
    [[nodiscard]] bool update(Dataset const& data, Changes const& changes) const {
        Attribute const attribute = record_attribute(words_);
        bool const had_missing = words_[kAtMissing] > 0;
        for (ChangedRow const& row : changes.removed)
            remove(row.value(data, attribute), row.vote);
        for (ChangedRow const& row : changes.added)
            if (!add(row.value(data, attribute), row.vote))
                return false;
        bool const has_missing = words_[kAtMissing] > 0;
        bool const is_constant = words_[kLowest] == words_[kHighest] && !has_missing;
        return words_[kAtLowest] > 0 && words_[kAtHighest] > 0 && had_missing == has_missing && !is_constant;
    }

    // Appends the candidates.
    void offer(Candidates& candidates) const {
        for (std::size_t i = 0; i < words_[kSize]; ++i) {
            Count* const left = candidates.append(record_attribute(words_), at(i)[0], kNoValue, at(i)[1]);
            std::copy_n(bucket(i), std::size_t{n_classes_}, left);
            if (i > 0)  // what was appended before stands before it
                for (std::size_t y = 0; y < n_classes_; ++y)
                    left[y] += (left - n_classes_)[y];
        }
    }

private:
    enum Place : std::size_t {
        kSize = kRecordHead,
        kLowest,
        kHighest,
        kAtLowest,
        kAtHighest,
        kAtMissing,
        kHead,
    };

    [[nodiscard]] Word* at(std::size_t i) const { return words_ + kHead + i * (2 + n_classes_); }
    [[nodiscard]] Count* bucket(std::size_t i) const { return at(i) + 2; }

    void remove(Value value, WeightedLabel vote) const {
        words_[kAtMissing] -= value == kMissing ? 1 : 0;
        words_[kAtLowest] -= value == words_[kLowest] ? 1 : 0;
        words_[kAtHighest] -= value == words_[kHighest] ? 1 : 0;
        if (std::size_t const i = first_from(value); i < words_[kSize])
            bucket(i)[vote.label] -= vote.weight;
    }

    // False if the value widens the range.
    [[nodiscard]] bool add(Value value, WeightedLabel vote) const {
        if (value != kMissing && (value < words_[kLowest] || value > words_[kHighest]))
            return false;
        words_[kAtMissing] += value == kMissing ? 1 : 0;
        words_[kAtLowest] += value == words_[kLowest] ? 1 : 0;
        words_[kAtHighest] += value == words_[kHighest] ? 1 : 0;
        if (std::size_t const i = first_from(value); i < words_[kSize])
            bucket(i)[vote.label] += vote.weight;
        return true;
    }

    // The first threshold that is not below the value.
    [[nodiscard]] std::size_t first_from(Value value) const {
        std::size_t begin = 0;
        for (std::size_t n = words_[kSize]; n > 0;) {
            std::size_t const half = (n + 1) / 2;
            begin += at(begin + half - 1)[0] < value ? half : 0;
            n -= half;
        }
        return begin;
    }

    NClasses n_classes_;
    Word* words_;
};

}  // namespace deciduous
