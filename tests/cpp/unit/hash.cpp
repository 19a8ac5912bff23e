// H, and the hash that nobody can aim at.
#include "base/hash.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "base/keyed_hash.h"

using namespace deciduous;

TEST_CASE("H gives the outputs of SplitMix64") {
    // The first outputs of Vigna's generator, started at 0 and at 1234567.
    constexpr std::array<std::uint64_t, 4> kFrom0 = {0xE220A8397B1DCDAFU, 0x6E789E6AA1B965F4U, 0x06C45D188009454FU,
                                                     0xF88BB8A8724C81ECU};
    constexpr std::array<std::uint64_t, 4> kFrom1234567 = {6457827717110365317U, 3203168211198807973U,
                                                           9817491932198370423U, 4593380528125082431U};
    for (std::uint64_t word = 0; word < 4; ++word) {
        CHECK(hash(0, word) == kFrom0[word]);
        CHECK(hash(1234567, word) == kFrom1234567[word]);
    }
}

TEST_CASE("H of several words is H of H") {
    CHECK(hash(7, 1, 2) == hash(hash(7, 1), 2));
    CHECK(hash(7, 1, 2, 3) == hash(hash(hash(7, 1), 2), 3));
}

TEST_CASE("the words that name what a hash is for never change") {
    CHECK(kLeft == 0);
    CHECK(kRight == 1);
    CHECK(kAttribute == 2);
    CHECK(kCandidate == 3);
    CHECK(kArrival == 4);
    CHECK(kTree == 5);
    CHECK(kOccupancy == 6);
}

TEST_CASE("the root of a tree is named by seed and number") {
    CHECK(root_key(42, 3) == hash(42, kTree, 3));
    CHECK(root_key(42, 3) != root_key(42, 4));
    CHECK(root_key(42, 3) != root_key(43, 3));
}

TEST_CASE("a keyed hash depends on both halves of its key") {
    HashKey const key{1, 2};
    CHECK(keyed_hash(key, 5) == keyed_hash(key, 5));
    CHECK(keyed_hash(key, 5) != keyed_hash(key, 6));
    CHECK(keyed_hash(key, 5) != keyed_hash({2, 2}, 5));
    CHECK(keyed_hash(key, 5) != keyed_hash({1, 1}, 5));
}

TEST_CASE("a process has one key") {
    CHECK(process_key().first == process_key().first);
    CHECK(process_key().second == process_key().second);
}
