// Ranks, and which of them are wanted.
#include "split/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace deciduous;

TEST_CASE("ranks under one key are distinct, and differ from key to key") {
    std::set<Rank> ranks;
    for (std::uint32_t word = 0; word < 100000; ++word)
        ranks.insert(rank(12345, word));
    CHECK(ranks.size() == 100000);
    CHECK(rank(1, 7) != rank(2, 7));
    CHECK(rank(1, 7) != rank(Key{1} << 32, 7));
}

TEST_CASE("the last wanted rank is the n-th lowest, however many there are") {
    LastWanted last_wanted;
    for (std::size_t const n : {3, 20, 128, 129, 5000})
        for (std::size_t const n_wanted : {1, 2, 10, 100}) {
            std::vector<Ordered> ranks(n);
            for (std::uint32_t i = 0; i < n; ++i)
                ranks[i] = to_ordered(rank(3, i));
            std::vector<Ordered> sorted = ranks;
            std::ranges::sort(sorted);
            Rank const expected = n <= n_wanted ? kEverything : from_ordered(sorted[n_wanted - 1]);
            CHECK(last_wanted(ranks, n_wanted) == expected);
        }
}
