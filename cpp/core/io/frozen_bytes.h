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

// What `write_frozen` gave; anything else is CorruptData.
[[nodiscard]] FrozenForest read_frozen(std::span<std::uint8_t const> bytes, Schema schema);

}  // namespace deciduous
