// Memory for values of rows that is kept from one use to the next, and remembers how much of it has been written, so
// that it can be overwritten when rows are deleted.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/wiped.h"

namespace deciduous {

template <typename T>
class ScratchBuffer {
public:
    // Room for so many; what was there before is there no more if it has to move.
    [[nodiscard]] T* take(std::size_t n) {
        if (n > memory_.size()) {
            memory_.clear();
            memory_.resize(n + n / 2);
        }
        n_written_ = std::max(n_written_, n);
        return memory_.data();
    }

    [[nodiscard]] T* data() { return memory_.data(); }
    [[nodiscard]] T const* data() const { return memory_.data(); }

    void wipe_written() {
        wipe(memory_.data(), n_written_);
        n_written_ = 0;
    }

private:
    WipedVector<T> memory_;
    std::size_t n_written_ = 0;
};

}  // namespace deciduous
