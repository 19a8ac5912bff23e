// BLAKE2b, against digests of Python's hashlib.
#include "base/blake2b.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace deciduous;

namespace {

std::string hex(Digest const& digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (std::uint8_t const byte : digest) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

std::vector<std::uint8_t> counting(std::size_t n) {  // 0, 1, … 250, 0, 1, …
    std::vector<std::uint8_t> bytes(n);
    for (std::size_t i = 0; i < n; ++i)
        bytes[i] = static_cast<std::uint8_t>(i % 251);
    return bytes;
}

std::string digest_of(std::span<std::uint8_t const> bytes) {
    Blake2b hasher;
    hasher.update(bytes);
    return hex(hasher.finish());
}

}  // namespace

TEST_CASE("digests are those of hashlib.blake2b(digest_size=32)") {
    CHECK(digest_of({}) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    std::vector<std::uint8_t> const abc = {'a', 'b', 'c'};
    CHECK(digest_of(abc) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST_CASE("a block that is just full, and one byte more, are no special cases") {
    CHECK(digest_of(counting(128)) == "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1");
    CHECK(digest_of(counting(129)) == "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9");
    CHECK(digest_of(counting(1000)) == "b372d0608f720c8c3dd41e9c8eecb10143b41abe520b616607e754bf79c08331");
}

TEST_CASE("bytes may come in any pieces") {
    auto const bytes = counting(1000);
    for (std::size_t const piece : {1, 7, 127, 128, 129, 999}) {
        Blake2b hasher;
        for (std::size_t begin = 0; begin < bytes.size(); begin += piece)
            hasher.update(std::span(bytes).subspan(begin, std::min(piece, bytes.size() - begin)));
        CHECK(hex(hasher.finish()) == digest_of(bytes));
    }
}

TEST_CASE("numbers enter as their little-endian bytes") {
    Blake2b numbers;
    numbers.update_number(std::uint32_t{0x04030201});
    numbers.update_number(std::uint8_t{5});
    std::vector<std::uint8_t> const bytes = {1, 2, 3, 4, 5};
    CHECK(hex(numbers.finish()) == digest_of(bytes));
}
