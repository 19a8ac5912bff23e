// Records of all kinds: made from what a scan found, kept true as rows come and go, asked for their candidates, and
// compared with a recount.
#pragma once

#include <cstddef>
#include <span>

#include "base/tuning.h"
#include "base/wiped.h"
#include "data/changes.h"
#include "split/sampling.h"
#include "stats/record.h"

namespace deciduous {

// What its records have to know of a node.
struct NodeCounts {
    NodeCounts(Key its_key, std::span<Count const> its_totals, bool its_has_targets)
        : keys(its_key),
          totals(its_totals),
          dominant(its_has_targets ? kNoClass : dominant_class(its_key, its_totals)),
          has_targets(its_has_targets) {}
    CandidateKeys keys;
    std::span<Count const> totals;  // rows per class
    Label dominant;
    bool has_targets;  // as in a regression forest
};

// Appends a record of what was found, if it has at most max_words; whether it has.
[[nodiscard]] bool append_record(Attribute attribute, Finding finding, Sampling const& sampling, NodeRows const& node,
                                 std::size_t max_words, ScanScratch const& scratch, WipedVector<Word>& records);

// Whether the candidates are known after the changes, and the attribute is not constant. If not, it must be scanned
// again. The counts are those after the changes.
[[nodiscard]] bool update_record(Word* record, NodeCounts const& node, Dataset const& data, Changes const& changes,
                                 Sampling const& sampling, Tuning const& tuning, ScanScratch& scratch);

// Appends the sampled candidates.
void offer_record(Word const* record, NodeCounts const& node, Sampling const& sampling, Candidates& candidates,
                  ScanScratch& scratch);

// Whether a record says what the rows of its node say.
[[nodiscard]] bool equals_recount(Word const* record, NodeRows const& node, Sampling const& sampling,
                                  Tuning const& tuning, ScanScratch& scratch);

// So many words the records of these attributes are likely to take, or more: what is longer than a node may remember
// need not be made.
[[nodiscard]] std::size_t likely_length(NodeRows const& node, std::span<Attribute const> attributes,
                                        Sampling const& sampling, Tuning const& tuning);

}  // namespace deciduous
