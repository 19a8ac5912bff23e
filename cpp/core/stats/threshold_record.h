// The record of an attribute with uniform thresholds. They change only with the range of the numbers.
//
// Words: head · number of thresholds · lowest and highest number · rows at them · rows without a number · thresholds,
// ascending · for each of them, rows per class above the previous one and at or below it: its bucket · their ranks.
// Most records are of small nodes: counts in buckets take 8, 16 or 32 bits, whatever they all fit into. Ranks take 8
// bits beside narrow counts, and 32 beside others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/wiped.h"
#include "data/changes.h"
#include "split/candidates.h"
#include "split/scan.h"
#include "stats/record.h"

namespace deciduous {

template <typename NClasses, typename NarrowCount>
class ThresholdRecord {
    using NarrowRank = std::conditional_t<sizeof(NarrowCount) == sizeof(Word), Rank, std::uint8_t>;

public:
    ThresholdRecord(NClasses n_classes, Word* record) : n_classes_(n_classes), words_(record) {}

    [[nodiscard]] static std::size_t length(NClasses n_classes, std::size_t n_thresholds) {
        std::size_t const n_bytes = n_thresholds * (n_classes * sizeof(NarrowCount) + sizeof(NarrowRank));
        return kHead + n_thresholds + (n_bytes + sizeof(Word) - 1) / sizeof(Word);
    }

    // Writes what was found into a record of this size, all words of which are 0 yet.
    void write(FoundThresholds const& found) const {
        words_[kSize] = static_cast<Word>(found.size());
        words_[kLowest] = found.lowest;
        words_[kHighest] = found.highest;
        words_[kAtLowest] = found.n_lowest;
        words_[kAtHighest] = found.n_highest;
        words_[kAtMissing] = found.n_missing;
        for (std::size_t i = 0; i < found.size(); ++i) {
            thresholds()[i] = found.threshold(i);
            store(rank(i), static_cast<NarrowRank>(found.rank(i)));
            for (std::size_t y = 0; y < n_classes_; ++y)
                store(bucket(i, y), static_cast<NarrowCount>(found.bucket(i, y)));
        }
    }

    // Whether it is what was found.
    [[nodiscard]] bool equals(FoundThresholds const& found) const {
        bool is_equal = words_[kSize] == found.size() && words_[kLowest] == found.lowest &&
                        words_[kHighest] == found.highest && words_[kAtLowest] == found.n_lowest &&
                        words_[kAtHighest] == found.n_highest && words_[kAtMissing] == found.n_missing;
        for (std::size_t i = 0; is_equal && i < found.size(); ++i) {
            is_equal = thresholds()[i] == found.threshold(i) && load<NarrowRank>(rank(i)) == found.rank(i);
            for (std::size_t y = 0; y < n_classes_; ++y)
                is_equal = is_equal && load<NarrowCount>(bucket(i, y)) == found.bucket(i, y);
        }
        return is_equal;
    }

    // Whether the range is what it was, and all numbers fit. If not, the record is of no use.
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
        Attribute const attribute = record_attribute(words_);
        Count* const left = candidates.append_many(words_[kSize], [&](std::size_t i, Candidate& its) {
            its.attribute = attribute;
            its.value = thresholds()[i];
            its.next = kNoValue;
            its.rank = load<NarrowRank>(rank(i));
        });
        for (std::size_t y = 0; y < n_classes_; ++y) {
            Count n_left = 0;
            for (std::size_t i = 0; i < words_[kSize]; ++i)
                left[i * n_classes_ + y] = n_left += load<NarrowCount>(bucket(i, y));
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

    [[nodiscard]] Word* thresholds() const { return words_ + kHead; }

    // Where numbers are that may be narrower than words.
    [[nodiscard]] std::uint8_t* bucket(std::size_t i, std::size_t y) const {
        auto* const buckets = reinterpret_cast<std::uint8_t*>(thresholds() + words_[kSize]);
        return buckets + (i * n_classes_ + y) * sizeof(NarrowCount);
    }
    [[nodiscard]] std::uint8_t* rank(std::size_t i) const { return bucket(words_[kSize], 0) + i * sizeof(NarrowRank); }
    template <typename Number>
    [[nodiscard]] static std::uint32_t load(std::uint8_t const* place) {
        Number number = 0;
        std::memcpy(&number, place, sizeof number);
        return number;
    }
    template <typename Number>
    static void store(std::uint8_t* place, Number number) {
        std::memcpy(place, &number, sizeof number);
    }

    void remove(Value value, WeightedLabel vote) const {
        words_[kAtMissing] -= value == kMissing ? 1 : 0;
        words_[kAtLowest] -= value == words_[kLowest] ? 1 : 0;
        words_[kAtHighest] -= value == words_[kHighest] ? 1 : 0;
        if (std::size_t const i = first_from(value); i < words_[kSize]) {
            std::uint8_t* const place = bucket(i, vote.label);
            store(place, static_cast<NarrowCount>(load<NarrowCount>(place) - vote.weight));
        }
    }

    // False if the value widens the range, or there is no room for so many rows in its bucket.
    [[nodiscard]] bool add(Value value, WeightedLabel vote) const {
        if (value != kMissing && (value < words_[kLowest] || value > words_[kHighest]))
            return false;
        words_[kAtMissing] += value == kMissing ? 1 : 0;
        words_[kAtLowest] += value == words_[kLowest] ? 1 : 0;
        words_[kAtHighest] += value == words_[kHighest] ? 1 : 0;
        std::size_t const i = first_from(value);
        if (i >= words_[kSize])
            return true;
        std::uint8_t* const place = bucket(i, vote.label);
        Count const n = load<NarrowCount>(place) + vote.weight;
        store(place, static_cast<NarrowCount>(n));
        return n <= std::numeric_limits<NarrowCount>::max();
    }

    // The first threshold that is not below the value.
    [[nodiscard]] std::size_t first_from(Value value) const {
        std::size_t begin = 0;
        for (std::size_t n = words_[kSize]; n > 0;) {
            std::size_t const half = (n + 1) / 2;
            begin += thresholds()[begin + half - 1] < value ? half : 0;
            n -= half;
        }
        return begin;
    }

    NClasses n_classes_;
    Word* words_;
};

// Calls the function with a count of the kind that counts and ranks up to these call for, and the bits that tell it in
// the tag of a record.
template <typename Function>
decltype(auto) with_narrow_count(Count most, Rank last_rank, Function&& function) {
    constexpr std::uint32_t kMostInByte = std::numeric_limits<std::uint8_t>::max();
    if (most <= kMostInByte && last_rank <= kMostInByte)
        return function(std::uint8_t{}, kNarrowest);
    if (most <= std::numeric_limits<std::uint16_t>::max() && last_rank <= kMostInByte)
        return function(std::uint16_t{}, kNarrow);
    return function(Count{}, Word{0});
}

// Calls the function with a record that is there.
template <typename NClasses, typename Function>
decltype(auto) with_thresholds(NClasses n_classes, Word* record, Function&& function) {
    if ((record[0] & kNarrowest) != 0)
        return function(ThresholdRecord<NClasses, std::uint8_t>(n_classes, record));
    if (is_narrow(record))
        return function(ThresholdRecord<NClasses, std::uint16_t>(n_classes, record));
    return function(ThresholdRecord<NClasses, Count>(n_classes, record));
}

}  // namespace deciduous
