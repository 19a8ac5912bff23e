// What a node may split at, and how the choice is made: the words that the rules of docs/algorithm.md, 2.5 and 2.6,
// share.
//
// Terms. *Rank*: decides which candidates are sampled and who wins a tie. *Scan*: find the candidates of an attribute
// from the rows of a node, offer them, and make a record of them if wanted. *Update*: keep a record true when rows come
// or go, without the other rows; where that is impossible, update says so and the node scans again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataset.h"
#include "handful.h"
#include "impurity.h"
#include "params.h"
#include "rank_order.h"
#include "records.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

// A row that comes or goes, with what every tree will ask about it.
struct ChangedRow {
    Slot slot;
    Vote vote;
    Value const* values = nullptr;  // of all attributes, if they were laid out

    [[nodiscard]] Value value(Dataset const& data, Attribute attribute) const {
        return values != nullptr ? values[attribute] : data.value(slot, attribute);
    }
};

// Rows that leave and rows that come, both by ascending slot. All are in the data set while trees change.
struct Changes {
    std::span<ChangedRow> removed;
    std::span<ChangedRow> added;
    [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// Rows that are about to come or go.
class ChangedRows {
public:
    // Of these slots, ascending.
    ChangedRows(Dataset const& data, std::span<Slot const> slots);

    [[nodiscard]] std::span<ChangedRow> all() { return rows_; }

private:
    std::vector<ChangedRow> rows_;
    WipedVector<Value> values_;
};

// The rows of a node, gathered for scanning.
struct NodeView {
    Dataset const& data;
    Key key;
    std::span<Slot const> slots;
    std::span<Label const> labels;             // of the slots, in their order
    std::span<Count const> weights;            // the same; empty if all of them are 1
    std::span<Count const> totals;             // rows per class
    std::span<RowBits::Bits const> bits = {};  // of the slots, if they were gathered: word by word
    Handful const* handful = nullptr;          // that the rows are of, if they are few
    RowSet set = 0;                            // the rows within it
    std::span<Slot const> by_class = {};       // the slots, class after class, unless it is not worth it
    std::span<std::size_t const> class_ends = {};
    [[nodiscard]] Count weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }
};

struct Split {
    Attribute attribute = 0;
    Value threshold = 0;
    Count n_left = 0;
    double score = 0;
    std::uint64_t rank = 0;
};

// What makes a split of this node admissible and good.
struct Scoring {
    Criterion criterion;
    Count min_samples_leaf;
    std::span<Count const> totals;
    Count n_rows;
    ClassWeights class_weights;
};

// The best of the splits offered so far.
class BestSplit {
public:
    explicit BestSplit(Scoring const& scoring) : scoring_(scoring) {}

    // Offers the cut that puts the rows `left`, per class, on the left. Its rank and threshold are asked for if they
    // matter.
    template <typename NClasses, typename RankOf, typename ThresholdOf>
    void offer(NClasses n_classes, Attribute attribute, Count const* left, RankOf const& rank_of,
               ThresholdOf const& threshold_of) {
        Count n_left = 0;
        for (std::size_t y = 0; y < n_classes; ++y)
            n_left += left[y];
        if (n_left < scoring_.min_samples_leaf || scoring_.n_rows - n_left < scoring_.min_samples_leaf)
            return;
        double const its_score = score(n_classes, left);
        if (is_found_ && its_score > best_.score)
            return;
        std::uint64_t const rank = rank_of();
        if (is_found_ && its_score == best_.score &&
            (rank != best_.rank ? rank > best_.rank : attribute > best_.attribute))
            return;
        best_ = {attribute, threshold_of(), n_left, its_score, rank};
        is_found_ = true;
    }

    [[nodiscard]] Split const* get() const { return is_found_ ? &best_ : nullptr; }
    [[nodiscard]] Scoring const& scoring() const { return scoring_; }

private:
    template <typename NClasses>
    [[nodiscard]] double score(NClasses n_classes, Count const* left) const {
        if (std::is_same_v<NClasses, TwoClasses> && scoring_.criterion == Criterion::gini &&
            scoring_.class_weights.empty())
            return gini_score(TwoClasses{}, left, scoring_.totals.data());
        return split_score(scoring_.criterion, {left, n_classes}, scoring_.totals, scoring_.class_weights);
    }

    Scoring const& scoring_;
    Split best_;
    bool is_found_ = false;
};

// A vector for values of rows that remembers how much of its memory has been written, so that it can be overwritten.
template <typename T>
struct ValueScratch : WipedVector<T> {
    using WipedVector<T>::WipedVector;

    // To be called when the vector is at its longest.
    void note_size() { n_written_ = std::max(n_written_, this->size()); }

    void wipe_written() {
        this->resize(n_written_);
        wipe(this->data(), this->size());
        this->clear();
        n_written_ = 0;
    }

private:
    std::size_t n_written_ = 0;
};

// A candidate that was looked up in the rows.
struct FoundCut {
    Value value;
    Value next;
    std::uint64_t rank;
    std::size_t counts;  // where its counts begin
    bool is_valid;
};

// Vectors that every scan and update needs, kept from one to the next. One per thread.
struct Workspace {
    ValueScratch<Value> values;          // distinct values of an attribute on a node, ascending
    std::vector<Count> value_counts;     // their rows per class
    ValueScratch<std::uint64_t> packed;  // values with places in the node, for sorting
    ValueScratch<std::uint64_t> packed_aside;
    ValueScratch<Value> gathered;            // values of the rows of a node
    std::vector<std::size_t> gathered_ends;  // of those of each class, if they are class after class
    std::vector<std::uint32_t> places;
    ValueScratch<Value> minima;
    std::vector<Count> histogram;
    std::vector<std::uint64_t> ranks;
    std::vector<std::uint64_t> hashes;
    RankOrder order;
    ValueScratch<FoundCut> found;
    std::vector<Count> found_counts;  // of each: rows per class at or below it, and at it
    std::vector<Count> left;
    std::vector<Count> at_high;
    ValueScratch<Word> record;

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        values.wipe_written();
        packed.wipe_written();
        packed_aside.wipe_written();
        gathered.wipe_written();
        minima.wipe_written();
        record.wipe_written();
        found.wipe_written();
    }
};

// Takes the removed rows out of class counts and puts the added ones in.
void apply_to_counts(std::span<Count> counts, Changes const& changes);

}  // namespace deciduous
