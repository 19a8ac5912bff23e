#include "data/column.h"

#include <algorithm>

#include "base/room.h"

namespace deciduous {

namespace {

constexpr Value kCleared = 0;

template <typename Vector>
void append_raw(std::vector<std::uint8_t>& bytes, Vector const& vector) {
    auto const* begin = reinterpret_cast<std::uint8_t const*>(vector.data());
    bytes.insert(bytes.end(), begin, begin + vector.size() * sizeof(typename Vector::value_type));
}

}  // namespace

void Column::reserve(std::size_t n_slots) {
    if (is_coded_)
        make_room(codes_, n_slots);
    else
        make_room(values_, n_slots);
}

Column Column::picked(std::span<Slot const> slots) const {
    Column column(max_codes_);
    column.resize(slots.size());
    for (Slot place = 0; place < slots.size(); ++place)
        column.give(place, (*this)[slots[place]], {});
    return column;
}

void Column::resize(std::size_t n_slots) {
    if (is_coded_)
        codes_.resize(n_slots, Code{0});
    else
        values_.resize(n_slots, kCleared);
}

bool Column::set(Slot slot, Value value) {
    if (!is_coded_) {
        values_[slot] = value;
        return true;
    }
    auto const code = code_of(value);
    if (!code)
        return false;
    codes_[slot] = *code;
    ++uses_[*code];
    return true;
}

void Column::clear(Slot slot) {
    if (!is_coded_) {
        values_[slot] = kCleared;
        return;
    }
    Code const code = std::exchange(codes_[slot], Code{0});
    if (--uses_[code] == 0)
        drop_code(code);
}

// The value's code, or kNoCode if no row has it.
std::uint32_t Column::find_code(Value value) const {
    auto const place = std::ranges::lower_bound(order_, value, {}, [this](Code code) { return values_[code]; });
    return place != order_.end() && values_[*place] == value ? *place : kNoCode;
}

// The value's code, made if need be; nothing if the dictionary is full.
std::optional<Code> Column::code_of(Value value) {
    if (auto const known = find_code(value); known != kNoCode)
        return static_cast<Code>(known);
    if (order_.size() == max_codes_)
        return std::nullopt;
    auto const unused = std::ranges::find(uses_, Count{0});
    auto const code = static_cast<Code>(unused - uses_.begin());
    auto const place = std::ranges::lower_bound(order_, value, {}, [this](Code held) { return values_[held]; });
    auto const position = place - order_.begin();
    order_.reserve(order_.size() + 1);
    if (unused == uses_.end()) {
        uses_.reserve(uses_.size() + 1);
        values_.push_back(value);  // the last that may fail
        uses_.push_back(0);
    } else {
        values_[code] = value;
    }
    order_.insert(order_.begin() + position, code);
    return code;
}

void Column::drop_code(Code code) {
    order_.erase(std::ranges::find(order_, code));
    values_[code] = kCleared;
}

void Column::become_plain(std::span<Slot const> free_slots) {
    WipedVector<Value> values(codes_.size());
    std::ranges::transform(codes_, values.begin(), [this](Code code) { return values_[code]; });
    // Free slots have some code, and with it got the value of rows that do not concern them.
    for (Slot const slot : free_slots)
        values[slot] = kCleared;
    is_coded_ = false;
    values_ = std::move(values);
    give_back(codes_);
    give_back(uses_);
    give_back(order_);
}

std::size_t Column::memory() const {
    return sizeof(*this) + codes_.capacity() * sizeof(Code) + values_.capacity() * sizeof(Value) +
           uses_.capacity() * sizeof(Count) + order_.capacity() * sizeof(Code);
}

std::optional<std::string> Column::find_inconsistency(std::span<Slot const> used) const {
    if (!is_coded_)
        return std::nullopt;
    std::vector<Count> uses(values_.size(), 0);
    for (Slot const slot : used)
        ++uses[codes_[slot]];
    if (uses != uses_)
        return "the dictionary's use counts differ from a recount";
    auto const n_used = static_cast<std::size_t>(std::ranges::count_if(uses, [](Count n) { return n > 0; }));
    if (n_used != order_.size())
        return "the dictionary orders a code that no row uses";
    // With "less or equal" a pair of equal neighbours counts as unsorted too.
    if (!std::ranges::is_sorted(order_, std::ranges::less_equal{}, [this](Code code) { return values_[code]; }))
        return "the dictionary is out of order";
    return std::nullopt;
}

void Column::append_raw_bytes(std::vector<std::uint8_t>& bytes) const {
    append_raw(bytes, codes_);
    append_raw(bytes, values_);
}

}  // namespace deciduous
