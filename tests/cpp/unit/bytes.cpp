// Bytes, written and read.
#include "io/bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace deciduous;

TEST_CASE("what was written is read again, in its order") {
    ByteWriter out;
    std::vector<float> const floats = {1.5F, -2.0F};
    out.write(std::uint8_t{7});
    out.write(std::int64_t{-1});
    out.write_array(std::span<float const>(floats));
    out.write_array(std::span<float const>());
    auto const bytes = out.take();
    CHECK(bytes.size() == 1 + 8 + 8);
    ByteReader in(bytes);
    CHECK(in.read<std::uint8_t>() == 7);
    CHECK(in.read<std::int64_t>() == -1);
    CHECK(std::ranges::equal(in.read_array<float>(2), floats));
    CHECK(in.read_array<float>(0).empty());
    CHECK_NOTHROW(in.require_end());
}

TEST_CASE("numbers are written with the lowest byte first") {
    ByteWriter out;
    out.write(std::uint32_t{0x04030201});
    CHECK(out.take() == WipedVector<std::uint8_t>{1, 2, 3, 4});
}

TEST_CASE("bytes that end too early are corrupt") {
    std::vector<std::uint8_t> const bytes(7);
    CHECK_THROWS_AS((void)ByteReader(bytes).read<std::uint64_t>(), CorruptData);
    CHECK_THROWS_AS((void)ByteReader(bytes).read_array<std::uint32_t>(2), CorruptData);
    CHECK_THROWS_AS((void)ByteReader({}).read<std::uint8_t>(), CorruptData);
}

TEST_CASE("a claimed length is believed only if the bytes are there, however long it is") {
    std::vector<std::uint8_t> const bytes(16);
    for (std::uint64_t const n : {std::uint64_t{3}, std::uint64_t{1} << 61, std::numeric_limits<std::uint64_t>::max()})
        CHECK_THROWS_AS((void)ByteReader(bytes).read_array<std::uint64_t>(n), CorruptData);
}

TEST_CASE("bytes too many are corrupt") {
    std::vector<std::uint8_t> const bytes(3);
    ByteReader in(bytes);
    (void)in.read<std::uint16_t>();
    CHECK_THROWS_WITH_AS(in.require_end(), "it has 1 bytes too many", CorruptData);
}
