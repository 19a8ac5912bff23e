// Things in the order of their ranks.
#include "split/rank_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/hash.h"

using namespace deciduous;

namespace {

std::vector<Ordered> hashes(std::size_t n) {
    std::vector<Ordered> ranks(n);
    for (std::size_t i = 0; i < n; ++i)
        ranks[i] = to_ordered(rank(9, static_cast<std::uint32_t>(i)));
    return ranks;
}

// All that come, one after the other.
std::vector<Ordered> in_order(std::span<Ordered const> ranks, double n_wanted) {
    RankOrder order;
    order.start(ranks, n_wanted);
    std::vector<Ordered> result;
    for (std::size_t place = order.next(); place != RankOrder::kNone; place = order.next())
        result.push_back(ranks[place]);
    return result;
}

}  // namespace

TEST_CASE("ranks come in ascending order, however few are wanted") {
    for (std::size_t const n : {0, 1, 5, 127, 128, 129, 2000}) {
        auto const ranks = hashes(n);
        auto sorted = ranks;
        std::ranges::sort(sorted);
        for (double const n_wanted : {0.0, 1.0, 30.0, 5000.0})
            CHECK(in_order(ranks, n_wanted) == sorted);
    }
}

TEST_CASE("of several things with one rank, one comes") {
    std::vector<Ordered> const few = {3, 1, 3, 3};
    CHECK(in_order(few, 4) == std::vector<Ordered>{1, 3});
    std::vector<Ordered> const many(300, 8);
    CHECK(in_order(many, 300) == std::vector<Ordered>{8});
}

TEST_CASE("the lowest and the highest rank that there can be come, too") {
    Ordered const lowest = std::numeric_limits<Ordered>::min();
    Ordered const highest = std::numeric_limits<Ordered>::max();
    CHECK(in_order(std::vector<Ordered>{highest, lowest}, 1) == std::vector<Ordered>{lowest, highest});
}

TEST_CASE("within a bound only those come that are not above it, and later the others") {
    auto const ranks = hashes(2000);
    auto sorted = ranks;
    std::ranges::sort(sorted);
    RankOrder order;
    order.start(ranks, 10);
    std::size_t n = 0;
    for (std::size_t const n_within : {1, 7, 7, 400, 2000}) {
        Rank const bound = from_ordered(sorted[n_within - 1]);
        for (std::size_t place = order.next_within(bound); place != RankOrder::kNone; place = order.next_within(bound))
            CHECK(ranks[place] == sorted[n++]);
        CHECK(n == n_within);
    }
}
