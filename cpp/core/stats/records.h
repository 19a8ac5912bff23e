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

// Appends a record of what was found, if it has at most max_words; whether it has.
[[nodiscard]] bool append_record(Attribute attribute, Finding finding, Sampling const& sampling, NodeRows const& node,
                                 std::size_t max_words, ScanScratch const& scratch, WipedVector<Word>& records);

// Whether the candidates are known after the changes, and the attribute is not constant. If not, it must be scanned
// again. `totals` are those after the changes.
[[nodiscard]] bool update_record(Word* record, Key node, std::span<Count const> totals, Dataset const& data,
                                 Changes const& changes, Sampling const& sampling, Tuning const& tuning,
                                 ScanScratch& scratch);

// Appends the sampled candidates.
void offer_record(Word const* record, Key node, std::span<Count const> totals, Sampling const& sampling,
                  Candidates& candidates, ScanScratch& scratch);

// Whether a record says what the rows of its node say.
[[nodiscard]] bool equals_recount(Word const* record, NodeRows const& node, Sampling const& sampling,
                                  Tuning const& tuning, ScanScratch& scratch);

// Fewest words that a record of the attribute is likely to take, for rows of so many classes: what is longer than a
// node may remember need not be made.
[[nodiscard]] std::size_t least_record_length(NodeRows const& node, Attribute attribute, Sampling const& sampling,
                                              Tuning const& tuning);

}  // namespace deciduous
