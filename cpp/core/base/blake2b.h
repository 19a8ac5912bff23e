// BLAKE2b (RFC 7693) with 32-byte digests, as in Python's hashlib.blake2b(digest_size=32).
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace deciduous {

using Digest = std::array<std::uint8_t, 32>;

class Blake2b {
public:
    Blake2b();

    void update(std::span<std::uint8_t const> bytes);

    // Integers and floats enter as their little-endian bytes.
    template <typename T>
        requires std::integral<T> || std::floating_point<T>
    void update_number(T number) {
        static_assert(std::endian::native == std::endian::little, "fingerprints are defined on little-endian bytes");
        std::array<std::uint8_t, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &number, sizeof(T));
        update(bytes);
    }

    [[nodiscard]] Digest finish();

private:
    static constexpr std::size_t kBlock = 128;

    void compress(bool last);

    std::array<std::uint64_t, 8> state_;
    std::array<std::uint8_t, kBlock> block_{};
    std::size_t filled_ = 0;
    std::uint64_t n_bytes_ = 0;
};

}  // namespace deciduous
