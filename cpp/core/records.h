// What a node remembers of one attribute: a record of 32-bit words, so that all records of a node are one block of
// memory.
//
//   words of every record:  kind and attribute · length in words · what follows depends on the kind
//   pair:                   low value · high value · rows per class at the high one
//   the other three:        number of cuts · bound (2 words) · length of the mask · mask · cuts
//   uniform:                number of cuts · lowest and highest number · rows at them · missing values · cuts
//
// The mask has a bit for each cut: whether it is in the sample.
//
// A cut of valid candidates is: its value · the next value · rows per class in its bucket, at the value, and at the
// next value; rows take 16 bits in a bucket and 8 at a value if the record is narrow. A cut of uniform candidates is:
// its threshold · its rank · rows per class in its bucket. The *bucket* of a cut are the rows above the previous cut
// and at or below this one: a row that comes or goes changes one bucket, and the rows left of a cut are a running sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "types.h"

namespace deciduous {

using Word = std::uint32_t;

enum class RecordKind : Word { pair, uniform, prefix, boundaries, sample };

// Most nodes are small: their counts fit into 16 bits, and those at single values into 8.
inline constexpr Word kNarrow = Word{1} << 31;
inline constexpr std::size_t kAttributeBits = 28;

inline constexpr std::size_t kPairHeader = 4;
inline constexpr std::size_t kValidHeader = 6;
inline constexpr std::size_t kUniformHeader = 8;

[[nodiscard]] inline Word record_tag(RecordKind kind, Attribute attribute) {
    return static_cast<Word>(kind) << kAttributeBits | attribute;
}
[[nodiscard]] inline RecordKind record_kind(Word const* record) {
    return static_cast<RecordKind>((record[0] & ~kNarrow) >> kAttributeBits);
}
[[nodiscard]] inline Attribute record_attribute(Word const* record) {
    return record[0] & ((Word{1} << kAttributeBits) - 1);
}
[[nodiscard]] inline bool is_narrow(Word const* record) {
    return (record[0] & kNarrow) != 0;
}
[[nodiscard]] inline std::size_t record_length(Word const* record) {
    return record[1];
}

// The number of classes, as a constant where there are two: loops over classes disappear in the code that matters.
using TwoClasses = std::integral_constant<std::size_t, 2>;

template <typename Function>
decltype(auto) with_classes(std::size_t n_classes, Function&& function) {
    if (n_classes == 2)
        return function(TwoClasses{});
    return function(n_classes);
}

}  // namespace deciduous
