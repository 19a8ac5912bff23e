#include "split/node_rows.h"

#include <algorithm>

namespace deciduous {

void gather_values(Dataset const& data, Attribute attribute, std::span<Slot const> slots, Ordered* values) {
    data.visit(attribute, [&](auto view) {
        for (std::size_t i = 0; i < slots.size(); ++i)
            values[i] = to_ordered(view(slots[i]));
    });
}

void ClassValues::gather(NodeRows const& node, Attribute attribute) {
    n_rows_ = node.size();
    ends_ = node.ends;
    std::size_t const n_padded = kernels::whole_vectors(n_rows_);
    Ordered* const values = values_.take(n_padded);
    gather_values(node.data, attribute, node.slots, values);
    std::fill(values + n_rows_, values + n_padded, to_ordered(kNoValue));
    range_ = kernels::chosen->find_range(values, n_rows_);
}

}  // namespace deciduous
