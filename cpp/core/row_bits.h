// The columns of two values once more, row by row, a bit each: which of hundreds of indicators vary among a few rows is
// then a matter of a few operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "column.h"
#include "types.h"
#include "wiped.h"

namespace deciduous {

class RowBits {
public:
    using Bits = std::uint64_t;
    static constexpr std::size_t kBitsPerWord = 64;

    // Gives a bit to each column that has two codes at most. To be called once.
    void choose_columns(std::span<Column const> columns) {
        for (Column const& column : columns) {
            place_.push_back(column.is_two_valued() ? n_bits_ : kNoBit);
            n_bits_ += column.is_two_valued() ? 1 : 0;
        }
        n_words_ = (n_bits_ + kBitsPerWord - 1) / kBitsPerWord;
    }

    [[nodiscard]] bool is_chosen() const { return !place_.empty(); }
    [[nodiscard]] std::size_t n_words() const { return n_words_; }  // per row
    [[nodiscard]] Bits const* row(Slot slot) const { return bits_.data() + slot * n_words_; }

    // Where a column's bit is. Of no meaning if the column has more than two codes by now.
    [[nodiscard]] std::optional<std::size_t> place(std::size_t column) const {
        return place_.empty() || place_[column] == kNoBit ? std::nullopt : std::optional<std::size_t>(place_[column]);
    }

    void resize(std::size_t n_slots) { bits_.resize(n_slots * n_words_, 0); }

    void set(Slot slot, std::span<Column const> columns) {
        clear(slot);
        for (std::size_t column = 0; column < place_.size(); ++column)
            if (place_[column] != kNoBit && columns[column].is_two_valued())
                word(slot, place_[column]) |= Bits{columns[column].code(slot)} << (place_[column] % kBitsPerWord);
    }

    void clear(Slot slot) {
        for (std::size_t i = 0; i < n_words_; ++i)
            bits_[slot * n_words_ + i] = 0;
    }

    [[nodiscard]] std::size_t memory() const {
        return bits_.capacity() * sizeof(Bits) + place_.capacity() * sizeof(std::uint32_t);
    }
    [[nodiscard]] std::span<Bits const> all() const { return bits_; }

private:
    static constexpr std::uint32_t kNoBit = ~std::uint32_t{0};

    [[nodiscard]] Bits& word(Slot slot, std::size_t place) { return bits_[slot * n_words_ + place / kBitsPerWord]; }

    std::vector<std::uint32_t> place_;  // per column
    std::uint32_t n_bits_ = 0;
    std::size_t n_words_ = 0;
    WipedVector<Bits> bits_;
};

}  // namespace deciduous
