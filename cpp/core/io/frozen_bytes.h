// A forest that only predicts, as bytes (docs/format.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/wiped.h"
#include "data/schema.h"
#include "predict/frozen.h"

namespace deciduous {

// Canonical: equal forests have equal bytes.
[[nodiscard]] WipedVector<std::uint8_t> write_frozen(FrozenForest const& forest);

// What `write_frozen` gave, of a regression forest if `are_means`; anything else is CorruptData.
[[nodiscard]] FrozenForest read_frozen(std::span<std::uint8_t const> bytes, Schema schema, bool are_means = false);

}  // namespace deciduous
