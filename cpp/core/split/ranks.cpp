#include "split/ranks.h"

#include <algorithm>

#include "base/params.h"
#include "split/impurity.h"

namespace deciduous {

Label dominant_class(Key node, std::span<Count const> totals) {
    if (totals.empty())
        return kNoClass;
    auto const largest = static_cast<std::size_t>(std::ranges::max_element(totals) - totals.begin());
    std::uint64_t const n_rows = sum(totals);
    // From node to node another share, so that rows that come or go do not change the rule everywhere at once.
    std::uint64_t const most_others = n_rows * ((1U << 14) + (node >> 51)) >> 16;
    return n_rows - totals[largest] > most_others ? kNoClass : static_cast<Label>(largest);
}

Rank last_wanted(std::span<Ordered const> ranks, std::size_t n_wanted) {
    if (n_wanted == kAllThresholds || ranks.size() <= n_wanted)
        return kEverything;
    return from_ordered(kernels::chosen->find_bound(ranks.data(), ranks.size(), n_wanted));
}

}  // namespace deciduous
