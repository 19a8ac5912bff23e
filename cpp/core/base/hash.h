// H, the one source of randomness: every draw is the hash of its name (docs/algorithm.md, 2.2).
#pragma once

#include <concepts>
#include <cstdint>

#include "base/types.h"

namespace deciduous {

// The words that name what a hash is for.
enum Purpose : std::uint64_t {
    kLeft = 0,
    kRight = 1,
    kAttribute = 2,
    kCandidate = 3,
    kArrival = 4,
    kTree = 5,
    kOccupancy = 6,
    kCandidateBelow = 7,
    kStable = 8,
};

DECIDUOUS_INLINED [[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

DECIDUOUS_INLINED [[nodiscard]] constexpr std::uint64_t hash(std::uint64_t h, std::uint64_t word) {
    return mix(h + 0x9E3779B97F4A7C15U * (word + 1));
}

template <std::convertible_to<std::uint64_t>... Words>
[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t h, std::uint64_t word, Words... words) {
    return hash(hash(h, word), static_cast<std::uint64_t>(words)...);
}

// Ranks order things that compete for few places: attributes, and candidates. 32 bits, so that processors work out many
// at a time. For one key no two words have the same rank.
using Rank = std::uint32_t;

DECIDUOUS_INLINED [[nodiscard]] constexpr Rank rank(Key key, std::uint32_t word) {
    std::uint32_t z = word ^ static_cast<std::uint32_t>(key);
    z = (z ^ (z >> 16)) * 0x7FEB352DU;
    z = (z ^ (z >> 15)) + static_cast<std::uint32_t>(key >> 32);
    z *= 0x846CA68BU;
    return z ^ (z >> 16);
}

[[nodiscard]] constexpr Key root_key(std::uint64_t seed, std::uint32_t tree) {
    return hash(seed, kTree, tree);
}

}  // namespace deciduous
