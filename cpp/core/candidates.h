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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "dataset.h"
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
    std::span<Label const> labels;  // of the slots, in their order
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
};

// Vectors that every scan and update needs, kept from one to the next. One per thread.
struct Workspace {
    std::vector<Value> values;          // distinct values of a column on a node, ascending
    std::vector<Count> value_counts;    // their rows per class
    std::vector<std::uint64_t> packed;  // values with labels, for sorting
    std::vector<Count> histogram;
    std::vector<std::uint64_t> ranks;
    std::vector<Count> left;
};

// How many valid candidates to sample, and how many more to keep.
struct SampleSize {
    std::uint32_t n_thresholds;  // or kAllThresholds
    std::uint32_t reserve;
    std::uint32_t min_sampled_rows;
};

// The cached prefix: all distinct values of an attribute on a node whose rank is within a bound, valid or not, the
// largest value among them. A new valid candidate is either in the prefix, and becomes valid before our eyes, or beyond
// it and rightly ignored.
class ValidCandidates {
public:
    // Nothing if the attribute is constant.
    [[nodiscard]] static std::optional<ValidCandidates> scan(NodeView const& node, Attribute attribute,
                                                             SampleSize const& size, Workspace& work);

    // Whether the candidates are known after the change, and the attribute is not constant. If not, it must be scanned
    // again.
    [[nodiscard]] bool update(Dataset const& data, Changes const& changes, SampleSize const& size);

    void offer_splits(Scoring const& scoring, std::uint32_t n_thresholds, std::optional<Split>& best,
                      Workspace& work) const;

    [[nodiscard]] Attribute attribute() const { return attribute_; }
    [[nodiscard]] bool equals_recount(NodeView const& node, std::uint32_t n_thresholds, Workspace& work) const;
    [[nodiscard]] std::size_t n_cuts() const { return cuts_.size(); }
    [[nodiscard]] std::size_t memory() const;
    void widen(std::size_t n_classes);

private:
    struct Cut {
        Value value;
        Value next;  // the next larger value on the node, or kNoValue
        friend bool operator==(Cut const&, Cut const&) = default;
    };
    // Per cut, in this order in counts_: rows in the bucket, rows at the value, rows at the next value.
    enum Part : std::size_t { kBucket, kAt, kAtNext, kParts };

    static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

    ValidCandidates(Attribute attribute, Key key, std::size_t n_classes);

    [[nodiscard]] std::uint64_t rank(Value value) const;
    [[nodiscard]] std::span<Count> counts(std::size_t cut, Part part);
    [[nodiscard]] std::span<Count const> counts(std::size_t cut, Part part) const;
    [[nodiscard]] std::size_t first_cut_from(Value value) const;
    [[nodiscard]] bool is_valid(std::size_t cut) const;
    [[nodiscard]] std::size_t n_valid() const;

    [[nodiscard]] bool scan_table(std::uint32_t n_wanted, Workspace& work);
    [[nodiscard]] bool sample(NodeView const& node, std::uint32_t n_wanted, Workspace& work);
    [[nodiscard]] std::uint64_t bound_for(std::uint32_t n_wanted, Workspace& work) const;
    void start(std::span<Value const> cut_values);
    void count(Value value, Label label, Count n);
    void remove(Value value, Label label);
    [[nodiscard]] bool add(Value value, Label label);
    [[nodiscard]] bool settle_nexts();
    void drop_empty_cuts();
    [[nodiscard]] bool is_of_use(SampleSize const& size) const;

    Attribute attribute_;
    std::size_t n_classes_;
    Key candidate_key_;
    std::uint64_t bound_ = kEverything;
    WipedVector<Cut> cuts_;
    std::vector<Count> counts_;
};

// Thresholds at the first arrivals in the range of an attribute's numbers, and the cut between numbers and NaN.
class UniformCandidates {
public:
    struct Shape {
        std::uint32_t n_arrivals;
        bool is_random_node;  // then the cut before NaN is only a last resort
    };

    // Nothing if the attribute is constant.
    [[nodiscard]] static std::optional<UniformCandidates> scan(NodeView const& node, Attribute attribute, Shape shape);

    // Whether the candidates are known after the change, and the attribute is not constant. If not, it must be scanned
    // again.
    [[nodiscard]] bool update(Dataset const& data, Changes const& changes);

    void offer_splits(Scoring const& scoring, std::optional<Split>& best, Workspace& work) const;

    [[nodiscard]] Attribute attribute() const { return attribute_; }
    [[nodiscard]] bool equals_recount(NodeView const& node, Shape shape) const;
    [[nodiscard]] std::size_t n_cuts() const { return cuts_.size(); }
    [[nodiscard]] std::size_t memory() const;
    void widen(std::size_t n_classes);

    friend bool operator==(UniformCandidates const&, UniformCandidates const&) = default;

private:
    struct Cut {
        Value value;
        std::uint32_t rank;
        friend bool operator==(Cut const&, Cut const&) = default;
    };

    UniformCandidates(Attribute attribute, std::size_t n_classes) : attribute_(attribute), n_classes_(n_classes) {}

    void include(Value value);
    void place_cuts(Key key, Shape shape);
    void count(Value value, Label label);
    void remove(Value value, Label label);
    [[nodiscard]] bool add(Value value, Label label);
    [[nodiscard]] std::size_t first_cut_from(Value value) const;
    [[nodiscard]] bool is_constant() const { return n_low_ == 0 || (low_ == high_ && n_missing_ == 0); }

    Attribute attribute_;
    std::size_t n_classes_;
    Value low_ = kNoValue;  // range of the numbers on the node, with the rows at its ends
    Value high_ = 0;
    Count n_low_ = 0;
    Count n_high_ = 0;
    Count n_missing_ = 0;
    WipedVector<Cut> cuts_;
    std::vector<Count> buckets_;
};

using Candidates = std::variant<ValidCandidates, UniformCandidates>;

// Rows of class counts with more classes: the new ones have no rows yet.
void widen_counts(std::vector<Count>& counts, std::size_t n_classes_before, std::size_t n_classes);

}  // namespace deciduous
