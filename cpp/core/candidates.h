// What a node knows about the splits it may choose from: the only home of the rules of docs/algorithm.md, 2.5 and 2.6.
//
// Both kinds of candidates are a list of *cuts* in ascending order, each with a *bucket*: the rows, per class, above
// the previous cut and at or below this one. A row that comes or goes changes one bucket; the rows left of a cut are a
// running sum, taken when the cuts are scored.
//
// Terms. *Rank*: decides which candidates are sampled and who wins a tie. *Scan*: make the candidates from the rows of
// a node. *Update*: keep them true when rows come or go, without the other rows; where that is impossible, update says
// so and the node scans again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataset.h"
#include "impurity.h"
#include "params.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

// Rows that leave and rows that come, both by ascending slot. All are in the data set while trees change.
struct Changes {
    std::span<Slot const> removed;
    std::span<Slot const> added;
    [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// The rows of a node, gathered for scanning.
struct NodeView {
    Dataset const& data;
    Key key;
    std::span<Slot const> slots;
    std::span<Vote const> votes;    // of the slots, in their order
    std::span<Count const> totals;  // rows per class
};

struct Split {
    Attribute attribute = 0;
    Value threshold = 0;
    Count n_left = 0;
    double score = 0;
    std::uint64_t rank = 0;
};

[[nodiscard]] bool is_better(Split const& a, Split const& b);

// What makes a split of this node admissible and good.
struct Scoring {
    Criterion criterion;
    Count min_samples_leaf;
    std::span<Count const> totals;
    ClassWeights class_weights;
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

// Vectors that every scan and update needs, kept from one to the next. One per thread.
struct Workspace {
    ValueScratch<Value> values;          // distinct values of a column on a node, ascending
    std::vector<Count> value_counts;     // their rows per class
    ValueScratch<std::uint64_t> packed;  // values with places in the node, for sorting
    std::vector<Count> histogram;
    std::vector<std::uint64_t> ranks;
    std::vector<Count> left;

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        values.wipe_written();
        packed.wipe_written();
    }
};

// Takes the split if it is admissible and better than the best so far. `left` are the rows, per class, that it puts
// left.
void offer(Split split, std::span<Count const> left, Scoring const& scoring, std::optional<Split>& best);

// Takes the removed rows out of class counts and puts the added ones in.
void apply_to_counts(std::span<Count> counts, Dataset const& data, Changes const& changes);

void accumulate(std::span<Count> sums, std::span<Count const> counts);

// Rows of class counts with more classes: the new ones have no rows yet.
void widen_counts(std::vector<Count>& counts, std::size_t n_classes_before, std::size_t n_classes);

}  // namespace deciduous
