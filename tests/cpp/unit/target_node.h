// The rows of a node of a regression forest, for tests of what is found on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "data/dataset.h"
#include "split/candidates.h"
#include "split/node_rows.h"
#include "split/target_scan.h"

namespace deciduous {

struct TargetRow {
    std::vector<float> x;
    Target target;
    Count weight = 1;
    [[nodiscard]] WeightedLabel vote() const { return {0, weight, target}; }
};

// A node of these rows, the first one in slot 0, but for some at the end that are elsewhere in the tree.
class TargetNode {
public:
    TargetNode(std::vector<TargetRow> const& rows, std::vector<std::uint32_t> const& n_categories, Tuning const& tuning,
               Key key, std::size_t n_elsewhere = 0)
        : data_(Schema(n_categories), tuning, true), key_(key) {
        std::vector<RowId> ids(rows.size());
        std::iota(ids.begin(), ids.end(), RowId{0});
        std::vector<float> x;
        std::vector<WeightedLabel> votes;
        for (TargetRow const& row : rows) {
            x.insert(x.end(), row.x.begin(), row.x.end());
            votes.push_back(row.vote());
        }
        slots_ = data_.insert(ids, {x.data(), ids.size(), n_categories.size()}, votes, 1);
        slots_.resize(rows.size() - n_elsewhere);
        ends_ = {static_cast<std::uint32_t>(slots_.size())};
        for (Slot const slot : slots_) {
            targets_.push_back(rows[slot].target);
            totals_[0] += rows[slot].weight;
            if (!data_.weights().empty())
                weights_.push_back(rows[slot].weight);
        }
    }

    [[nodiscard]] Dataset const& data() const { return data_; }
    [[nodiscard]] NodeRows rows() const {
        NodeRows node{data_, key_, slots_, ends_, totals_};
        node.weights = weights_;
        node.targets = targets_;
        return node;
    }
    [[nodiscard]] std::span<Slot const> slots() const { return slots_; }
    [[nodiscard]] Ranks ranks(Attribute attribute) const { return {CandidateKeys(key_), attribute, kNoClass}; }
    [[nodiscard]] bool is_constant(Attribute attribute) const {
        for (Slot const slot : slots_)
            if (data_.value(slot, attribute) != data_.value(0, attribute))
                return false;
        return true;
    }

    // The rows at the two values of a cut that have this target, by weight.
    [[nodiscard]] Count count_beside(Attribute attribute, TargetCut const& cut, Target target) const {
        Count n = 0;
        for (Slot const slot : slots_) {
            Value const value = data_.value(slot, attribute);
            n += (value == cut.value || value == cut.next) && targets_[slot] == target ? data_.vote(slot).weight : 0;
        }
        return n;
    }

    // The candidates as a list: both values of each, the rows at its left, and, which tells of the sums of targets,
    // whether it is the best one.
    using Listed = std::vector<std::tuple<Value, Value, Count, bool>>;
    [[nodiscard]] Listed listed(Candidates& candidates) const {
        Scoring const scoring{Criterion::squared_error, 1, totals_, {}, sum_of_targets(rows())};
        auto const nothing = [](Candidate&, Count*) {};
        auto const no_rank = [](Candidate const&) { return Rank{0}; };
        auto const best = candidates.choose(scoring, Noise({}, key_, totals_, {}), nothing, no_rank);
        Listed list;
        for (std::size_t i = 0; i < candidates.size(); ++i)
            list.emplace_back(candidates[i].value, candidates[i].next, candidates.n_left(i), best == i);
        return list;
    }

private:
    Dataset data_;
    Key key_;
    std::vector<std::uint32_t> ends_;
    std::vector<Count> totals_ = {0};
    std::vector<Slot> slots_;
    std::vector<Count> weights_;
    std::vector<Target> targets_;
};

// Draws targets and weights that are few, many, or as large as they can be.
class HostileVotes {
public:
    explicit HostileVotes(std::mt19937& random) : random_(random), kind_(random() % 4), has_weights_(random() % 2) {}

    Target target() {
        auto const drawn = static_cast<Target>(random_());
        switch (kind_) {
            case 0:
                return drawn % 3;
            case 1:
                return drawn % 10 == 0 ? drawn : 7;
            case 2:
                return drawn % 2 == 0 ? kMaxTarget : -kMaxTarget + drawn % 4;
            default:
                return drawn * 256 - (Target{1} << 39);
        }
    }
    Count weight() { return !has_weights_ ? 1 : random_() % 4 != 0 ? 1 + random_() % 3 : 1 + random_() % 1000000; }

private:
    std::mt19937& random_;
    std::uint32_t kind_;
    bool has_weights_;
};

inline float hostile_value(std::mt19937& random, std::uint32_t kind) {
    constexpr float kExtremes[] = {0.0F, -0.0F, 1e-45F, -3.4e38F, 3.4e38F, std::numeric_limits<float>::quiet_NaN()};
    switch (kind) {
        case 0:
            return static_cast<float>(random() % 7);
        case 1:
            return random() % 4 == 0 ? static_cast<float>(random() % 30) : 0.0F;
        case 2:
            return kExtremes[random() % std::size(kExtremes)];
        default:
            return static_cast<float>(random()) / 1024 - 1000;
    }
}

}  // namespace deciduous
