// The one owner of the training rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "column.h"
#include "id_index.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

// Rows as the caller has them: n x p float32 in row-major order.
struct Matrix {
    float const* data;
    std::size_t n_rows;
    std::size_t n_columns;
    [[nodiscard]] float const* row(std::size_t i) const { return data + i * n_columns; }
};

class Dataset {
public:
    Dataset(std::size_t n_attributes, std::size_t max_codes) : columns_(n_attributes, Column(max_codes)) {}

    // Throws InvalidArgument unless these rows can be inserted: ids new and distinct, classes known, weights positive
    // and not too large in sum.
    void require_insertable(std::span<RowId const> ids, std::span<Vote const> votes, std::size_t n_classes) const;

    // Adds rows that can be inserted; their slots in the order of the rows.
    std::vector<Slot> insert(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes);

    // Overwrites the rows and frees their slots.
    void erase(std::span<Slot const> slots);

    [[nodiscard]] std::optional<Slot> find(RowId id) const { return index_.find(id, ids_); }

    [[nodiscard]] Column const& column(Attribute attribute) const { return columns_[attribute]; }
    [[nodiscard]] Value value(Slot slot, Attribute attribute) const { return columns_[attribute][slot]; }
    [[nodiscard]] Vote vote(Slot slot) const { return {labels_[slot], weights_.empty() ? 1 : weights_[slot]}; }
    [[nodiscard]] RowId id(Slot slot) const { return ids_[slot]; }

    [[nodiscard]] Attribute n_attributes() const { return static_cast<Attribute>(columns_.size()); }
    [[nodiscard]] std::size_t n_rows() const { return index_.size(); }
    [[nodiscard]] std::size_t n_slots() const { return ids_.size(); }

    // The slots that hold rows, ascending.
    [[nodiscard]] std::vector<Slot> slots() const;

    [[nodiscard]] std::size_t memory() const;
    [[nodiscard]] std::optional<std::string> find_inconsistency() const;
    [[nodiscard]] std::vector<std::uint8_t> raw_bytes() const;

private:
    [[nodiscard]] std::vector<Slot> take_slots(std::size_t n);
    void set_weights(std::span<Slot const> slots, std::span<Vote const> votes);

    std::vector<Column> columns_;
    WipedVector<Label> labels_;
    WipedVector<Count> weights_;  // empty while all of them are 1
    WipedVector<RowId> ids_;
    IdIndex index_;
    std::vector<Slot> free_slots_;
    std::uint64_t total_weight_ = 0;
};

}  // namespace deciduous
