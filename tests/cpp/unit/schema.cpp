// What the columns of a row mean to the trees.
#include "data/schema.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace deciduous;

namespace {

constexpr std::array<std::uint32_t, 3> kCategories = {0, 3, 0};  // a categorical column between two numeric ones

}  // namespace

TEST_CASE("a numeric column is one attribute, a categorical one as many as it has categories") {
    Schema const schema(kCategories);
    CHECK(schema.n_columns() == 3);
    CHECK(schema.n_attributes() == 5);
    CHECK(schema.columns()[1].first == 1);
    CHECK(schema.columns()[2].first == 4);
    CHECK_FALSE(schema.source(0).is_indicator());
    CHECK(schema.source(2).is_indicator());
    CHECK(schema.source(4).column == 2);
}

TEST_CASE("an indicator is on for the rows of its category alone") {
    Schema const schema(kCategories);
    std::array<float, 3> const row = {-2.5F, 1.0F, 7.0F};
    CHECK(schema.value(row.data(), 0) == to_value(-2.5F));
    CHECK(schema.value(row.data(), 1) == kIndicatorOff);
    CHECK(schema.value(row.data(), 2) == kIndicatorOn);
    CHECK(schema.value(row.data(), 3) == kIndicatorOff);
    CHECK(schema.value(row.data(), 4) == to_value(7.0F));
    CHECK(schema.indicator(1, to_value(1.0F)) == Attribute{2});
}

TEST_CASE("a row of no category has all indicators off") {
    Schema const schema(kCategories);
    std::array<float, 3> const row = {0.0F, NAN, 0.0F};
    for (Attribute const attribute : {1U, 2U, 3U})
        CHECK(schema.value(row.data(), attribute) == kIndicatorOff);
    CHECK_FALSE(schema.indicator(1, kMissing));
}

TEST_CASE("a categorical column admits the numbers of its categories and NaN") {
    Schema const schema(kCategories);
    for (float const admitted : {0.0F, 1.0F, 2.0F, NAN})
        CHECK(schema.admits(1, admitted));
    for (float const other : {-1.0F, 3.0F, 0.5F, INFINITY, -INFINITY, 3e9F})
        CHECK_FALSE(schema.admits(1, other));
    CHECK(schema.admits(0, -1e30F));
}

TEST_CASE("more attributes than a node can name are refused") {
    std::vector<std::uint32_t> n_categories = {static_cast<std::uint32_t>(kMaxAttributes), 0};
    CHECK_THROWS_AS(Schema{n_categories}, InvalidArgument);
}
