// The one owner of the training rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "column.h"
#include "id_index.h"
#include "row_bits.h"
#include "schema.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

class Dataset {
public:
    Dataset(Schema schema, std::size_t max_codes)
        : schema_(std::move(schema)), columns_(schema_.n_columns(), Column(max_codes)), row_bits_(schema_) {}

    // Throws InvalidArgument unless these rows can be inserted: ids new and distinct, classes known, weights positive
    // and not too large in sum.
    void require_insertable(std::span<RowId const> ids, std::span<Vote const> votes, std::size_t n_classes) const;

    // Adds rows that can be inserted; their slots in the order of the rows.
    std::vector<Slot> insert(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes,
                             std::size_t n_threads);

    // Overwrites the rows and frees their slots.
    void erase(std::span<Slot const> slots);

    [[nodiscard]] std::optional<Slot> find(RowId id) const { return index_.find(id, ids_); }

    [[nodiscard]] Schema const& schema() const { return schema_; }
    [[nodiscard]] std::span<Column const> columns() const { return columns_; }

    // The column of an attribute that is no indicator, else null.
    [[nodiscard]] Column const* numeric_column(Attribute attribute) const {
        AttributeSource const source = schema_.source(attribute);
        return source.is_indicator() ? nullptr : &columns_[source.column];
    }

    // Calls `visitor` with the view that reads this attribute fastest.
    template <typename Visitor>
    decltype(auto) visit(Attribute attribute, Visitor&& visitor) const {
        AttributeSource const source = schema_.source(attribute);
        Column const& column = columns_[source.column];
        return source.is_indicator() ? column.visit_indicator(source.category, std::forward<Visitor>(visitor))
                                     : column.visit(std::forward<Visitor>(visitor));
    }

    [[nodiscard]] RowBits const& row_bits() const { return row_bits_; }

    // Where the attribute's bit is among the bits of a row, if it has one.
    [[nodiscard]] std::optional<std::size_t> bit_of(Attribute attribute) const { return row_bits_.place(attribute); }

    [[nodiscard]] Value value(Slot slot, Attribute attribute) const {
        AttributeSource const source = schema_.source(attribute);
        return source.value(columns_[source.column][slot]);
    }

    [[nodiscard]] Vote vote(Slot slot) const { return {labels_[slot], weights_.empty() ? 1 : weights_[slot]}; }
    [[nodiscard]] std::span<Label const> labels() const { return labels_; }
    [[nodiscard]] std::span<Count const> weights() const { return weights_; }  // empty if all of them are 1
    [[nodiscard]] RowId id(Slot slot) const { return ids_[slot]; }

    [[nodiscard]] Attribute n_attributes() const { return schema_.n_attributes(); }
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

    Schema schema_;
    std::vector<Column> columns_;
    RowBits row_bits_;
    WipedVector<Label> labels_;
    WipedVector<Count> weights_;  // empty while all of them are 1
    WipedVector<RowId> ids_;
    IdIndex index_;
    std::vector<Slot> free_slots_;
    std::uint64_t total_weight_ = 0;
};

}  // namespace deciduous
