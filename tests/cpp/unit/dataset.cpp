// The owner of the training rows.
#include "data/dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

using namespace deciduous;

namespace {

constexpr std::array<std::uint32_t, 2> kCategories = {0, 3};
constexpr std::size_t kClasses = 2;

// Rows whose number is 100 more than their id, of category id % 3 and class id % 2.
std::vector<Slot> insert(Dataset& data, std::vector<RowId> const& ids, Count weight = 1) {
    std::vector<float> x;
    std::vector<WeightedLabel> votes;
    for (RowId const id : ids) {
        x.push_back(static_cast<float>(id + 100));
        x.push_back(static_cast<float>(id % 3));
        votes.push_back({static_cast<Label>(id % 2), weight});
    }
    data.require_insertable(ids, votes, kClasses);
    return data.insert(ids, {x.data(), ids.size(), kCategories.size()}, votes, 2);
}

void erase(Dataset& data, std::vector<RowId> const& ids) {
    std::vector<Slot> slots;
    for (RowId const id : ids)
        slots.push_back(*data.find(id));
    data.prepare_to_erase(slots.size());
    data.erase(slots);
}

void check_row(Dataset const& data, RowId id) {
    auto const slot = data.find(id);
    REQUIRE(slot);
    CHECK(data.id(*slot) == id);
    CHECK(data.vote(*slot).label == static_cast<Label>(id % 2));
    CHECK(data.value(*slot, 0) == to_value(static_cast<float>(id + 100)));
    for (Attribute category = 0; category < 3; ++category)
        CHECK(data.value(*slot, 1 + category) == (id % 3 == category ? kIndicatorOn : kIndicatorOff));
}

}  // namespace

TEST_CASE("rows are found by their ids, with all their values") {
    for (std::uint32_t const max_codes : {1, 4, 256}) {
        Tuning tuning;
        tuning.max_codes = max_codes;
        Dataset data(Schema(kCategories), tuning);
        insert(data, {5, 9, 2});
        insert(data, {7});
        CHECK(data.n_rows() == 4);
        for (RowId const id : {2, 5, 7, 9})
            check_row(data, id);
        CHECK_FALSE(data.find(3));
        CHECK_FALSE(data.find_inconsistency());
    }
}

TEST_CASE("an erased row is gone from memory, and its slot is used again") {
    Dataset data(Schema(kCategories), Tuning{});
    insert(data, {1, 23456, 3});
    auto const remembers = [&](auto const& number) {
        auto const bytes = data.raw_bytes();
        auto const* const begin = reinterpret_cast<std::uint8_t const*>(&number);
        return !std::ranges::search(bytes, std::span(begin, sizeof(number))).empty();
    };
    REQUIRE(remembers(RowId{23456}));
    erase(data, {23456});
    CHECK_FALSE(data.find(23456));
    CHECK_FALSE(remembers(RowId{23456}));
    CHECK_FALSE(remembers(to_value(23556.0F)));
    insert(data, {4});
    CHECK(data.n_slots() == 3);
    check_row(data, 4);
    CHECK_FALSE(data.find_inconsistency());
}

TEST_CASE("a compact copy has the same rows in the same order, and no gaps") {
    Dataset data(Schema(kCategories), Tuning{});
    insert(data, {1, 2, 3, 4, 5});
    erase(data, {2, 4});
    CHECK(data.is_wasteful(0.5));
    Dataset const compact = data.compacted();
    CHECK_FALSE(compact.is_wasteful(0.0));
    CHECK(compact.slots() == std::vector<Slot>{0, 1, 2});
    CHECK(compact.id(0) == 1);
    CHECK(compact.id(2) == 5);
    for (RowId const id : {1, 3, 5})
        check_row(compact, id);
    CHECK_FALSE(compact.find_inconsistency());
}

TEST_CASE("weights take memory only once a row has one") {
    Dataset data(Schema(kCategories), Tuning{});
    insert(data, {1, 2});
    CHECK(data.weights().empty());
    insert(data, {3}, 7);
    CHECK(data.vote(*data.find(1)).weight == 1);
    CHECK(data.vote(*data.find(3)).weight == 7);
    erase(data, {3});
    CHECK(data.compacted().weights().empty());
}

TEST_CASE("rows that cannot be inserted are refused before anything changes") {
    Dataset data(Schema(kCategories), Tuning{});
    insert(data, {1, 2});
    auto const require = [&](std::vector<RowId> const& ids, WeightedLabel vote, std::vector<Slot> const& leaving = {}) {
        data.require_insertable(ids, std::vector<WeightedLabel>(ids.size(), vote), kClasses, leaving);
    };
    CHECK_THROWS_WITH_AS(require({3, 4, 3}, {0, 1}), "Row 3 comes twice.", InvalidArgument);
    CHECK_THROWS_WITH_AS(require({2}, {0, 1}), "Row 2 is in the forest already.", InvalidArgument);
    CHECK_THROWS_WITH_AS(require({3}, {2, 1}), "There is no class 2.", InvalidArgument);
    CHECK_THROWS_WITH_AS(require({3}, {0, 0}), "A row must have a positive weight.", InvalidArgument);
    CHECK_THROWS_AS(require({3}, {0, kMaxRows - 2}), InvalidArgument);
    CHECK_NOTHROW(require({3}, {0, kMaxRows - 3}));
    CHECK_NOTHROW(require({2}, {0, 1}, {*data.find(2)}));
    CHECK(data.n_rows() == 2);
}
