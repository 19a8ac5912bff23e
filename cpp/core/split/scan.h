// What the scan of an attribute finds on the rows of a node, beside its candidates: all that is needed to keep the
// candidates up to date later.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "base/types.h"
#include "base/wiped.h"
#include "split/candidates.h"
#include "split/node_rows.h"
#include "split/ranks.h"
#include "split/scratch_buffer.h"
#include "split/table.h"
#include "split/two_targets.h"
#include "split/two_valued.h"

namespace deciduous {

// Whether an attribute varies on a node, and if so whether it has two values or is told by cuts.
enum class Finding { constant, pair, cuts };

struct FoundPair {
    TwoValues values{};
    std::vector<Count> at_high;  // rows per class
    TargetSum sum_at_low = 0;    // of targets, in a regression forest
};

// Places between neighbouring values where a node may be cut, with their rows per class: at or below the lower value,
// at it, and at the higher one. Either all cuts within the bound (cut_record.h), or all valid candidates.
class FoundCuts {
public:
    struct Cut {
        Value value;          // kNoLower if the other one is the lowest
        Value next;           // kNoValue if the value is the largest
        Rank rank;            // as a candidate
        std::uint32_t place;  // of its counts
        // Of a cut that was looked up: whose rows are counted, the lower or the higher one's, and whether it is valid.
        bool is_lower_known = true;
        bool is_candidate = false;
    };

    bool are_boundaries = false;
    Rank bound = 0;
    Rank last_sampled = 0;  // valid candidates of higher ranks are not in the sample

    void start(std::size_t n_classes) {
        n_classes_ = n_classes;
        cuts_.clear();
        n_counted_ = 0;
    }

    // Where the counts of the cut are to be written; until the next one comes.
    Count* append(Value value, Value next, Rank rank) {
        Count* const counts = room_for(1);
        std::size_t const place = n_counted_++ * 3 * n_classes_;
        cuts_.emplace_back(value, next, rank, static_cast<std::uint32_t>(place), true, false);
        return counts;
    }

    // Where the counts of n more cuts may be written before they are appended.
    [[nodiscard]] Count* room_for(std::size_t n) {
        std::size_t const place = n_counted_ * 3 * n_classes_;
        if (counts_.size() < place + n * 3 * n_classes_)
            counts_.resize(2 * (place + n * 3 * n_classes_));
        return counts_.data() + place;
    }

    // By ascending value; of several with one value, one stays.
    void sort();

    // Keeps those for which `is_kept`, in their order. Without branches, as their outcomes would be random.
    template <typename Predicate>
    void keep_if(Predicate const& is_kept) {
        std::size_t n_kept = 0;
        for (std::size_t i = 0; i < cuts_.size(); ++i) {
            bool const is_kept_one = is_kept(i);
            cuts_[n_kept] = cuts_[i];
            n_kept += is_kept_one ? 1 : 0;
        }
        cuts_.resize(n_kept);
    }

    [[nodiscard]] std::size_t size() const { return cuts_.size(); }
    [[nodiscard]] Cut& operator[](std::size_t i) { return cuts_[i]; }
    [[nodiscard]] Cut& back() { return cuts_.back(); }
    [[nodiscard]] Cut const& operator[](std::size_t i) const { return cuts_[i]; }
    [[nodiscard]] Count* left(std::size_t i) { return counts_.data() + cuts_[i].place; }
    [[nodiscard]] Count const* left(std::size_t i) const { return counts_.data() + cuts_[i].place; }
    [[nodiscard]] Count const* at(std::size_t i) const { return left(i) + n_classes_; }
    [[nodiscard]] Count const* at_next(std::size_t i) const { return left(i) + 2 * n_classes_; }

    void wipe_values() {
        wipe_and_clear(cuts_);
        wipe_and_clear(sorted_);
        values_.wipe_written();
        values_beside_.wipe_written();
    }

private:
    std::size_t n_classes_ = 0;
    std::size_t n_counted_ = 0;
    WipedVector<Cut> cuts_;
    std::vector<Count> counts_;
    WipedVector<Cut> sorted_;
    ScratchBuffer<Ordered> values_;
    ScratchBuffer<Ordered> values_beside_;
    std::vector<std::uint32_t> places_;
    std::vector<std::uint32_t> places_beside_;
};

// A cut above a value in a regression forest, as records hold it.
struct TargetCut {
    Value value = kNoLower;
    Value next = kNoLower;  // kNoValue if the value is the largest
    Count n_rows = 0;       // above the previous cut's value and at or below this one, by weight
    Count n_at = 0;         // at the value, …
    Count n_next = 0;       // … and at the next one
    std::uint32_t unused = 0;
    TwoTargets beside;  // of the rows at both
    TargetSum sum = 0;  // of the targets of n_rows

