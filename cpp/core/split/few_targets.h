// The split of a node of few rows in a regression forest, where every valid candidate is in the sample: none is listed,
// and only the best one so far is remembered. Most nodes of a tree are such ones.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "data/dataset.h"
#include "split/candidates.h"
#include "split/impurity.h"
#include "split/sampling.h"
#include "split/scan.h"
#include "split/small_node.h"

namespace deciduous {

class FewTargets {
public:
    // Whether all valid candidates of so many rows are in the sample, and have sums.
    [[nodiscard]] static bool suits(std::size_t n_rows, Sampling const& sampling) {
        return sampling.needs_sums() && sampling.scheme == CandidateScheme::valid &&
               (sampling.n_thresholds == kAllThresholds || n_rows <= sampling.n_thresholds + std::size_t{1});
    }

    // Of these rows of a small node, on a node with this key.
    FewTargets(Dataset const& data, SmallNode& small, RowSet rows, Key key, Count min_samples_leaf,
               FewTargetsScratch& scratch);

    [[nodiscard]] bool have_one_target() const { return !differ_; }

    // Takes the candidates of an attribute that is not binary into account; false if it is constant.
    [[nodiscard]] bool take(Attribute attribute);

    // Takes those of binary attributes, which vary, into account.
    void take_pairs(std::span<Attribute const> attributes);

    // The best of those that were taken, if there is one.
    [[nodiscard]] std::optional<Split> best(Sampling const& sampling) const;

private:
    [[nodiscard]] bool take_of_two(Attribute attribute);
    [[nodiscard]] double score(Count n_left, Target sum) const { return squared_error_score(n_, sum_, n_left, sum); }
    [[nodiscard]] bool is_valid(KnownValues const& known, std::size_t row, std::size_t next) const;
    void take(double score, Candidate const& its, Count n_left);

    Dataset const& data_;
    SmallNode& small_;
    RowSet rows_;
    Key key_;
    Count min_samples_leaf_;
    FewTargetsScratch& scratch_;
    Count n_ = 0;
    Target sum_ = 0;  // at most 64 times 2^40, and times as many rows it fits, too
    bool differ_ = false;
    double lowest_ = std::numeric_limits<double>::infinity();  // score
    Candidate best_{};
    Count n_left_ = 0;
};

}  // namespace deciduous
