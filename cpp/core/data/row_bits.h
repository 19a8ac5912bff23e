// Attributes of two values once more, row by row, a bit each: which of hundreds of indicators vary among a few rows is
// then a matter of a few operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/kernels.h"
#include "base/room.h"
#include "base/types.h"
#include "base/wiped.h"
#include "data/column.h"
#include "data/schema.h"

namespace deciduous {

// The bits of some rows, word by word: word w of row i is `word(w)[i]`.
struct BitColumns {
    std::uint64_t* words = nullptr;
    std::size_t n_rows = 0;  // from one word's beginning to the next one's: those of these rows and others
    [[nodiscard]] bool empty() const { return words == nullptr; }
    [[nodiscard]] std::uint64_t* word(std::size_t w) const { return words + w * n_rows; }
    // Those of rows from some place on.
    [[nodiscard]] BitColumns from(std::size_t place) const { return {empty() ? nullptr : words + place, n_rows}; }
};

class RowBits {
public:
    using Bits = std::uint64_t;
    static constexpr std::size_t kBitsPerWord = 64;

    // Columns of more categories than that have none.
    RowBits(Schema const& schema, std::uint32_t max_categories)
        : max_categories_(max_categories), places_(schema.n_attributes(), kNoBit) {
        numeric_without_.reserve(schema.n_columns());
    }

    // Gives a bit to each attribute of a column that has two codes at most, or is categorical with few categories. To
    // be called once.
    void choose(Schema const& schema, std::span<Column const> columns) {
        for (std::size_t column = 0; column < columns.size(); ++column) {
            auto const [first, n_categories] = schema.columns()[column];
            if (n_categories == 0 && columns[column].is_two_valued())
                give_bit(first);
            for (Attribute a = first; n_categories <= max_categories_ && a < first + n_categories; ++a)
                give_bit(a);
            if (n_categories > max_categories_) {
                columns_without_.push_back(column);
                std::fill_n(places_.begin() + first, n_categories, kIndicatorWithoutBit);
            }
        }
        n_words_ = (attributes_.size() + kBitsPerWord - 1) / kBitsPerWord;
        attributes_.resize(n_words_ * kBitsPerWord, kNoAttribute);
        is_chosen_ = true;
        note_use(schema);
    }

    [[nodiscard]] bool is_chosen() const { return is_chosen_; }
    [[nodiscard]] std::size_t n_words() const { return n_words_; }  // per row
    [[nodiscard]] Bits const* row(Slot slot) const { return bits_.data() + slot * n_words_; }

    // Whether an attribute is known to have two values at most, on whatever rows.
    [[nodiscard]] bool is_binary(Attribute attribute) const { return places_[attribute] != kNoBit; }

    // Where an attribute's bit is, if it has one.
    [[nodiscard]] std::optional<std::size_t> place(Attribute attribute) const {
        return has_bit(attribute) ? std::optional<std::size_t>(places_[attribute]) : std::nullopt;
    }

    // A column that has got a third value has no bit any more.
    void forget_widened(Schema const& schema, std::span<Column const> columns) {
        bool has_widened = false;  // nothing below may fail
        for (std::size_t column = 0; column < columns.size(); ++column)
            if (auto const [first, n_categories] = schema.columns()[column];
                n_categories == 0 && has_bit(first) && !columns[column].is_two_valued()) {
                places_[first] = kNoBit;
                has_widened = true;
            }
        if (has_widened)
            note_use(schema);
    }

    // The attribute of a bit, and which bits of a word have one.
    [[nodiscard]] Attribute attribute(std::size_t place) const { return attributes_[place]; }
    [[nodiscard]] Bits in_use(std::size_t word) const { return in_use_[word]; }

    // The attributes of these bits, which are in use; how many they are. There is room for whole words.
    [[nodiscard]] std::size_t list(std::span<Bits const> bits, Attribute* attributes) const {
        return kernels::chosen->keep_marked(bits.data(), n_words_, reinterpret_cast<Ordered const*>(attributes_.data()),
                                            reinterpret_cast<Ordered*>(attributes));
    }