    [[nodiscard]] bool is_candidate() const { return next != kNoValue && beside.differ(); }
    [[nodiscard]] bool equals(TargetCut const& other) const {
        return value == other.value && next == other.next && n_rows == other.n_rows && n_at == other.n_at &&
               n_next == other.n_next && sum == other.sum;
    }
};

static_assert(std::has_unique_object_representations_v<TargetCut>);  // as records hold its bytes

// All cuts of an attribute above values whose rank is within a bound.
struct FoundTargets {
    Rank bound = 0;
    WipedVector<TargetCut> cuts;
};

// What looking cuts up in the rows of a regression forest needs.
struct TargetLookUpScratch {
    struct Between {
        Count n_rows = 0;
        Ordered least = std::numeric_limits<Ordered>::max();
        TargetSum sum = 0;
    };
    std::array<Ordered, 256> values;              // that were chosen
    std::array<Between, 256> between;             // one chosen value and the next
    std::array<std::uint32_t, 256> cut_of_place;  // the first at or above it
    std::array<Ordered, 256> cut_values;
    std::array<Ordered, 256> next_below;  // the next value of the cut before
    std::vector<std::uint32_t> places;    // of the rows among the chosen values
    std::vector<std::uint32_t> near_rows;

    void wipe_values() {
        wipe(this->values.data(), values.size());
        wipe(between.data(), between.size());
        wipe(cut_values.data(), cut_values.size());
        wipe(next_below.data(), next_below.size());
    }
};

// What counting the rows of each code in a regression forest needs.
struct TargetCodesScratch {
    struct Rows {
        Count n = 0;
        Target one = 0;    // target of a row
        Target other = 0;  // another one, or the same if all rows have that
        TargetSum sum = 0;
    };
    std::array<Rows, 256> rows;                // per code
    std::array<std::uint16_t, 256> cut_above;  // the value of a code
    std::array<std::uint16_t, 256> cut_below;
    std::array<TwoTargets, 258> beside;  // per cut, and for rows that are beside none

    void wipe_values() {
        wipe(rows.data(), rows.size());
        wipe(beside.data(), beside.size());
    }
};

// What the best attribute of two values of a few rows of a regression forest is found with.
struct FewTargetsScratch {
    kernels::TargetsOfFew node;
    WipedVector<RowSet> sets;  // of attributes of two values
    WipedVector<double> scores;
    std::vector<std::uint32_t> places;

    void wipe_values() {
        wipe(&node, 1);
        wipe_and_clear(sets);
        wipe_and_clear(scores);
    }
};

// Uniform thresholds with the rows per class at or below each, by ascending threshold, and the range that they follow
// from.
class FoundThresholds {
public:
    Value lowest = 0;  // number
    Value highest = 0;
    Count n_lowest = 0;  // rows, whatever their weights
    Count n_highest = 0;
    Count n_missing = 0;

    // Room for so many thresholds, which are to be written as to_ordered has them, with their number as rank.
    [[nodiscard]] Ordered* start(std::size_t n_classes, std::size_t n_thresholds) {
        n_classes_ = n_classes;
        n_thresholds_ = n_thresholds;
        ranks_.resize(std::max(ranks_.size(), n_thresholds + kernels::kLanes));
        std::iota(ranks_.begin(), ranks_.begin() + static_cast<std::ptrdiff_t>(n_thresholds), Rank{0});
        return points_.take(n_thresholds + kernels::kLanes);
    }
    void sort() {
        ranks_beside_.resize(ranks_.size());
        kernels::chosen->sort(points_.data(), ranks_.data(), n_thresholds_,
                              points_beside_.take(n_thresholds_ + kernels::kLanes), ranks_beside_.data());
        left_.resize(std::max(left_.size(), n_thresholds_ * n_classes_));
    }

