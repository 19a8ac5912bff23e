#include "candidates.h"

#include <algorithm>

#include "impurity.h"

namespace deciduous {

bool is_better(Split const& a, Split const& b) {
    if (a.score != b.score)
        return a.score < b.score;
    return a.rank != b.rank ? a.rank < b.rank : a.attribute < b.attribute;
}

void offer(Split split, std::span<Count const> left, Scoring const& scoring, std::optional<Split>& best) {
    split.n_left = sum(left);
    if (split.n_left < scoring.min_samples_leaf || sum(scoring.totals) - split.n_left < scoring.min_samples_leaf)
        return;
    split.score = split_score(scoring.criterion, left, scoring.totals, scoring.class_weights);
    if (!best || is_better(split, *best))
        best = split;
}

void apply_to_counts(std::span<Count> counts, Dataset const& data, Changes const& changes) {
    for (Slot const slot : changes.removed)
        counts[data.vote(slot).label] -= data.vote(slot).weight;
    for (Slot const slot : changes.added)
        counts[data.vote(slot).label] += data.vote(slot).weight;
}

void accumulate(std::span<Count> sums, std::span<Count const> counts) {
    for (std::size_t y = 0; y < sums.size(); ++y)
        sums[y] += counts[y];
}

void widen_counts(std::vector<Count>& counts, std::size_t n_classes_before, std::size_t n_classes) {
    std::size_t const n_rows = counts.size() / n_classes_before;
    std::vector<Count> wide(n_rows * n_classes, 0);
    for (std::size_t i = 0; i < n_rows; ++i)
        std::copy_n(counts.begin() + static_cast<std::ptrdiff_t>(i * n_classes_before), n_classes_before,
                    wide.begin() + static_cast<std::ptrdiff_t>(i * n_classes));
    counts = std::move(wide);
}

}  // namespace deciduous
