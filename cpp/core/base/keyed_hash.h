// A hash that nobody can aim at: whoever does not know its key cannot choose numbers that collide. For tables in
// memory, never for anything that a forest depends on.
#pragma once

#include <bit>
#include <cstdint>
#include <random>

namespace deciduous {

struct HashKey {
    std::uint64_t first;
    std::uint64_t second;
};

// Random, and the same for as long as the process runs.
[[nodiscard]] inline HashKey process_key() {
    static HashKey const key = [] {
        std::random_device device;
        auto const word = [&] { return std::uint64_t{device()} << 32 | device(); };
        return HashKey{word(), word()};
    }();
    return key;
}

// SipHash-1-3 of eight bytes (Aumasson and Bernstein, 2012).
[[nodiscard]] constexpr std::uint64_t keyed_hash(HashKey key, std::uint64_t word) {
    std::uint64_t a = key.first ^ 0x736F6D6570736575U;
    std::uint64_t b = key.second ^ 0x646F72616E646F6DU;
    std::uint64_t c = key.first ^ 0x6C7967656E657261U;
    std::uint64_t d = key.second ^ 0x7465646279746573U;
    auto const round = [&] {
        a += b;
        c += d;
        b = std::rotl(b, 13) ^ a;
        d = std::rotl(d, 16) ^ c;
        a = std::rotl(a, 32) + d;
        c += b;
        d = std::rotl(d, 21) ^ a;
        b = std::rotl(b, 17) ^ c;
        c = std::rotl(c, 32);
    };
    for (std::uint64_t const block : {word, std::uint64_t{8} << 56}) {  // the last one tells the length
        d ^= block;
        round();
        a ^= block;
    }
    c ^= 0xFF;
    for (int i = 0; i < 3; ++i)
        round();
    return a ^ b ^ c ^ d;
}

}  // namespace deciduous
