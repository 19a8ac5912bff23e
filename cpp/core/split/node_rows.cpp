#include "split/node_rows.h"

#include <algorithm>

namespace deciduous {

void ClassValues::gather(Dataset const& data, Attribute attribute, std::span<Slot const> slots,
                         std::span<std::uint32_t const> ends) {
    std::size_t const n = slots.size();
    std::size_t const n_padded = kernels::whole_vectors(n);
    n_rows_ = n;
    ends_ = ends;
    Ordered* const values = values_.take(n_padded);
    data.visit(attribute, [&](auto view) {
        for (std::size_t i = 0; i < n; ++i)
            values[i] = to_ordered(view(slots[i]));
    });
    std::fill(values + n, values + n_padded, to_ordered(kNoValue));
    range_ = n == 0 ? kernels::Range{} : kernels::chosen->find_range(values, n);
}

}  // namespace deciduous
