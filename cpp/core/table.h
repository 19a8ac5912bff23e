// The distinct values of an attribute on a node with their class counts.
#pragma once

#include <optional>

#include "candidates.h"

namespace deciduous {

// An attribute that has two values or fewer on all rows: counting those at the higher one tells everything.
struct TwoValued {
    Value low;
    Value high;
};

// Whether it is one, and if so fills work.at_high with the rows, per class, at the higher value. With one value, both
// are that.
[[nodiscard]] std::optional<TwoValued> count_two_valued(NodeView const& node, Attribute attribute, Workspace& work);

// Fills work.values (ascending) and work.value_counts (n_classes per value).
void tabulate(NodeView const& node, Attribute attribute, Workspace& work);

}  // namespace deciduous
