// Candidates at values of the data: the paper's valid thresholds (docs/algorithm.md, 2.5).
//
// They are recorded in one of three forms.
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
#pragma once

#include <cstddef>
#include <cstdint>

#include "candidates.h"

namespace deciduous {

// How many valid candidates to sample, and how many more to keep.
struct SampleSize {
    std::uint32_t n_thresholds;  // or kAllThresholds
    std::uint32_t reserve;
    std::uint32_t min_sampled_rows;
};

// Offers the candidates of an attribute, and appends a record of them if `records` is given. False if the attribute is
// constant.
[[nodiscard]] bool scan_valid(NodeView const& node, Attribute attribute, SampleSize const& size, BestSplit& best,
                              WipedVector<Word>* records, Workspace& work);

// Whether the candidates are known after the change, and the attribute is not constant. If not, it must be scanned
// again.
[[nodiscard]] bool update_valid(Word* record, Key node, std::span<Count const> totals, Dataset const& data,
                                Changes const& changes, SampleSize const& size, Workspace& work);

void offer_valid(Word const* record, Key node, BestSplit& best, Workspace& work);

[[nodiscard]] bool valid_equals_recount(Word const* record, NodeView const& node, std::uint32_t n_thresholds,
                                        Workspace& work);

}  // namespace deciduous
