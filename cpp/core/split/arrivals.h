// Uniform thresholds that depend on the data only through the range of an attribute (docs/algorithm.md, 2.6).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace deciduous {

// The endless sequence of arrivals of one attribute at one node in the range [low, high), low < high.
class Arrivals {
public:
    Arrivals(Key node, Attribute attribute, Value low, Value high);

    [[nodiscard]] Value next();

    // The next n of them.
    void take(std::size_t n, Value* points);

private:
    double low_;
    double high_;
    double window_begin_;
    double window_width_;
    Key window_key_;
    std::uint64_t i_ = 0;
};

}  // namespace deciduous
