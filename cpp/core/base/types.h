// The numbers the core works with, chosen once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace deciduous {

using RowId = std::int64_t;       // the user's name of a row
using Slot = std::uint32_t;       // where a row is kept; reused after a deletion, so never part of the model
using Attribute = std::uint32_t;  // column number
using Label = std::uint32_t;      // class number, in order of first appearance
using Count = std::uint32_t;      // number of rows by weight; a forest holds fewer than 2^30, so no sum of them wraps
using NodeIndex = std::uint32_t;  // position in a tree's node array
using Key = std::uint64_t;        // hash that names a node, see hash.h

// The target of a row of a regression forest in fixed point (docs/algorithm.md, 2.10), and sums of them: fewer than
// 2^30 rows times 2^40.
using Target = std::int64_t;
__extension__ using TargetSum = __int128;

inline constexpr Target kMaxTarget = Target{1} << 40;

// What a row adds to the counts of a node: a row of weight 3 counts as three rows of its class. In a regression forest
// all rows are of one class, and have a target.
struct WeightedLabel {
    Label label;
    Count weight;
    Target target = 0;

    [[nodiscard]] TargetSum weighted_target() const { return static_cast<TargetSum>(weight) * target; }
};

// A value is the order-preserving image of a float32 in 32-bit integers: comparisons, sorting and packing are integer
// operations, NaN is an ordinary value behind every number, and no comparison has a special case.
using Value = std::uint32_t;

inline constexpr Value kMissing = 0xFFFFFFFEU;   // NaN
inline constexpr Value kNoValue = 0xFFFFFFFFU;   // behind everything: "there is no such value"
inline constexpr Value kNoLower = 0;             // before everything: "there is no lower value"
inline constexpr Value kInfinity = 0xFF800000U;  // +inf: behind every number, before NaN; only ever a threshold

inline constexpr Count kMaxRows = Count{1} << 30;

// So that the number of an attribute fits beside what else is in a word of a node (tree.h) or a record (records.h).
inline constexpr std::size_t kAttributeBits = 28;
inline constexpr std::uint64_t kMaxAttributes = std::uint64_t{1} << kAttributeBits;

inline constexpr std::uint32_t kSignBit = 0x80000000U;

// What kernels for better processors use, too, is always inlined: the linker must not take a copy that was compiled for
// those and let it run everywhere.
#define DECIDUOUS_INLINED [[gnu::always_inline]]

// A value as a signed number of the same order: every processor compares many signed numbers at a time.
using Ordered = std::int32_t;

DECIDUOUS_INLINED [[nodiscard]] constexpr Ordered to_ordered(Value value) {
    return static_cast<Ordered>(value ^ kSignBit);
}
[[nodiscard]] constexpr Value from_ordered(Ordered ordered) {
    return static_cast<Value>(ordered) ^ kSignBit;
}

DECIDUOUS_INLINED [[nodiscard]] inline Value to_value(float x) {
    // By bits, as a library may have switched the processor to treat subnormal numbers as zero.
    auto const bits = std::bit_cast<std::uint32_t>(x);
    std::uint32_t const magnitude = bits & ~kSignBit;
    if (magnitude > 0x7F800000U)
        return kMissing;
    bool const is_negative = bits != magnitude && magnitude != 0;  // -0.0 is 0.0
    return is_negative ? ~bits : magnitude | kSignBit;
}

[[nodiscard]] inline std::uint32_t float_bits(Value value) {
    return (value & kSignBit) != 0 ? value ^ kSignBit : ~value;
}

[[nodiscard]] inline float to_float(Value value) {
    if (value == kMissing)
        return std::numeric_limits<float>::quiet_NaN();
    return std::bit_cast<float>(float_bits(value));
}

}  // namespace deciduous
