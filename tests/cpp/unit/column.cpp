// One column of all rows, with a dictionary or without.
#include "data/column.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

using namespace deciduous;

namespace {

// A column whose slot i holds numbers[i].
Column column_of(std::vector<float> const& numbers, std::size_t max_codes) {
    Column column(max_codes);
    column.resize(numbers.size());
    for (Slot slot = 0; slot < numbers.size(); ++slot)
        column.give(slot, to_value(numbers[slot]), {});
    return column;
}

bool holds(Column const& column, std::vector<float> const& numbers) {
    for (Slot slot = 0; slot < numbers.size(); ++slot)
        if (column[slot] != to_value(numbers[slot]))
            return false;
    return true;
}

std::vector<Slot> slots_below(std::size_t n) {
    std::vector<Slot> slots(n);
    std::iota(slots.begin(), slots.end(), Slot{0});
    return slots;
}

// Whether the four bytes of a value are anywhere in the memory of a column.
bool remembers(Column const& column, float number) {
    std::vector<std::uint8_t> bytes;
    column.append_raw_bytes(bytes);
    Value const value = to_value(number);
    auto const* const begin = reinterpret_cast<std::uint8_t const*>(&value);
    return !std::ranges::search(bytes, std::span(begin, sizeof(value))).empty();
}

}  // namespace

TEST_CASE("a column gives back what it was given, coded or plain") {
    std::vector<float> const numbers = {3, 1, 2, 1, 3, -7};
    for (std::size_t const max_codes : {1, 3, 4, 256}) {
        Column const column = column_of(numbers, max_codes);
        CHECK(column.is_coded() == (max_codes >= 4));
        CHECK(holds(column, numbers));
        CHECK_FALSE(column.find_inconsistency(slots_below(numbers.size())));
    }
}

TEST_CASE("codes are in use in the order of their values") {
    Column const column = column_of({3, 1, 2, 1}, 256);
    std::vector<Value> values;
    for (Code const code : column.codes_in_order())
        values.push_back(column.coded().values[code]);
    CHECK(values == std::vector{to_value(1), to_value(2), to_value(3)});
}

TEST_CASE("a value that no row has any more is gone, and its code is free") {
    for (std::size_t const max_codes : {2, 256}) {
        Column column = column_of({1234.5F, 2, 1}, max_codes);
        REQUIRE(remembers(column, 1234.5F));
        column.clear(0);
        CHECK_FALSE(remembers(column, 1234.5F));
        column.give(0, to_value(9), {});
        CHECK(holds(column, {9, 2, 1}));
    }
}

TEST_CASE("free slots hold no value of others once the dictionary is given up") {
    Column column = column_of({77.5F, 77.5F, 2}, 2);
    column.clear(1);
    std::vector<Slot> const free_slots = {1};
    column.resize(4);
    column.give(3, to_value(5), free_slots);
    CHECK_FALSE(column.is_coded());
    CHECK(column[1] == 0);
    column.clear(0);
    CHECK_FALSE(remembers(column, 77.5F));
}

TEST_CASE("two values make a two-valued column, a third one ends that for good") {
    Column column = column_of({1, 2, 1}, 256);
    CHECK(column.is_two_valued());
    column.resize(4);
    column.give(3, to_value(3), {});
    CHECK_FALSE(column.is_two_valued());
    column.clear(3);
    CHECK_FALSE(column.is_two_valued());
}

TEST_CASE("views read what the column holds") {
    for (std::size_t const max_codes : {1, 256}) {
        Column const column = column_of({0, 2, 1, 2}, max_codes);
        column.visit([&](auto const& view) {
            for (Slot slot = 0; slot < 4; ++slot)
                CHECK(view(slot) == column[slot]);
        });
        column.visit_indicator(to_value(2), [](auto const& view) {
            CHECK(view(0) == kIndicatorOff);
            CHECK(view(1) == kIndicatorOn);
            CHECK(view(3) == kIndicatorOn);
        });
        column.visit_indicator(to_value(5), [](auto const& view) { CHECK(view(1) == kIndicatorOff); });
    }
}

TEST_CASE("a picked column is kept as briefly as if its values had just come") {
    Column column = column_of({1, 2, 3, 4, 1}, 3);
    REQUIRE_FALSE(column.is_coded());
    std::vector<Slot> const picked_slots = {4, 1, 0};
    Column const picked = column.picked(picked_slots);
    CHECK(picked.is_coded());
    CHECK(holds(picked, {1, 2, 1}));
}

TEST_CASE("a dictionary that miscounts its rows is found out") {
    Column const column = column_of({1, 2, 1}, 256);
    CHECK(column.find_inconsistency(slots_below(2)));
}
