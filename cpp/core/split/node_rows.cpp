#include "split/node_rows.h"

#include <algorithm>

namespace deciduous {

void ClassValues::gather(NodeRows const& node, Attribute attribute) {
    std::size_t const n = node.size();
    std::size_t const n_padded = kernels::whole_vectors(n);
    ends_ = node.ends;
    Ordered* const values = values_.take(n_padded);
    node.data.visit(attribute, [&](auto view) {
        Slot const* const slots = node.slots.data();
        for (std::size_t i = 0; i < n; ++i)
            values[i] = to_ordered(view(slots[i]));
    });
    std::fill(values + n, values + n_padded, to_ordered(kNoValue));
    range_ = kernels::find_range(values, n);
}

}  // namespace deciduous
