// Ranks, and which of them are wanted.
#include "split/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/params.h"

using namespace deciduous;

TEST_CASE("ranks under one key are distinct, and differ from key to key") {
    std::set<Rank> ranks;
    for (std::uint32_t word = 0; word < 100000; ++word)
        ranks.insert(rank(12345, word));
    CHECK(ranks.size() == 100000);
    CHECK(rank(1, 7) != rank(2, 7));
    CHECK(rank(1, 7) != rank(Key{1} << 32, 7));
}

TEST_CASE("as many ranks as are wanted are up to the last wanted one, however many there are") {
    for (std::size_t const n : {3, 20, 128, 129, 5000})
        for (std::size_t const n_wanted : {1, 2, 10, 100}) {
            std::vector<Ordered> ranks(n);
            for (std::uint32_t i = 0; i < n; ++i)
                ranks[i] = to_ordered(rank(3, i));
            Rank const last = last_wanted(ranks, n_wanted);
            auto const is_wanted = [&](Ordered its) { return from_ordered(its) <= last; };
            CHECK(static_cast<std::size_t>(std::ranges::count_if(ranks, is_wanted)) == std::min(n, n_wanted));
            CHECK((last == kEverything) == (n <= n_wanted));
        }
    CHECK(last_wanted(std::vector<Ordered>{3, 1, 2}, kAllThresholds) == kEverything);
}

TEST_CASE("ranks that equal the last wanted one are wanted, too") {
    for (std::size_t const n_wanted : {1, 2, 3, 4, 5}) {
        std::vector<Ordered> const ranks = {7, -3, 9, 7, 7, 12};
        Ordered const last = to_ordered(last_wanted(ranks, n_wanted));
        auto const n = std::ranges::count_if(ranks, [&](Ordered its) { return its <= last; });
        CHECK(n == std::array{1, 4, 4, 4, 5}[n_wanted - 1]);
    }
}

TEST_CASE("a class is dominant up to a share of others that the node has") {
    auto const is_dominant = [](Key node, Count n_others) {
        return dominant_class(node, std::vector<Count>{n_others / 2, 1000 - n_others, n_others - n_others / 2}) == 1;
    };
    CHECK(is_dominant(0, 250));
    CHECK(!is_dominant(0, 251));
    CHECK(is_dominant(~Key{0}, 374));
    CHECK(!is_dominant(~Key{0}, 375));
    CHECK(dominant_class(0, std::vector<Count>{5, 5}) == kNoClass);
    CHECK(dominant_class(0, std::vector<Count>{(1U << 30) - 2, 1}) == 0);
}

TEST_CASE("a candidate has the rank of its lower value if that is marked, else of its higher one") {
    Ranks const all(CandidateKeys(1), 2, kNoClass);
    Ranks const others(CandidateKeys(1), 2, 0);
    CHECK(all.are_all_marked());
    CHECK(others.above(77) == all.above(77));
    CHECK(others.above(77) != others.below(77));
    CHECK(others.between(true, 77, 88) == others.above(77));
    CHECK(others.between(false, 77, 88) == others.below(88));
    CHECK(!others.is_marked(3, [](std::size_t y) { return y == 0; }));
    CHECK(others.is_marked(3, [](std::size_t y) { return y == 2; }));
    CHECK(all.is_marked(3, [](std::size_t y) { return y == 0; }));
}
