// Many small arrays of 32-bit words in one. A block's capacity follows from its size, so nobody has to remember it, and
// a freed block is used again for the next one of its capacity.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/room.h"

namespace deciduous {

class WordBlocks {
public:
    using Offset = std::uint32_t;

    [[nodiscard]] Offset allocate(std::size_t n_words) {
        auto const [size_class, capacity] = class_of(n_words);
        if (size_class < free_.size() && !free_[size_class].empty()) {
            Offset const offset = free_[size_class].back();
            free_[size_class].pop_back();
            n_free_ -= capacity;
            return offset;
        }
        if (words_.size() + capacity > std::numeric_limits<Offset>::max())
            throw std::length_error("the leaves of a tree hold more than 2^32 numbers");
        auto const offset = static_cast<Offset>(words_.size());
        lengthen(words_, capacity);
        return offset;
    }

    void free(Offset offset, std::size_t n_words) {
        auto const [size_class, capacity] = class_of(n_words);
        if (size_class >= free_.size())
            free_.resize(size_class + 1);
        free_[size_class].push_back(offset);
        n_free_ += capacity;
    }

    // The words that a block of so many takes.
    [[nodiscard]] static std::size_t capacity_of(std::size_t n_words) { return class_of(n_words).capacity; }

    [[nodiscard]] static bool fit_alike(std::size_t n_words, std::size_t m_words) {
        return class_of(n_words).index == class_of(m_words).index;
    }

    [[nodiscard]] std::span<std::uint32_t> block(Offset offset, std::size_t n_words) {
        return {words_.data() + offset, n_words};
    }
    [[nodiscard]] std::span<std::uint32_t const> block(Offset offset, std::size_t n_words) const {
        return {words_.data() + offset, n_words};
    }

    void prefetch(Offset offset) const { __builtin_prefetch(words_.data() + offset); }

    void clear() {
        words_.clear();
        free_.clear();
        n_free_ = 0;
    }

    // Words in blocks that were not freed.
    [[nodiscard]] std::size_t n_used() const { return words_.size() - n_free_; }
    void reserve(std::size_t n_words) { words_.reserve(n_words); }

    [[nodiscard]] std::size_t memory() const {
        std::size_t bytes = words_.capacity() * sizeof(std::uint32_t);
        for (auto const& offsets : free_)
            bytes += offsets.capacity() * sizeof(Offset);
        return bytes;
    }

private:
    struct SizeClass {
        std::size_t index;
        std::size_t capacity;
    };

    // Multiples of 4 words up to 64, then eight sizes per power of two: a seventh of a block is unused at most.
    [[nodiscard]] static SizeClass class_of(std::size_t n_words) {
        if (n_words <= 64) {
            std::size_t const quads = (n_words + 3) / 4;
            return {quads, 4 * quads};
        }
        auto const step_bits = static_cast<std::size_t>(std::bit_width(n_words - 1)) - 4;  // >= 3
        std::size_t const steps = ((n_words - 1) >> step_bits) + 1;                        // 9..16
        return {16 + 8 * (step_bits - 3) + (steps - 8), steps << step_bits};
    }

    std::vector<std::uint32_t> words_;
    std::vector<std::vector<Offset>> free_;
    std::size_t n_free_ = 0;  // words
};

}  // namespace deciduous
