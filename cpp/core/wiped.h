// Memory for training data: overwritten before it is given back, so that a deleted row does not linger in freed memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace deciduous {

template <typename T>
struct WipingAllocator {
    using value_type = T;

    WipingAllocator() = default;
    template <typename U>
    WipingAllocator(WipingAllocator<U> const&) {}

    [[nodiscard]] T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }

    void deallocate(T* data, std::size_t n) {
        // Through volatile, or the compiler would drop stores to memory that is about to be freed.
        auto volatile* bytes = reinterpret_cast<unsigned char volatile*>(data);
        for (std::size_t i = 0; i < n * sizeof(T); ++i)
            bytes[i] = 0;
        std::allocator<T>().deallocate(data, n);
    }

    friend bool operator==(WipingAllocator const&, WipingAllocator const&) { return true; }
};

template <typename T>
using WipedVector = std::vector<T, WipingAllocator<T>>;

}  // namespace deciduous
