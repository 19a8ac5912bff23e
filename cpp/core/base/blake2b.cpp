#include "base/blake2b.h"

#include <algorithm>
#include <bit>

namespace deciduous {

namespace {

constexpr std::array<std::uint64_t, 8> kInitial = {
    0x6A09E667F3BCC908U, 0xBB67AE8584CAA73BU, 0x3C6EF372FE94F82BU, 0xA54FF53A5F1D36F1U,
    0x510E527FADE682D1U, 0x9B05688C2B3E6C1FU, 0x1F83D9ABFB41BD6BU, 0x5BE0CD19137E2179U,
};

constexpr std::array<std::array<std::uint8_t, 16>, 10> kSigma = {{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};

}  // namespace

Blake2b::Blake2b() : state_(kInitial) {
    state_[0] ^= 0x01010000U ^ sizeof(Digest);  // parameter block: no key, fanout 1, depth 1
}

void Blake2b::update(std::span<std::uint8_t const> bytes) {
    while (!bytes.empty()) {
        if (filled_ == kBlock)
            compress(false);
        std::size_t const n = std::min(kBlock - filled_, bytes.size());
        std::memcpy(block_.data() + filled_, bytes.data(), n);
        filled_ += n;
        bytes = bytes.subspan(n);
    }
}

Digest Blake2b::finish() {
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), std::uint8_t{0});
    compress(true);
    Digest digest;
    std::memcpy(digest.data(), state_.data(), digest.size());
    return digest;
}

void Blake2b::compress(bool last) {
    n_bytes_ += filled_;
    filled_ = 0;
    std::array<std::uint64_t, 16> m;
    std::memcpy(m.data(), block_.data(), kBlock);

    std::array<std::uint64_t, 16> v;
    std::ranges::copy(state_, v.begin());
    std::ranges::copy(kInitial, v.begin() + 8);
    v[12] ^= n_bytes_;
    if (last)
        v[14] = ~v[14];

    auto const mix = [&v](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
        v[a] += v[b] + x;
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] += v[b] + y;
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
    };
    for (int round = 0; round < 12; ++round) {
        auto const& s = kSigma[round % 10];
        mix(0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; ++i)
        state_[i] ^= v[i] ^ v[i + 8];
}

}  // namespace deciduous
