// The candidates that a node considers, and which of them it chooses (docs/algorithm.md, 2.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/params.h"
#include "base/types.h"
#include "base/wiped.h"
#include "split/impurity.h"

namespace deciduous {

struct Split {
    Attribute attribute = 0;
    Value threshold = 0;
    Count n_left = 0;
};

// A place where a node may split: at a threshold, or between two values.
struct Candidate {
    Attribute attribute;
    Value value;  // the threshold, or the lower of the values
    Value next;   // the higher of the values, or kNoValue
    Rank rank;    // uniform: number of the arrival; valid: whether the lower value is marked, which tells its rank
};

// What makes a split of a node admissible and good.
struct Scoring {
    Criterion criterion;
    Count min_samples_leaf;
    std::span<Count const> totals;  // rows per class
    ClassWeights class_weights;
};

// All candidates of a node, with the rows per class at the left of each.
class Candidates {
public:
    void start(std::size_t n_classes) {
        n_classes_ = n_classes;
        n_candidates_ = 0;
    }

    // Appends a candidate; where its counts are to be written, behind those of the one before. Field by field, so that
    // no copy of it is left on a stack.
    [[nodiscard]] Count* append(Attribute attribute, Value value, Value next, Rank rank) {
        reserve(1);
        Candidate& its = candidates_[n_candidates_];
        its.attribute = attribute;
        its.value = value;
        its.next = next;
        its.rank = rank;
        return left_.data() + n_candidates_++ * n_classes_;
    }

    // Appends n candidates, which `fill(i, candidate)` fills in; where the counts of the first are to be written, those
    // of the others behind them.
    template <typename Fill>
    [[nodiscard]] Count* append_many(std::size_t n, Fill const& fill) {
        reserve(n);
        for (std::size_t i = 0; i < n; ++i)
            fill(i, candidates_[n_candidates_ + i]);
        Count* const left = left_.data() + n_candidates_ * n_classes_;
        n_candidates_ += n;
        return left;
    }

    // The lowest score wins; ties go to the lower rank, then to the lower attribute, then to the lower value. Nothing
    // if none is admissible. `rank_of` tells the rank of a candidate; only those that tie are asked for it.
    template <typename RankOf>
    [[nodiscard]] std::optional<std::size_t> choose(Scoring const& scoring, RankOf const& rank_of) {
        auto const tied = find_lowest(scoring);
        if (tied.size() <= 1)
            return tied.empty() ? std::nullopt : std::optional<std::size_t>(tied[0]);
        auto const order_of = [&](std::size_t i) {
            return std::tuple(rank_of(candidates_[i]), candidates_[i].attribute, candidates_[i].value);
        };
        std::size_t best = tied[0];
        auto lowest = order_of(best);
        for (std::size_t const i : tied.subspan(1))
            if (auto const order = order_of(i); order < lowest) {
                lowest = order;
                best = i;
            }
        return best;
    }

    [[nodiscard]] Candidate const& operator[](std::size_t i) const { return candidates_[i]; }
    [[nodiscard]] Count n_left(std::size_t i) const { return sum({left_.data() + i * n_classes_, n_classes_}); }

    void wipe_values() { wipe(candidates_.data(), candidates_.size()); }

private:
    void reserve(std::size_t n) {
        while (n_candidates_ + n > candidates_.size() || (n_candidates_ + n) * n_classes_ > left_.size())
            make_room();
    }
    static constexpr double kInadmissible = std::numeric_limits<double>::infinity();

    void make_room();
    void score(Scoring const& scoring);
    [[nodiscard]] std::span<std::uint32_t const> find_lowest(Scoring const& scoring);

    std::size_t n_classes_ = 0;
    std::size_t n_candidates_ = 0;
    WipedVector<Candidate> candidates_;
    std::vector<Count> left_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> lowest_;  // candidates of the lowest score
};

}  // namespace deciduous
