// Uniform thresholds that depend on the data only through the range of an attribute (docs/algorithm.md, 2.6).
#pragma once

#include <cstddef>

#include "base/kernels.h"
#include "base/types.h"

namespace deciduous {

// The endless sequence of arrivals of one attribute at one node in the range [low, high), low < high.
class Arrivals {
public:
    Arrivals(Key node, Attribute attribute, Value low, Value high);

    [[nodiscard]] Value first() const;

    // The first n of them. There is room for so many more.
    static constexpr std::size_t kMoreRoom = 2 * kernels::kLanes;
    void take(std::size_t n, Value* points) const;

private:
    kernels::Window window_{};
};

}  // namespace deciduous
