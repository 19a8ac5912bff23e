// One attribute of all rows. Columns of at most 256 distinct values (one-hot, ages, counts) keep a byte per row and a
// dictionary; the others keep the values themselves, for good. The encoding depends on the history and has no
// influence on any forest.
#pragma once

#include <algorithm>
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
        // Without a branch if there are two, as its outcome would be random.
        Code const likely = values_.size() == 2 ? Code{value == values_[1]} : recent_;
        if (is_coded_ && likely < values_.size() && values_[likely] == value && uses_[likely] > 0) {
            codes_[slot] = likely;
            ++uses_[likely];
        } else if (!set(slot, value)) {
            become_plain(free_slots);
            (void)set(slot, value);
        }
    }

    // Overwrites the slot's value; a dictionary entry that no row uses any more is overwritten too.
    void clear(Slot slot);

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

    std::size_t max_codes_;
    bool is_coded_ = true;
    Code recent_ = 0;            // coded: of the value that came last, as many are the same
    WipedVector<Code> codes_;    // coded: per slot
    WipedVector<Value> values_;  // coded: per code; plain: per slot
    std::vector<Count> uses_;    // coded: rows per code
    std::vector<Code> order_;    // coded: codes in use, ascending by value
};

}  // namespace deciduous
