// How a node at some depth chooses its split (docs/algorithm.md, 2.4), and the scan of one attribute by that rule.
#pragma once

#include <cstdint>

#include "base/params.h"
#include "base/tuning.h"
#include "split/scan.h"
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
    if (sampling.scheme == CandidateScheme::valid)
        return scan_valid(node, attribute, {sampling.n_thresholds, is_recorded}, tuning, candidates, scratch);
    return scan_uniform(node, attribute, sampling.uniform(is_recorded), candidates, scratch);
}

// The same for several attributes at once that are known to have two values on a node of few rows.
inline void scan_pairs(NodeRows const& node, std::span<Attribute const> attributes, Sampling const& sampling,
                       Candidates& candidates, ScanScratch& scratch) {
    RowSet const dominant = node.dominant == kNoClass ? 0 : node.small->classes()[node.dominant];
    append_pairs(node, attributes, scratch.low_rows, candidates, [&](TwoValues values, RowSet low) -> Rank {
        if (sampling.scheme == CandidateScheme::uniform)
            return rank_of_pair(values, sampling.uniform());
        return (low & ~dominant) != 0 ? 1 : 0;
    });
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
