// The distinct values of a column on a node with their class counts, found by histogram or by sorting.
#pragma once

#include "candidates.h"

namespace deciduous {

// Fills work.values (ascending) and work.value_counts (n_classes per value).
void tabulate(NodeView const& node, Attribute attribute, Workspace& work);

}  // namespace deciduous
