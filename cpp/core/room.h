// Vectors that hold a forest. Those of the standard library double when they grow, and half of it would be memory that
// nobody uses.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace deciduous {

// Makes a vector longer, with room for a quarter more if it has to move.
template <typename T, typename Allocator>
void lengthen(std::vector<T, Allocator>& vector, std::size_t n_more) {
    std::size_t const size = vector.size() + n_more;
    if (size > vector.capacity())
        vector.reserve(size + size / 4);
    vector.resize(size);
}

// Gives back most of the room of a vector that has grown for now. A sixteenth more than it holds stays.
template <typename T, typename Allocator>
void trim(std::vector<T, Allocator>& vector) {
    std::vector<T, Allocator> trimmed;
    trimmed.reserve(vector.size() + vector.size() / 16);
    if (trimmed.capacity() >= vector.capacity())
        return;
    trimmed.assign(std::make_move_iterator(vector.begin()), std::make_move_iterator(vector.end()));
    vector = std::move(trimmed);
}

}  // namespace deciduous
