// What the ways of finding the cuts of an attribute in a regression forest without sorting the rows share.
#pragma once

#include <cstddef>

#include "split/node_rows.h"
#include "split/ranks.h"
#include "split/scan.h"

namespace deciduous {

class TargetCuts {
protected:
    TargetCuts(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : node_(node), scratch_(scratch), ranks_(node.keys, attribute, node.dominant) {}

    void rank_valid() {
        scratch_.valid_ranks.clear();
        for (TargetCut const& cut : scratch_.targets.cuts)
            if (cut.is_candidate())
                scratch_.valid_ranks.push_back(to_ordered(ranks_.above(cut.value)));
    }

    // Drops the cuts beyond a bound; their rows are counted with those of the next one.
    void drop_beyond(Rank bound) {
        scratch_.targets.bound = bound;
        auto& cuts = scratch_.targets.cuts;
        std::size_t n_kept = 0;
        Count n_rows = 0;
        TargetSum sum = 0;
        for (TargetCut& cut : cuts) {
            n_rows += cut.n_rows;
            sum += cut.sum;
            if (ranks_.above(cut.value) > bound)
                continue;
            cut.n_rows = n_rows;
            cut.sum = sum;
            cuts[n_kept++] = cut;
            n_rows = 0;
            sum = 0;
        }
        cuts.resize(n_kept);
    }

    NodeRows const& node_;
    ScanScratch& scratch_;
    Ranks ranks_;
};

}  // namespace deciduous
