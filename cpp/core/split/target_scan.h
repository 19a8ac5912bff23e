// The candidates of an attribute in a regression forest (docs/algorithm.md, 2.10), with the sums of the targets at the
// left of each. What records of valid candidates need is found, too; uniform ones have none.
#pragma once

#include <cstdint>
#include <span>

#include "split/scan.h"
#include "split/uniform_scan.h"
#include "split/valid_scan.h"

namespace deciduous {

// Appends those of n cuts that are candidates and wanted, with the rows and the sums at the left of each.
template <typename CutAt, typename IsWanted>
void offer_cuts(Attribute attribute, std::size_t n, CutAt const& cut_at, IsWanted const& is_wanted,
                Candidates& candidates) {
    TargetSum sum = 0;
    Count n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        TargetCut const cut = cut_at(i);
        sum += cut.sum;
        n_left += cut.n_rows;
        if (!cut.is_candidate() || !is_wanted(cut))
            continue;
        *candidates.append(attribute, cut.value, cut.next, 1) = n_left;
        candidates.set_target_sum(candidates.size() - 1, sum);
    }
}

[[nodiscard]] Finding scan_valid_targets(NodeRows const& node, Attribute attribute, ValidRequest const& request,
                                         Tuning const& tuning, Candidates& candidates, ScanScratch& scratch);

// Finds the cuts within a bound, as a record has them.
void find_target_cuts_again(NodeRows const& node, Attribute attribute, Rank bound, ScanScratch& scratch);

[[nodiscard]] Finding scan_uniform_targets(NodeRows const& node, Attribute attribute, UniformRequest const& request,
                                           Candidates& candidates, ScanScratch& scratch);

// What a node knows of the targets of its rows: their sum by weight, and two of them.
[[nodiscard]] TargetSum sum_of_targets(NodeRows const& node);
[[nodiscard]] TwoTargets two_targets_of(NodeRows const& node);

}  // namespace deciduous
