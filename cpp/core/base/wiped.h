// Memory for training data: overwritten before it is given back, so that a deleted row does not linger in freed memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace deciduous {

// Overwrites values even where the compiler can see that nobody will read them again.
template <typename T>
void wipe(T* data, std::size_t n) {
    if (n == 0)
        return;
    std::memset(static_cast<void*>(data), 0, n * sizeof(T));
    asm volatile("" : : "r"(data) : "memory");
}

// Overwrites the stack below the caller: calls that have returned may have left values of rows there.
[[gnu::noinline]] inline void wipe_dead_stack() {
    constexpr std::size_t kDeepest = std::size_t{1} << 15;
    std::byte dead[kDeepest];
    wipe(dead, kDeepest);
}

template <typename T>
struct WipingAllocator {
    using value_type = T;

    WipingAllocator() = default;
    template <typename U>
    WipingAllocator(WipingAllocator<U> const&) {}

    [[nodiscard]] T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }

    void deallocate(T* data, std::size_t n) {
        wipe(data, n);
        std::allocator<T>().deallocate(data, n);
    }

    friend bool operator==(WipingAllocator const&, WipingAllocator const&) { return true; }
};

template <typename T>
using WipedVector = std::vector<T, WipingAllocator<T>>;

// Overwrites all that was ever in its memory. Little of it is kept for the next use: more of it, which one large call
// took, would be overwritten after every small one.
template <typename T>
void wipe_and_clear(WipedVector<T>& things) {
    constexpr std::size_t kMostKept = std::size_t{1} << 16;  // bytes
    if (things.capacity() * sizeof(T) > kMostKept)
        WipedVector<T>().swap(things);
    things.resize(things.capacity());
    wipe(things.data(), things.size());
    things.clear();
}

}  // namespace deciduous
