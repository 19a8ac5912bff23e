// What the ways of finding the valid candidates of an attribute share: what is scanned, and memory for it.
#pragma once

#include <cstdint>

#include "base/params.h"
#include "base/tuning.h"
#include "split/ranks.h"
#include "split/scan.h"
#include "split/valid_scan.h"

namespace deciduous {

// Whether all valid candidates are fewer than the cuts in a prefix with n_wanted of them, which is that share of all
// cuts.
[[nodiscard]] inline bool are_boundaries_shorter(double n_valid, double n_wanted, double n_cuts) {
    return n_valid * n_valid < n_wanted * n_cuts;
}

// Appends the candidate between two values, if both have rows.
[[nodiscard]] inline Finding take_pair(NodeRows const& node, Attribute attribute, FoundPair const& pair,
                                       Candidates& candidates) {
    Count const n_high = sum(pair.at_high);
    if (n_high == 0 || n_high == sum(node.totals))
        return Finding::constant;
    append_pair(attribute, pair.values, pair.at_high.data(), node.totals, candidates,
                [&](std::span<Count const> at_low) { return Rank{is_marked(node.dominant, at_low)}; });
    return Finding::pair;
}

class AttributeScan {
public:
    AttributeScan(NodeRows const& node, Attribute attribute, Tuning const& tuning, ScanScratch& scratch)
        : node_(node),
          attribute_(attribute),
          tuning_(tuning),
          scratch_(scratch),
          ranks_(node.keys, attribute, node.dominant) {}

protected:
    [[nodiscard]] std::uint32_t n_wanted(ValidRequest const& request) const {
        if (request.n_thresholds == kAllThresholds)
            return kAllThresholds;
        return request.n_thresholds + (request.is_recorded ? tuning_.reserve : 0);
    }

    // The rank of the last of the valid candidates that are wanted.
    [[nodiscard]] Rank last_valid(std::uint32_t n_candidates) const {
        return last_wanted(scratch_.valid_ranks, n_candidates);
    }

    NodeRows const& node_;
    Attribute attribute_;
    Tuning const& tuning_;
    ScanScratch& scratch_;
    Ranks ranks_;
};

}  // namespace deciduous
