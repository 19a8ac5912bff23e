// Candidates at values of the data: the paper's valid thresholds (docs/algorithm.md, 2.5).
//
// They are recorded in one of four forms.
//
// *Pair*: the attribute has two values on the node, so there is one candidate.
//
// *Prefix*: all distinct values whose rank is within a bound, valid or not, the largest value among them. A new valid
// candidate is either in the prefix, and becomes valid before our eyes, or beyond it and rightly ignored.
//
// *Boundaries*: all valid candidates and nothing else. The values between two of them, a *run*, are of one class, or
// the run is a single value. So a row that comes to or leaves a run of its own class changes no candidate. This is the
// form for rare classes, and for attributes that separate the classes well, where few candidates are valid and a prefix
// would have to hold almost every value.
//
// *Sample*: the sampled candidates and a few in reserve, and nothing else. Whether others became valid shows only in
// the rows beside a change, so the node looks there at every change. This is the form for nodes so small that the rows
// are quickly looked through, and the other forms would take more memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "candidates.h"

namespace deciduous {

// How many valid candidates to sample, and how many more to keep.
struct SampleSize {
    std::uint32_t n_thresholds;  // or kAllThresholds
    std::uint32_t reserve;
    bool is_short;  // whether records shall be short
};

// Offers the candidates of an attribute, and appends a record of them if `records` is given. False if the attribute is
// constant.
[[nodiscard]] bool scan_valid(NodeView const& node, Attribute attribute, SampleSize const& size, BestSplit& best,
                              WipedVector<Word>* records, Workspace& work);

// Whether the candidates are known after the change, and the attribute is not constant. If not, it must be scanned
// again.
[[nodiscard]] bool update_valid(Word* record, Key node, std::span<Count const> totals, Dataset const& data,
                                Changes const& changes, SampleSize const& size, Workspace& work);

// Whether a sample with the changes counted is one of the rows of the node, which are those after the changes; it is
// made so if that is possible without a scan.
[[nodiscard]] bool settle_sample(Word* record, NodeView const& node, Changes const& changes, SampleSize const& size,
                                 Workspace& work);

// Appends a copy of a record, as short as can be.
void append_shortened(Word const* record, NodeView const& node, SampleSize const& size, WipedVector<Word>& records,
                      Workspace& work);

void offer_valid(Word const* record, Key node, BestSplit& best, Workspace& work);

[[nodiscard]] bool valid_equals_recount(Word const* record, NodeView const& node, std::uint32_t n_thresholds,
                                        Workspace& work);

}  // namespace deciduous
