// One attribute of all rows. Columns of at most 256 distinct values (one-hot, ages, counts) keep a byte per row and a
// dictionary; the others keep the values themselves, for good. The encoding depends on the history and has no
// influence on any forest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "base/wiped.h"
#include "data/schema.h"

namespace deciduous {

using Code = std::uint8_t;

// How to read a coded column in a tight loop.
struct CodedView {
    Code const* codes;
    Value const* values;
    Value operator()(Slot slot) const { return values[codes[slot]]; }
};

struct PlainView {
    Value const* values;
    Value operator()(Slot slot) const { return values[slot]; }
};

// How to read the indicator of a category: on for the rows that hold it.
template <typename Stored>
struct IndicatorView {
    Stored const* held;
    std::uint32_t wanted;
    Value operator()(Slot slot) const { return held[slot] == wanted ? kIndicatorOn : kIndicatorOff; }
};

// Which code a value is likely to have, by a hash of the value: the one that the last value of that hash had.
using CodeGuesses = std::array<Code, 256>;

class Column {
public:
    // Keeps a dictionary of up to max_codes values, which are 1 to 256.
    explicit Column(std::size_t max_codes) : max_codes_(std::clamp<std::size_t>(max_codes, 1, 256)) {}

    void reserve(std::size_t n_slots);
    void resize(std::size_t n_slots);

    // The values of these slots, one after the other, kept as briefly as can be.
    [[nodiscard]] Column picked(std::span<Slot const> slots) const;

    // Gives an empty slot a value. If the dictionary has no room for it, the column gives it up, and overwrites the
    // slots that hold no row.
    void give(Slot slot, Value value, std::span<Slot const> free_slots) {
        if (!set(slot, value)) {
            become_plain(free_slots);
            (void)set(slot, value);
        }
    }

    // Gives empty slots their values, up to the first one that is not in the dictionary; how many got one.
    // `value_of(i)` is that of slot i among these.
    template <typename ValueOf>
    std::size_t give_known(std::span<Slot const> slots, ValueOf const& value_of, CodeGuesses& guesses) {
        if (!is_coded_) {
            for (std::size_t i = 0; i < slots.size(); ++i)
                values_[slots[i]] = value_of(i);
            return slots.size();
        }
        if (order_.size() == 2 && values_.size() == 2)
            return give_one_of_two(slots, value_of);
        std::size_t i = 0;
        for (; i < slots.size(); ++i) {
            std::optional<Code> const code = known_code(value_of(i), guesses);
            if (!code)
                break;
            codes_[slots[i]] = *code;
            ++uses_[*code];
        }
        return i;
    }

    // Overwrites the slot's value; a dictionary entry that no row uses any more is overwritten too.
    void clear(Slot slot);

    // Overwrites what a slot may have got that was given nothing yet, when the column became plain.
    void clear_ungiven(Slot slot) {
        if (!is_coded_)
            values_[slot] = 0;
    }

    [[nodiscard]] Value operator[](Slot slot) const { return is_coded_ ? values_[codes_[slot]] : values_[slot]; }

    [[nodiscard]] bool is_coded() const { return is_coded_; }

    // Whether all codes ever in use are 0 and 1.
    [[nodiscard]] bool is_two_valued() const { return is_coded_ && values_.size() <= 2; }
    [[nodiscard]] std::size_t n_codes() const { return values_.size(); }  // ever in use
    [[nodiscard]] Code code(Slot slot) const { return codes_[slot]; }
    [[nodiscard]] CodedView coded() const { return {codes_.data(), values_.data()}; }
    [[nodiscard]] PlainView plain() const { return {values_.data()}; }

    // Codes in use, by ascending value. Only of a coded column.
    [[nodiscard]] std::span<Code const> codes_in_order() const { return order_; }

    // Calls `visitor` with the view that reads this column fastest.
    template <typename Visitor>
    decltype(auto) visit(Visitor&& visitor) const {
        return is_coded_ ? std::forward<Visitor>(visitor)(coded()) : std::forward<Visitor>(visitor)(plain());
    }

    // The same for the indicator of a category.
    template <typename Visitor>
    decltype(auto) visit_indicator(Value category, Visitor&& visitor) const {
        if (is_coded_)
            return std::forward<Visitor>(visitor)(IndicatorView<Code>{codes_.data(), find_code(category)});
        return std::forward<Visitor>(visitor)(IndicatorView<Value>{values_.data(), category});
    }

    [[nodiscard]] std::size_t memory() const;

    // Whether the dictionary counts what `used` slots hold; the first disagreement or nothing.
    [[nodiscard]] std::optional<std::string> find_inconsistency(std::span<Slot const> used) const;

    // Every byte that may hold a value, for tests that search for what should be gone.
    void append_raw_bytes(std::vector<std::uint8_t>& bytes) const;

private:
    static constexpr std::uint32_t kNoCode = 256;

    [[nodiscard]] bool set(Slot slot, Value value);
    void become_plain(std::span<Slot const> free_slots);
    [[nodiscard]] std::uint32_t find_code(Value value) const;
    [[nodiscard]] std::optional<Code> code_of(Value value);
    void drop_code(Code code);

    // Without a branch on which of the two it is, as its outcome would be random.
    template <typename ValueOf>
    std::size_t give_one_of_two(std::span<Slot const> slots, ValueOf const& value_of) {
        Value const first = values_[0];
        Value const second = values_[1];
        Count n_second = 0;
        std::size_t i = 0;
        for (; i < slots.size(); ++i) {
            Value const value = value_of(i);
            if (value != first && value != second)
                break;
            Code const code = value == second ? 1 : 0;
            codes_[slots[i]] = code;
            n_second += code;
        }
        uses_[0] += static_cast<Count>(i) - n_second;
        uses_[1] += n_second;
        return i;
    }

    // The code of a value if it is in the dictionary.
    [[nodiscard]] std::optional<Code> known_code(Value value, CodeGuesses& guesses) const {
        Code& guess = guesses[value * 0x9E3779B1U >> 24];
        if (guess < values_.size() && values_[guess] == value && uses_[guess] > 0)
            return guess;
        std::uint32_t const code = find_code(value);
        if (code == kNoCode)
            return std::nullopt;
        return guess = static_cast<Code>(code);
    }

    std::size_t max_codes_;
    bool is_coded_ = true;
    WipedVector<Code> codes_;    // coded: per slot
    WipedVector<Value> values_;  // coded: per code; plain: per slot
    std::vector<Count> uses_;    // coded: rows per code
    std::vector<Code> order_;    // coded: codes in use, ascending by value
};

}  // namespace deciduous
