// From row ids to slots.
#include "data/id_index.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

using namespace deciduous;

TEST_CASE("an empty index finds nothing") {
    WipedVector<RowId> const ids;
    IdIndex const index;
    CHECK_FALSE(index.find(0, ids));
    CHECK(index.size() == 0);
}

TEST_CASE("ids may be any numbers") {
    using Limits = std::numeric_limits<RowId>;
    WipedVector<RowId> const ids = {0, -1, Limits::min(), Limits::max()};
    IdIndex index;
    for (Slot slot = 0; slot < ids.size(); ++slot)
        index.insert(slot, ids);
    for (Slot slot = 0; slot < ids.size(); ++slot)
        CHECK(index.find(ids[slot], ids) == slot);
    CHECK_FALSE(index.find(1, ids));
}

TEST_CASE("after any insertions and removals the index finds what a map finds") {
    constexpr Slot kSlots = 300;
    std::mt19937_64 random(1);
    WipedVector<RowId> ids(kSlots, 0);
    IdIndex index(HashKey{1, 2});
    std::map<RowId, Slot> expected;
    std::vector<bool> is_used(kSlots, false);
    for (int step = 0; step < 5000; ++step) {
        auto const slot = static_cast<Slot>(random() % kSlots);
        if (is_used[slot]) {
            index.erase(slot, ids);
            expected.erase(ids[slot]);
        } else {
            ids[slot] = static_cast<RowId>(random() % 1000) * kSlots + slot;
            index.insert(slot, ids);
            expected[ids[slot]] = slot;
        }
        is_used[slot] = !is_used[slot];
        auto const probe = static_cast<RowId>(random() % (1000 * kSlots));
        auto const known = expected.find(probe);
        REQUIRE(index.find(probe, ids) == (known == expected.end() ? std::nullopt : std::optional(known->second)));
    }
    CHECK(index.size() == expected.size());
    for (auto const& [id, slot] : expected)
        CHECK(index.find(id, ids) == slot);
}

TEST_CASE("an id in two slots is found in the former one until that leaves") {
    WipedVector<RowId> const ids = {8, 8};
    IdIndex index;
    index.insert(0, ids);
    index.insert(1, ids);
    CHECK(index.find(8, ids) == Slot{0});
    index.erase(0, ids);
    CHECK(index.find(8, ids) == Slot{1});
}

TEST_CASE("room that was reserved is enough") {
    WipedVector<RowId> ids(100);
    IdIndex index;
    index.reserve(ids.size(), ids);
    std::size_t const memory = index.memory();
    for (Slot slot = 0; slot < ids.size(); ++slot) {
        ids[slot] = slot;
        index.insert(slot, ids);
    }
    CHECK(index.memory() == memory);
}

TEST_CASE("ids in a row are spread, whatever the key") {
    WipedVector<RowId> ids(1000);
    for (HashKey const key : {HashKey{0, 0}, HashKey{3, 4}}) {
        IdIndex index(key);
        for (Slot slot = 0; slot < ids.size(); ++slot) {
            ids[slot] = RowId{slot} << 32;
            index.insert(slot, ids);
        }
        CHECK(index.n_steps(ids) < ids.size());
    }
}
