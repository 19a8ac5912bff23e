// Attributes that have two values or fewer on all rows, one-hot columns and categories among them: counting the rows at
// the higher value tells everything.
#pragma once

#include <optional>
#include <vector>

#include "split/node_rows.h"

namespace deciduous {

struct TwoValues {
    Value low;
    Value high;
};

// Whether the attribute is one, and if so puts the rows, per class, at the higher value into `at_high`. With one value,
// both are that.
[[nodiscard]] std::optional<TwoValues> count_two_valued(NodeRows const& node, Attribute attribute,
                                                        std::vector<Count>& at_high);

}  // namespace deciduous
