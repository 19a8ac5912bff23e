// Vectors that hold a forest. Those of the standard library double when they grow, and half of it would be memory that
// nobody uses.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace deciduous {

// Makes room for so many elements, and for an eighth more if a vector that is in use has to move.
template <typename T, typename Allocator>
void make_room(std::vector<T, Allocator>& vector, std::size_t size) {
    if (size > vector.capacity())
        vector.reserve(vector.empty() ? size : size + size / 8);
}

// Makes a vector longer.
template <typename T, typename Allocator>
void lengthen(std::vector<T, Allocator>& vector, std::size_t n_more) {
    make_room(vector, vector.size() + n_more);
    vector.resize(vector.size() + n_more);
}

// Empties a vector and gives all of its memory back; to assign {} would keep it.
template <typename T, typename Allocator>
void give_back(std::vector<T, Allocator>& vector) noexcept {
    std::vector<T, Allocator>().swap(vector);
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
