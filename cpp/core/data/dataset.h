// The one owner of the training rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tuning.h"
#include "base/types.h"
#include "base/wiped.h"
#include "data/column.h"
#include "data/id_index.h"
#include "data/row_bits.h"
#include "data/schema.h"

namespace deciduous {

class Dataset {
public:
    Dataset(Schema schema, Tuning const& tuning, bool has_targets = false)
        : schema_(std::move(schema)),
          tuning_(tuning),
          has_targets_(has_targets),
          columns_(schema_.n_columns(), Column(tuning.max_codes)),
          row_bits_(schema_, tuning.max_categories_with_bits) {}

    // Throws InvalidArgument unless these rows can be inserted once those in `leaving` slots (ascending) are gone: ids
    // new and distinct, classes known, targets in their range, weights positive and not too large in sum.
    void require_insertable(std::span<RowId const> ids, std::span<WeightedLabel const> votes, std::size_t n_classes,
                            std::span<Slot const> leaving = {}) const;

    // Adds rows that can be inserted, or none if memory runs out; their slots in the order of the rows. Until those
    // that leave are erased, an id may have two slots, and `find` gives the former one.
    std::vector<Slot> insert(std::span<RowId const> ids, Matrix const& rows, std::span<WeightedLabel const> votes,
                             std::size_t n_threads);

    // Makes sure that so many rows can be erased whatever happens.
    void prepare_to_erase(std::size_t n_rows);

    void forget_preparations() noexcept;  // gives memory back that was not needed

    // Overwrites the rows, which was prepared or are those of the last `insert`, and frees their slots.
    void erase(std::span<Slot const> slots) noexcept;

    // The share of slots without rows, compared with those that have rows.
    [[nodiscard]] bool is_wasteful(double max_waste) const {
        return static_cast<double>(free_slots_.size()) > max_waste * static_cast<double>(n_rows());
    }

    // The same rows in the same order without free slots between them, kept as if they had just come.
    [[nodiscard]] Dataset compacted() const;

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

    // Of an attribute that has two values at most: the values of rows whose bit is clear, and set. Else nothing.
    struct BitValues {
        Value clear;
        Value set;
    };
    [[nodiscard]] std::optional<BitValues> values_of_bits(Attribute attribute) const {
        Column const* const column = numeric_column(attribute);
        if (column == nullptr)
            return BitValues{kIndicatorOff, kIndicatorOn};
        if (!bit_of(attribute))
            return std::nullopt;
        return BitValues{column->coded().values[0], column->coded().values[column->n_codes() - 1]};
    }

    [[nodiscard]] Value value(Slot slot, Attribute attribute) const {
        AttributeSource const source = schema_.source(attribute);
        return source.value(columns_[source.column][slot]);
    }

    [[nodiscard]] WeightedLabel vote(Slot slot) const {
        return {labels_[slot], weights_.empty() ? 1 : weights_[slot], has_targets_ ? targets_[slot] : 0};
    }
    [[nodiscard]] std::span<Label const> labels() const { return labels_; }
    [[nodiscard]] std::span<Count const> weights() const { return weights_; }  // empty if all of them are 1
    [[nodiscard]] bool has_targets() const { return has_targets_; }            // as in a regression forest
    [[nodiscard]] std::span<Target const> targets() const { return targets_; }
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
    void reserve(std::size_t n_rows, std::span<WeightedLabel const> votes);
    [[nodiscard]] std::vector<Slot> take_slots(std::size_t n);
    void fill(std::span<Slot const> slots, Matrix const& rows, std::span<std::size_t> n_given, std::size_t n_threads);
    void fill_column(Column& column, std::span<Slot const> slots, Value const* values, std::size_t step,
                     CodeGuesses& guesses, std::size_t& n_given);
    void fill_bits(std::span<Slot const> slots, std::size_t n_threads);
    void set_weights(std::span<Slot const> slots, std::span<WeightedLabel const> votes);

    Schema schema_;
    Tuning tuning_;
    bool has_targets_;
    std::vector<Column> columns_;
    RowBits row_bits_;
    WipedVector<Label> labels_;
    WipedVector<Count> weights_;   // empty while all of them are 1
    WipedVector<Target> targets_;  // empty unless there are any
    WipedVector<RowId> ids_;
    IdIndex index_;
    std::vector<Slot> free_slots_;
    std::uint64_t total_weight_ = 0;
};

}  // namespace deciduous
