#include "split/candidates.h"

#include <algorithm>
#include <tuple>

#include "base/kernels.h"

namespace deciduous {

void Candidates::make_room() {
    constexpr std::size_t kFewest = 64;
    candidates_.resize(std::max(kFewest, 2 * candidates_.size()));
    left_.resize(candidates_.size() * n_classes_);
}

void Candidates::score(Scoring const& scoring) {
    std::size_t const n = n_candidates_;
    scores_.resize(std::max(scores_.size(), n));
    if (n_classes_ == 2 && scoring.criterion == Criterion::gini && scoring.class_weights.empty() &&
        sum(scoring.totals) < kernels::kMaxFewRows) {
        kernels::chosen->score_two_classes(left_.data(), n, scoring.totals.data(), scores_.data());
        return;
    }
    for (std::size_t i = 0; i < n; ++i)
        scores_[i] = split_score(scoring.criterion, std::span(left_).subspan(i * n_classes_, n_classes_),
                                 scoring.totals, scoring.class_weights);
}

std::optional<std::size_t> Candidates::choose(Scoring const& scoring) {
    constexpr std::size_t kNone = ~std::size_t{0};
    score(scoring);
    Count const n_rows = sum(scoring.totals);
    std::size_t best = kNone;
    for (std::size_t i = 0; i < n_candidates_; ++i) {
        if (best != kNone && scores_[i] > scores_[best])
            continue;
        if (Count const n = n_left(i); n < scoring.min_samples_leaf || n_rows - n < scoring.min_samples_leaf)
            continue;
        auto const order = [&](std::size_t its) {
            return std::tuple(scores_[its], candidates_[its].rank, candidates_[its].attribute);
        };
        if (best == kNone || order(i) < order(best))
            best = i;
    }
    return best == kNone ? std::nullopt : std::optional(best);
}

}  // namespace deciduous
