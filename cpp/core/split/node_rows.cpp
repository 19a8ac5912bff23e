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
    Ordered* const values = values_.take(n_rows_ + kernels::kLanes);
    if (node.small != nullptr) {
        auto const known = node.small->values(node.data, attribute, node.set);
        kernels::chosen->keep_marked(&node.set, 1, known.data(), values);
    } else {
        gather_values(node.data, attribute, node.slots, values);
    }
}

}  // namespace deciduous
