#include "data/changes.h"

#include "base/room.h"

namespace deciduous {

void ChangedRows::take(Dataset const& data, std::span<Slot const> slots, std::size_t max_values) {
    forget();
    std::size_t const n_attributes = data.n_attributes();
    if (slots.size() * n_attributes <= max_values) {
        values_.resize(slots.size() * n_attributes);
        for (Attribute a = 0; a < n_attributes; ++a)
            for (std::size_t i = 0; i < slots.size(); ++i)
                values_[i * n_attributes + a] = data.value(slots[i], a);
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
        rows_.push_back({slots[i], data.vote(slots[i]), values_.empty() ? nullptr : values_.data() + i * n_attributes});
}

void ChangedRows::forget() noexcept {
    wipe_and_clear(values_);
    wipe_and_clear(rows_);
}

void apply_to_counts(std::span<Count> counts, Changes const& changes) {
    for (ChangedRow const& row : changes.removed)
        counts[row.vote.label] -= row.vote.weight;
    for (ChangedRow const& row : changes.added)
        counts[row.vote.label] += row.vote.weight;
}

}  // namespace deciduous
