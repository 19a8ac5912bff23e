// Candidates at values of the data: the paper's valid thresholds (docs/algorithm.md, 2.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "candidates.h"
#include "wiped.h"

namespace deciduous {

// How many valid candidates to sample, and how many more to keep.
struct SampleSize {
    std::uint32_t n_thresholds;  // or kAllThresholds
    std::uint32_t reserve;
    std::uint32_t min_sampled_rows;
};

// Kept in one of two forms, whichever is shorter.
//
// *Prefix*: all distinct values whose rank is within a bound, valid or not, the largest value among them. A new valid
// candidate is either in the prefix, and becomes valid before our eyes, or beyond it and rightly ignored.
//
// *Boundaries*: all valid candidates and nothing else. The values between two of them, a *run*, are of one class, or
// the run is a single value. So a row that comes to or leaves a run of its own class changes no candidate. This is the
// form for rare classes, and for attributes that separate the classes well, where few candidates are valid and a prefix
// would have to hold almost every value.
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
    void shrink_to_fit() {
        cuts_.shrink_to_fit();
        counts_.shrink_to_fit();
    }

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
    [[nodiscard]] bool sample(NodeView const& node, PlainView view, std::uint32_t n_wanted, Workspace& work);
    [[nodiscard]] std::uint64_t bound_for(std::uint32_t n_wanted, Workspace& work) const;
    [[nodiscard]] bool is_cut(Workspace const& work, std::size_t i) const;
    void fill_from_table(Workspace& work);
    void tighten(std::uint32_t n_wanted, Workspace& work);
    void start(std::span<Value const> cut_values);
    void count(std::size_t cut, Value value, Vote vote);
    void remove(Value value, Vote vote);
    [[nodiscard]] bool add_to_prefix(Value value, Vote vote);
    [[nodiscard]] bool add_to_run(Value value, Vote vote);
    [[nodiscard]] bool update_boundaries();
    [[nodiscard]] bool settle_nexts();
    template <typename Predicate>
    void drop_cuts(Predicate const& is_dropped);
    [[nodiscard]] bool is_of_use(SampleSize const& size) const;

    Attribute attribute_;
    std::size_t n_classes_;
    Key candidate_key_;
    bool are_boundaries_ = false;
    std::uint64_t bound_ = kEverything;  // of a prefix
    WipedVector<Cut> cuts_;
    std::vector<Count> counts_;
};

}  // namespace deciduous
