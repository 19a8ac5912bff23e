#include "split/candidates.h"

#include <algorithm>

#include "base/kernels.h"

namespace deciduous {

void Candidates::make_room() {
    constexpr std::size_t kFewest = 64;
    candidates_.resize(std::max(kFewest, 2 * candidates_.size()));
    left_.resize(candidates_.size() * n_classes_);
    target_sums_.resize(candidates_.size());
}

void Candidates::score_all(Scoring const& scoring) {
    std::size_t const n = n_candidates_;
    if (scores_.size() < n) {
        scores_.resize(n);
        lowest_.resize(n + kernels::kLanes);
    }
    if (n == 1) {  // whatever its score is; that of a random node has no sum of targets
        scores_[0] = 0;
        return;
    }
    if (scoring.criterion == Criterion::squared_error) {
        score_squared_errors(left_.data(), target_sums_.data(), n, scoring.totals[0], scoring.target_sum,
                             scores_.data());
        return;
    }
    if (scoring.criterion == Criterion::gini && scoring.class_weights.empty() &&
        sum(scoring.totals) < kernels::kMaxFewRows) {
        kernels::chosen->score_gini(left_.data(), n, scoring.totals.data(), n_classes_, scores_.data());
        return;
    }
    score_splits(scoring.criterion, left_.data(), scoring.totals, scoring.class_weights, std::span(scores_).first(n));
}

void Candidates::score(Scoring const& scoring) {
    score_all(scoring);
    if (scoring.min_samples_leaf > 1) {  // no candidate leaves a side without rows
        Count const n_most = sum(scoring.totals) - scoring.min_samples_leaf;
        for (std::size_t i = 0; i < n_candidates_; ++i)
            if (Count const n = n_left(i); n < scoring.min_samples_leaf || n > n_most)
                scores_[i] = kInadmissible;
    }
}

// The admissible candidates of the lowest score.
std::span<std::uint32_t const> Candidates::find_lowest() {
    return std::span(lowest_).first(kernels::chosen->find_lowest(scores_.data(), n_candidates_, lowest_.data()));
}

}  // namespace deciduous
