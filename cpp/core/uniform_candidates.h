// Candidates at uniform places of the attribute's range: random nodes, Extra Trees (docs/algorithm.md, 2.6).
// Thresholds at the first arrivals in the range of an attribute's numbers, and the cut between numbers and NaN.
#pragma once

#include <cstddef>
#include <cstdint>

#include "candidates.h"

namespace deciduous {

struct UniformShape {
    std::uint32_t n_arrivals;
    bool is_random_node;  // then the cut before NaN is only a last resort
};

// Offers the candidates of an attribute, and appends a record of them if `records` is given. False if the attribute is
// constant.
[[nodiscard]] bool scan_uniform(NodeView const& node, Attribute attribute, UniformShape shape, BestSplit& best,
                                WipedVector<Word>* records, Workspace& work);

// Whether the candidates are known after the change, and the attribute is not constant. If not, it must be scanned
// again.
[[nodiscard]] bool update_uniform(Word* record, std::size_t n_classes, Dataset const& data, Changes const& changes);

void offer_uniform(Word const* record, Key node, UniformShape shape, BestSplit& best, Workspace& work);

[[nodiscard]] bool uniform_equals_recount(Word const* record, NodeView const& node, UniformShape shape,
                                          Workspace& work);

}  // namespace deciduous