    [[nodiscard]] std::size_t size() const { return n_thresholds_; }
    [[nodiscard]] std::span<Ordered const> points() const { return {points_.data(), n_thresholds_}; }
    [[nodiscard]] Value threshold(std::size_t i) const { return from_ordered(points_.data()[i]); }
    [[nodiscard]] Rank rank(std::size_t i) const { return ranks_[i]; }
    void set_last_rank(Rank rank) { ranks_[n_thresholds_ - 1] = rank; }
    // Once they are sorted.
    [[nodiscard]] Count* left(std::size_t i) { return left_.data() + i * n_classes_; }
    [[nodiscard]] Count const* left(std::size_t i) const { return left_.data() + i * n_classes_; }

    // Rows above the previous threshold and at or below this one.
    [[nodiscard]] Count bucket(std::size_t i, std::size_t y) const {
        return left(i)[y] - (i == 0 ? 0 : left(i - 1)[y]);
    }

    void wipe_values() {
        points_.wipe_written();
        points_beside_.wipe_written();
        wipe(&lowest, 1);
        wipe(&highest, 1);
    }

private:
    std::size_t n_classes_ = 0;
    std::size_t n_thresholds_ = 0;
    ScratchBuffer<Ordered> points_;
    ScratchBuffer<Ordered> points_beside_;
    std::vector<Rank> ranks_;
    std::vector<Rank> ranks_beside_;
    std::vector<Count> left_;
};

// What scans find, and the memory that they need, kept from one to the next. One per thread.
struct ScanScratch {
    ScanScratch() = default;
    ~ScanScratch() { wipe_values(); }
    ScanScratch(ScanScratch const&) = delete;
    ScanScratch& operator=(ScanScratch const&) = delete;

    FoundPair pair;
    FoundCuts cuts;
    FoundThresholds thresholds;
    FoundTargets targets;
    TargetLookUpScratch target_look_ups{};
    TargetCodesScratch target_codes{};
    FewTargetsScratch few_targets{};

    ClassValues values;
    Table table;
    WipedVector<Ordered> ranks;  // which tell of values to whoever knows the keys
    // Marks of values of the table.
    Marks valid;
    Marks marked;
    Marks lower_marked;
    Marks higher_marked;
    Marks within;
    Marks gathered;
    Marks spread;
    WipedVector<RowSet> set_rows;  // of attributes of two values
    kernels::WordOfRows word_of_rows{};
    std::vector<std::uint32_t> sampled_places;
    std::vector<std::uint32_t> cut_places;
    WipedVector<Ordered> valid_ranks;
    ScratchBuffer<Ordered> valid_values;
    std::vector<Count> left;
    TargetSummary targets_of_node;  // in a regression forest
    WipedVector<TargetSum> target_sums;
    ScratchBuffer<Target> sorted_targets;
    std::vector<std::uint8_t> is_linked;  // cuts of a record whose values are those of neighbours
    // Values that are looked up, how many rows of each class they have, and what is beyond them, class by class. Here,
    // and not where they are used, so that nothing is left of them on a stack.
    ScratchBuffer<Ordered> near_values;
    std::vector<std::uint32_t> near_labels;
    ScratchBuffer<Ordered> values_beside;
    std::vector<std::uint32_t> labels_beside;
    std::array<Ordered, kernels::kLanes> here{};
    std::vector<Count> n_at;
    struct Beyond {
        std::array<Count, kernels::kLanes> n;
        std::array<Ordered, kernels::kLanes> nearest;
    };
    WipedVector<Beyond> beyond;
    ScratchBuffer<Value> arrivals;

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        wipe(&pair.values, 1);
        wipe(&pair.sum_at_low, 1);
        cuts.wipe_values();
        thresholds.wipe_values();
        values.wipe_values();
        table.wipe_values();
        valid_values.wipe_written();
        near_values.wipe_written();
        values_beside.wipe_written();
        wipe(here.data(), here.size());
        wipe(set_rows.data(), set_rows.size());
        wipe(&word_of_rows, 1);
        for (auto* const its : {&ranks, &valid_ranks}) {
            its->resize(its->capacity());
            wipe(its->data(), its->size());
        }
        wipe(beyond.data(), beyond.size());
        wipe(&targets_of_node, 1);
        wipe_and_clear(target_sums);
        sorted_targets.wipe_written();
        target_look_ups.wipe_values();
        target_codes.wipe_values();
        few_targets.wipe_values();
        wipe_and_clear(targets.cuts);
        arrivals.wipe_written();
    }
};

}  // namespace deciduous
