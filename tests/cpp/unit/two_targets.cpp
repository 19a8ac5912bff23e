// Whether rows have more than one target.
#include "split/two_targets.h"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace deciduous;

TEST_CASE("rows of one target do not differ, however many they are") {
    TwoTargets its;
    its.add(7, 2);
    its.add(7, 1);
    CHECK(!its.differ());
    CHECK(its.n_first == 3);
    CHECK(its.remove(7, 1));  // that they do not differ stays known
    CHECK(!its.differ());
}

TEST_CASE("two targets are known until the last row of one of them leaves") {
    TwoTargets its;
    for (Target const target : {1, 2, 3, 2})
        its.add(target, 1);
    CHECK(its.differ());
    CHECK(its.n_second == 2);
    CHECK(its.remove(3, 1));  // neither of the two
    CHECK(its.remove(2, 1));
    CHECK(!its.remove(2, 1));  // there may be others, or not
}

TEST_CASE("a row with another target makes rows of one target differ") {
    TwoTargets its;
    its.add(-5, 4);
    its.add(kMaxTarget, 1);
    CHECK(its.differ());
}
