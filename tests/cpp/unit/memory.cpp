// Vectors that keep no more memory than they need, and memory that is overwritten.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/room.h"
#include "base/wiped.h"

using namespace deciduous;

TEST_CASE("an empty vector gets exactly the room that is asked for, one in use an eighth more") {
    std::vector<int> vector;
    make_room(vector, 80);
    CHECK(vector.capacity() == 80);
    vector.resize(80);
    make_room(vector, 80);
    CHECK(vector.capacity() == 80);
    make_room(vector, 160);
    CHECK(vector.capacity() == 180);
}

TEST_CASE("a lengthened vector has its former elements, and new ones that are zero") {
    std::vector<int> vector = {1, 2};
    lengthen(vector, 2);
    CHECK(vector == std::vector{1, 2, 0, 0});
}

TEST_CASE("a vector that gave its memory back has none") {
    std::vector<int> vector(100);
    give_back(vector);
    CHECK(vector.empty());
    CHECK(vector.capacity() == 0);
}

TEST_CASE("a trimmed vector keeps its elements and a sixteenth of room") {
    std::vector<int> vector(160);
    std::iota(vector.begin(), vector.end(), 0);
    std::vector<int> const before = vector;
    vector.reserve(1000);
    trim(vector);
    CHECK(vector == before);
    CHECK(vector.capacity() == 170);
}

TEST_CASE("trimming never takes more memory") {
    std::vector<int> vector(160);
    vector.shrink_to_fit();
    trim(vector);
    CHECK(vector.capacity() == 160);
}

TEST_CASE("what is wiped is zero") {
    std::array<std::uint32_t, 4> numbers = {1, 2, 3, 4};
    wipe(numbers.data(), 3);
    CHECK(numbers == std::array<std::uint32_t, 4>{0, 0, 0, 4});
    wipe<std::uint32_t>(nullptr, 0);
}

TEST_CASE("a wiping allocator's memory can be used and given back") {
    WipedVector<std::uint64_t> vector;
    for (std::uint64_t i = 0; i < 1000; ++i)
        vector.push_back(i);
    CHECK(std::accumulate(vector.begin(), vector.end(), std::uint64_t{0}) == 499500);
    CHECK(WipingAllocator<int>() == WipingAllocator<int>());
}
