// Attributes of two values, row by row.
#include "data/row_bits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace deciduous;

namespace {

// Columns: two-valued, of many values, categorical with few categories, categorical with many.
constexpr std::array<std::uint32_t, 4> kCategories = {0, 0, 3, 1000};
constexpr std::size_t kRows = 5;

struct Rows {
    Schema schema{kCategories};
    std::vector<Column> columns = std::vector<Column>(kCategories.size(), Column(256));
    RowBits bits{schema, 128};

    Rows() {
        for (Column& column : columns)
            column.resize(kRows);
        for (Slot slot = 0; slot < kRows; ++slot) {
            auto const number = static_cast<float>(slot);
            columns[0].give(slot, to_value(slot % 2 == 0 ? 4.0F : 9.0F), {});
            columns[1].give(slot, to_value(number), {});
            columns[2].give(slot, slot == 4 ? kMissing : to_value(static_cast<float>(slot % 3)), {});
            columns[3].give(slot, to_value(number), {});
        }
        bits.choose(schema, columns);
        bits.resize(kRows);
        std::vector<Slot> slots(kRows);
        std::iota(slots.begin(), slots.end(), Slot{0});
        bits.set(slots, schema, columns);
    }
};

}  // namespace

TEST_CASE("two-valued columns and few categories have bits, all else has none") {
    Rows const rows;
    CHECK(rows.bits.place(0));
    CHECK_FALSE(rows.bits.place(1));
    for (Attribute const indicator : {2U, 3U, 4U})
        CHECK(rows.bits.place(indicator));
    CHECK_FALSE(rows.bits.place(5));
    CHECK(std::ranges::equal(rows.bits.numeric_without(), std::array<Attribute, 1>{1}));
    CHECK(std::ranges::equal(rows.bits.columns_without(), std::array<std::size_t, 1>{3}));
}

TEST_CASE("the bit of a two-valued column is its code, that of an indicator whether it is on") {
    Rows const rows;
    for (Slot slot = 0; slot < kRows; ++slot) {
        CHECK(rows.bits.is_set(slot, *rows.bits.place(0)) == (rows.columns[0].code(slot) == 1));
        for (Attribute category = 0; category < 3; ++category)
            CHECK(rows.bits.is_set(slot, *rows.bits.place(2 + category)) == (slot != 4 && slot % 3 == category));
    }
}

TEST_CASE("a cleared row has no bit set") {
    Rows rows;
    rows.bits.clear(1);
    for (std::size_t word = 0; word < rows.bits.n_words(); ++word)
        CHECK(rows.bits.row(1)[word] == 0);
    CHECK(rows.bits.is_set(2, *rows.bits.place(4)));
}

TEST_CASE("a column that gets a third value loses its bit") {
    Rows rows;
    REQUIRE((rows.bits.in_use(0) & 1) == 1);
    rows.columns[0].resize(kRows + 1);
    rows.columns[0].give(kRows, to_value(5.0F), {});
    rows.bits.forget_widened(rows.schema, rows.columns);
    CHECK_FALSE(rows.bits.place(0));
    CHECK((rows.bits.in_use(0) & 1) == 0);
    CHECK(rows.bits.numeric_without().size() == 2);
}