    // What has no bits: numeric attributes, and categorical columns.
    [[nodiscard]] std::span<Attribute const> numeric_without() const { return numeric_without_; }
    [[nodiscard]] std::span<std::size_t const> columns_without() const { return columns_without_; }

    void resize(std::size_t n_slots) {
        make_room(bits_, n_slots * n_words_);
        bits_.resize(n_slots * n_words_, 0);
    }

    // The bit of a two-valued column is its code, that of an indicator is whether it is on. A few rows at a time, so
    // that their bits stay in the caches while one column after the other is read.
    void set(std::span<Slot const> slots, Schema const& schema, std::span<Column const> columns) {
        constexpr std::size_t kAtOnce = 256;
        for (; !slots.empty(); slots = slots.subspan(std::min(kAtOnce, slots.size()))) {
            auto const some = slots.first(std::min(kAtOnce, slots.size()));
            std::ranges::for_each(some, [this](Slot slot) { clear(slot); });
            for (std::size_t column = 0; column < columns.size(); ++column)
                if (Schema::ColumnRange const range = schema.columns()[column]; has_bit(range.first))
                    set_column(some, range, columns[column], schema, column);
        }
    }

    void clear(Slot slot) {
        for (std::size_t i = 0; i < n_words_; ++i)
            bits_[slot * n_words_ + i] = 0;
    }

    [[nodiscard]] bool is_set(Slot slot, std::size_t place) const {
        return (row(slot)[place / kBitsPerWord] >> (place % kBitsPerWord) & 1) != 0;
    }

    [[nodiscard]] std::size_t memory() const {
        return (bits_.capacity() + in_use_.capacity()) * sizeof(Bits) + places_.capacity() * sizeof(std::uint32_t) +
               (attributes_.capacity() + numeric_without_.capacity()) * sizeof(Attribute) +
               columns_without_.capacity() * sizeof(std::size_t);
    }
    [[nodiscard]] std::span<Bits const> all() const { return bits_; }

private:
    static constexpr std::uint32_t kNoBit = ~std::uint32_t{0};
    static constexpr std::uint32_t kIndicatorWithoutBit = kNoBit - 1;
    static constexpr Attribute kNoAttribute = ~Attribute{0};

    [[nodiscard]] bool has_bit(Attribute attribute) const { return places_[attribute] < kIndicatorWithoutBit; }

    void give_bit(Attribute attribute) {
        places_[attribute] = static_cast<std::uint32_t>(attributes_.size());
        attributes_.push_back(attribute);
    }

    void note_use(Schema const& schema) {
        in_use_.assign(n_words_, 0);
        for (std::size_t place = 0; place < attributes_.size(); ++place)
            if (attributes_[place] != kNoAttribute && has_bit(attributes_[place]))
                in_use_[place / kBitsPerWord] |= Bits{1} << (place % kBitsPerWord);
        numeric_without_.clear();
        for (auto const [first, n_categories] : schema.columns())
            if (n_categories == 0 && !has_bit(first))
                numeric_without_.push_back(first);
    }

    void set_column(std::span<Slot const> slots, Schema::ColumnRange range, Column const& held, Schema const& schema,
                    std::size_t column) {
        if (range.n_categories == 0) {
            std::size_t const place = places_[range.first];
            Bits* const bits = bits_.data() + place / kBitsPerWord;
            for (Slot const slot : slots)  // without branches, as their outcomes may be random
                bits[slot * n_words_] |= Bits{held.code(slot) == 1} << (place % kBitsPerWord);
            return;
        }
        for (Slot const slot : slots)
            if (auto const on = schema.indicator(column, held[slot]))
                set_bit(slot, places_[*on]);
    }

    void set_bit(Slot slot, std::size_t place) {
        bits_[slot * n_words_ + place / kBitsPerWord] |= Bits{1} << (place % kBitsPerWord);
    }

    std::uint32_t max_categories_;
    std::vector<std::uint32_t> places_;  // per attribute
    std::vector<Attribute> attributes_;  // per bit of whole words
    std::vector<Bits> in_use_;           // per word
    std::vector<Attribute> numeric_without_;
    std::vector<std::size_t> columns_without_;
    std::size_t n_words_ = 0;
    bool is_chosen_ = false;
    WipedVector<Bits> bits_;
};

}  // namespace deciduous
