// Two different targets among some rows, and how many rows have each, by weight: as long as both have rows, the rows do
// not all have one target. Rows come and go without a look at the others, until the last one of a target is gone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/types.h"

namespace deciduous {

struct TwoTargets {
    Target first = 0;
    Target second = 0;
    Count n_first = 0;
    Count n_second = 0;  // 0: all rows have the first one

    [[nodiscard]] bool differ() const { return n_second > 0; }

    // Without branches, as their outcomes would be random where many rows are added.
    void add(Target target, Count weight) {
        bool const is_first = (n_first == 0) | (target == first);
        bool const is_second = !is_first & ((n_second == 0) | (target == second));
        first = is_first ? target : first;
        second = is_second ? target : second;
        n_first += is_first ? weight : 0;
        n_second += is_second ? weight : 0;
    }

    // False if it is not known any more whether there are two.
    [[nodiscard]] bool remove(Target target, Count weight) {
        bool const did_differ = differ();
        if (target == first)
            n_first -= weight;
        else if (did_differ && target == second)
            n_second -= weight;
        return !did_differ || (n_first > 0 && n_second > 0);
    }
};

// What a node of a regression forest remembers of the targets of its rows.
struct TargetSummary {
    TargetSum sum = 0;  // by weight
    TwoTargets two;
    std::uint64_t unused = 0;
};

// It is stored as bytes, and padding would carry along whatever was in memory.
static_assert(std::has_unique_object_representations_v<TargetSummary>);

}  // namespace deciduous
