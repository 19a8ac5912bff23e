// Records: what a split node remembers of an attribute that it considers. Words in one block; the first two tell the
// kind, the attribute and the length. The rest is known to the class of that kind alone (pair_record.h, cut_record.h,
// threshold_record.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace deciduous {

using Word = std::uint32_t;

// Nothing is known of an attribute after a change that only a look at the rows tells about, until somebody looks: its
// record is a head and nothing else then.
enum class RecordKind : Word { pair, thresholds, prefix, boundaries, unknown };  // the last one is told by its length

// Most nodes are small: their counts fit into 16 bits, and those at single values, or all of them, into 8.
inline constexpr Word kNarrow = Word{1} << 31;
inline constexpr Word kNarrowest = Word{1} << 30;

inline constexpr std::size_t kRecordHead = 2;

[[nodiscard]] inline Word record_tag(RecordKind kind, Attribute attribute) {
    return static_cast<Word>(kind) << kAttributeBits | attribute;
}
[[nodiscard]] inline std::size_t record_length(Word const* record) {
    return record[1];
}
[[nodiscard]] inline RecordKind record_kind(Word const* record) {
    if (record_length(record) == kRecordHead)
        return RecordKind::unknown;
    return static_cast<RecordKind>((record[0] & ~(kNarrow | kNarrowest)) >> kAttributeBits);
}
[[nodiscard]] inline Attribute record_attribute(Word const* record) {
    return record[0] & ((Word{1} << kAttributeBits) - 1);
}
[[nodiscard]] inline bool is_narrow(Word const* record) {
    return (record[0] & kNarrow) != 0;
}

}  // namespace deciduous
