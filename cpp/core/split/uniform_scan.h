// Uniform thresholds (docs/algorithm.md, 2.6), found on the rows of a node: they depend on the rows through the range
// of their numbers alone.
#pragma once

#include <cstdint>

#include "split/scan.h"

namespace deciduous {

struct UniformRequest {
    std::uint32_t n_arrivals;
    bool is_random_node;  // where NaN is told from numbers only if that is all there is to tell
    bool is_recorded = false;
};

// Appends the candidates of an attribute, unless it is constant. If a record is to be made of them, the thresholds that
// it finds are sorted.
[[nodiscard]] Finding scan_uniform(NodeRows const& node, Attribute attribute, UniformRequest const& request,
                                   Candidates& candidates, ScanScratch& scratch);

// The rank of the candidate between two values: all arrivals between them make the same split, so the first one wins.
[[nodiscard]] inline Rank rank_of_pair(TwoValues values, UniformRequest const& request) {
    return values.high == kMissing ? request.n_arrivals : 0;
}

// For recounts: the thresholds of an attribute that varies, sorted.
void find_thresholds_again(NodeRows const& node, Attribute attribute, UniformRequest const& request,
                           ScanScratch& scratch);

// The threshold that a candidate of this node stands for.
[[nodiscard]] Value uniform_threshold(Key node, Candidate const& candidate);

}  // namespace deciduous
