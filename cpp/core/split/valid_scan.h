// Candidates at values of the data: the paper's valid thresholds (docs/algorithm.md, 2.5), found on the rows of a node.
//
// Where enough of the candidates are likely to be valid, they are looked up in the rows in the order of their ranks,
// until k are found: a few passes over the rows, which processors do many rows at a time. Else the rows are sorted, or
// counted by value.
#pragma once

#include <cstdint>

#include "base/tuning.h"
#include "split/scan.h"

namespace deciduous {

// What to find of an attribute.
struct ValidRequest {
    std::uint32_t n_thresholds;  // or kAllThresholds
    bool is_recorded;            // whether cuts are wanted, too, with some candidates in reserve
};

// Appends the sampled candidates of an attribute, unless it is constant.
[[nodiscard]] Finding scan_valid(NodeRows const& node, Attribute attribute, ValidRequest const& request,
                                 Tuning const& tuning, Candidates& candidates, ScanScratch& scratch);

// For recounts, by the table of all values: whether the attribute has two of them, with their rows, …
[[nodiscard]] bool find_pair_again(NodeRows const& node, Attribute attribute, Tuning const& tuning,
                                   ScanScratch& scratch);

// … and its cuts as a record with this bound would have them.
void find_cuts_again(NodeRows const& node, Attribute attribute, bool are_boundaries, Rank bound, Tuning const& tuning,
                     ScanScratch& scratch);

}  // namespace deciduous
