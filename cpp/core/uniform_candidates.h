// Candidates at uniform places of the attribute's range: random nodes, Extra Trees (docs/algorithm.md, 2.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "candidates.h"
#include "wiped.h"

namespace deciduous {

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
    void shrink_to_fit() {
        cuts_.shrink_to_fit();
        buckets_.shrink_to_fit();
    }

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
    void count(Value value, Vote vote);
    void remove(Value value, Vote vote);
    [[nodiscard]] bool add(Value value, Vote vote);
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

}  // namespace deciduous
