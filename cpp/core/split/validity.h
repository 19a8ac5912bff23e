// Valid candidates (docs/algorithm.md, 2.5): the one home of the rule, and of the threshold that a candidate stands
// for.
#pragma once

#include <cstddef>

#include "base/types.h"

namespace deciduous {

// A candidate is valid unless all rows at its value and at the next one are of the same class. `is_present(y)` tells
// whether class y has rows there.
template <typename NClasses, typename IsPresent>
[[nodiscard]] bool is_valid_candidate(NClasses n_classes, IsPresent const& is_present) {
    std::size_t n_present = 0;
    for (std::size_t y = 0; y < n_classes; ++y)
        n_present += is_present(y) ? 1 : 0;
    return n_present > 1;
}

// The midpoint of two neighbouring values, so that low <= threshold < high.
[[nodiscard]] inline Value threshold_between(Value low, Value high) {
    if (high == kMissing)
        return kInfinity;
    double const middle = (static_cast<double>(to_float(low)) + static_cast<double>(to_float(high))) / 2;
    Value const threshold = to_value(static_cast<float>(middle));
    return threshold < high ? threshold : low;
}

}  // namespace deciduous
