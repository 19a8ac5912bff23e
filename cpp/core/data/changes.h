// Rows that come and rows that go.
#pragma once

#include <cstddef>
#include <span>

#include "base/types.h"
#include "base/wiped.h"
#include "data/dataset.h"

namespace deciduous {

// A row that comes or goes, with what every tree will ask about it.
struct ChangedRow {
    Slot slot;
    WeightedLabel vote;
    Value const* values = nullptr;  // of all attributes, if they were laid out

    [[nodiscard]] Value value(Dataset const& data, Attribute attribute) const {
        return values != nullptr ? values[attribute] : data.value(slot, attribute);
    }
};

using ChangedRowList = WipedVector<ChangedRow>;  // a target tells who a row was

// The memory of so many changes is kept from one update to the next.
inline constexpr std::size_t kFewChanges = 64;

// Rows that leave and rows that come, both by ascending slot. All are in the data set while trees change.
struct Changes {
    std::span<ChangedRow> removed;
    std::span<ChangedRow> added;
    [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// Rows that are about to come or go.
class ChangedRows {
public:
    ChangedRows() = default;
    ChangedRows(Dataset const& data, std::span<Slot const> slots, std::size_t max_values) {
        take(data, slots, max_values);
    }

    // Of these slots, ascending. Values are laid out if they are not too many: every tree asks for them again and
    // again.
    void take(Dataset const& data, std::span<Slot const> slots, std::size_t max_values);

    [[nodiscard]] std::span<ChangedRow> all() { return rows_; }

    // Forgets them, and overwrites their values. The memory of a few is kept for others.
    void forget() noexcept;

private:
    ChangedRowList rows_;
    WipedVector<Value> values_;
};

// Takes the removed rows out of class counts and puts the added ones in.
void apply_to_counts(std::span<Count> counts, Changes const& changes);

}  // namespace deciduous
