// How a node at some depth chooses its split (docs/algorithm.md, 2.4), and the scan of one attribute by that rule.
#pragma once

#include <cstdint>

#include "base/params.h"
#include "base/tuning.h"
#include "split/scan.h"
#include "split/target_scan.h"
#include "split/uniform_scan.h"
#include "split/valid_scan.h"
#include "split/validity.h"

namespace deciduous {

struct Sampling {
    bool is_random;  // a random node, else a greedy one
    CandidateScheme scheme;
    std::uint32_t n_attributes;
    std::uint32_t n_thresholds;

    [[nodiscard]] UniformRequest uniform(bool is_recorded = false) const {
        return {n_thresholds, is_random, is_recorded};
    }

    // Whether candidates need sums of targets, where rows have targets: a random node has a single one, whatever its
    // score is.
    [[nodiscard]] bool needs_sums() const { return !is_random; }
};

[[nodiscard]] inline Sampling sampling_at(std::uint32_t depth, Params const& params) {
    if (depth < params.random_depth)
        return {true, CandidateScheme::uniform, 1, 1};
    return {false, params.candidates, params.max_features, params.n_thresholds};
}

// Appends the candidates of an attribute, unless it is constant, and finds what a record needs if one is made.
[[nodiscard]] inline Finding scan_attribute(NodeRows const& node, Attribute attribute, Sampling const& sampling,
                                            bool is_recorded, Tuning const& tuning, Candidates& candidates,
                                            ScanScratch& scratch) {
    if (!node.targets.empty() && sampling.needs_sums())
        return sampling.scheme == CandidateScheme::valid
                   ? scan_valid_targets(node, attribute, {sampling.n_thresholds, is_recorded}, tuning, candidates,
                                        scratch)
                   : scan_uniform_targets(node, attribute, sampling.uniform(), candidates, scratch);
    if (sampling.scheme == CandidateScheme::valid)
        return scan_valid(node, attribute, {sampling.n_thresholds, is_recorded}, tuning, candidates, scratch);
    return scan_uniform(node, attribute, sampling.uniform(is_recorded), candidates, scratch);
}

// What a candidate between two values notes as its rank, by the rows per class at the lower one.
[[nodiscard]] inline Rank noted_rank(TwoValues values, std::span<Count const> at_low, Label dominant,
                                     Sampling const& sampling) {
    if (sampling.scheme == CandidateScheme::uniform)
        return rank_of_pair(values, sampling.uniform());
    return is_marked(dominant, at_low) ? 1 : 0;
}

// The rank of a candidate of a node with this dominant class, which decides ties.
[[nodiscard]] inline Rank rank_of(Candidate const& its, CandidateKeys const& node, Label dominant,
                                  Sampling const& sampling) {
    if (sampling.scheme == CandidateScheme::uniform)
        return its.rank;
    return Ranks(node, its.attribute, dominant).between(its.rank != 0, its.value, its.next);
}

// The split that a chosen candidate stands for.
[[nodiscard]] inline Split split_of(Candidate const& chosen, Count n_left, Key node, Sampling const& sampling) {
    Value const threshold = sampling.scheme == CandidateScheme::valid ? threshold_between(chosen.value, chosen.next)
                                                                      : uniform_threshold(node, chosen);
    return {chosen.attribute, threshold, n_left};
}

}  // namespace deciduous
