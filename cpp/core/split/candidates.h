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
#include "split/noise.h"

namespace deciduous {

struct Split {
    Attribute attribute = 0;
    Value threshold = 0;
    Count n_left = 0;
};

// A place where a node may split: at a threshold, or between two values. That of an attribute of two values may be
// *incomplete*: `value` and `next` are the same, and what is counted at its left may be at its right. Scores are the
// same either way, so it is completed only if it has the lowest one.
struct Candidate {
    Attribute attribute;
    Value value;  // the threshold, or the lower of the values
    Value next;   // the higher of the values, or kNoValue
    Rank rank;    // uniform: number of the arrival; valid: whether the lower value is marked, which tells its rank
    [[nodiscard]] bool is_complete() const { return value != next; }
};

// What makes a split of a node admissible and good.
struct Scoring {
    Criterion criterion;
    Count min_samples_leaf;
    std::span<Count const> totals;  // rows per class
    ClassWeights class_weights;
    TargetSum target_sum = 0;  // in a regression forest
};

// All candidates of a node, with the rows per class at the left of each, and in a regression forest the sum of their
// targets.
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

    void note_last_rank(Rank rank) { candidates_[n_candidates_ - 1].rank = rank; }

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

    // Appends some of n candidates. `fill(i, candidate, left)` fills each in, with its counts, and tells whether it is
    // one of them: without branches, as their outcomes would be random.
    template <typename NClasses, typename Fill>
    void append_some(NClasses n_classes, std::size_t n, Fill const& fill) {
        reserve(n);
        Candidate* candidate = candidates_.data() + n_candidates_;
        Count* left = left_.data() + n_candidates_ * n_classes;
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t const n_taken = fill(i, *candidate, left) ? 1 : 0;
            candidate += n_taken;
            left += n_taken * n_classes;
        }
        n_candidates_ = static_cast<std::size_t>(candidate - candidates_.data());
    }

    // Where the counts of n more candidates may be written before they are appended.
    [[nodiscard]] Count* room_for(std::size_t n) {
        reserve(n);
        return left_.data() + n_candidates_ * n_classes_;
    }

    void set_target_sum(std::size_t i, TargetSum sum) { target_sums_[i] = sum; }

    // The lowest score wins; ties go to the lower rank, then to the lower attribute, then to the lower value. Nothing
    // if none is admissible. `complete(candidate, left)` completes a candidate, `rank_of` tells its rank; only those
    // that tie are asked for it, or all if there is noise. Candidates that are not complete know no rank: they are of
    // nodes too small for noise.
    template <typename Complete, typename RankOf>
    [[nodiscard]] std::optional<std::size_t> choose(Scoring const& scoring, Noise const& noise,
                                                    Complete const& complete, RankOf const& rank_of) {
        score(scoring);
        if (!noise.is_silent())
            add(noise, rank_of);
        auto const tied = find_lowest();
        for (std::size_t const i : tied)
            if (!candidates_[i].is_complete())
                complete(candidates_[i], left_.data() + i * n_classes_);
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

    [[nodiscard]] std::size_t size() const { return n_candidates_; }
    [[nodiscard]] Candidate const& operator[](std::size_t i) const { return candidates_[i]; }
    [[nodiscard]] Count n_left(std::size_t i) const { return sum({left_.data() + i * n_classes_, n_classes_}); }

    void wipe_values() {
        wipe(candidates_.data(), candidates_.size());
        wipe(target_sums_.data(), target_sums_.size());
        wipe(scores_.data(), scores_.size());
    }

private:
    // Candidates of an attribute that leave the same rows at the left, which only uniform ones do, are side by side,
    // and have the noise of the lowest rank among them.
    template <typename RankOf>
    void add(Noise const& noise, RankOf const& rank_of) {
        for (std::size_t begin = 0, end = 0; begin < n_candidates_; begin = end) {
            Attribute const attribute = candidates_[begin].attribute;
            Rank lowest = rank_of(candidates_[begin]);
            for (end = begin + 1;
                 end < n_candidates_ && candidates_[end].attribute == attribute && n_left(end) == n_left(begin); ++end)
                lowest = std::min(lowest, rank_of(candidates_[end]));
            double const its = noise.of(attribute, lowest);
            for (std::size_t i = begin; i < end; ++i)
                scores_[i] += its;
        }
    }

    void reserve(std::size_t n) {
        while (n_candidates_ + n > candidates_.size() || (n_candidates_ + n) * n_classes_ > left_.size())
            make_room();
    }
    static constexpr double kInadmissible = std::numeric_limits<double>::infinity();

    void make_room();
    void score(Scoring const& scoring);
    void score_all(Scoring const& scoring);
    [[nodiscard]] std::span<std::uint32_t const> find_lowest();

    std::size_t n_classes_ = 0;
    std::size_t n_candidates_ = 0;
    WipedVector<Candidate> candidates_;
    std::vector<Count> left_;
    WipedVector<TargetSum> target_sums_;
    WipedVector<double> scores_;
    std::vector<std::uint32_t> lowest_;  // candidates of the lowest score
};

}  // namespace deciduous
