// Loops over vectors of numbers, for kernels.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/kernels.h"

namespace deciduous::kernels {
namespace {

template <typename Vectors>
struct VectorLoops {
    using Vector = typename Vectors::Vector;
    static constexpr std::size_t kWidth = Vectors::kWidth;

    // Calls `function(those, mask)` with all values, vector by vector, and a mask of those that are there.
    template <typename Function>
    static void for_each_vector(Ordered const* values, std::size_t n, Function const& function) {
        std::size_t i = 0;
        for (; i + kWidth <= n; i += kWidth)
            function(Vectors::load(values + i), Vectors::first(kWidth));
        if (i < n)
            function(Vectors::load_first(values + i, n - i), Vectors::first(n - i));
    }

    // Calls `function(begin, std::integral_constant of how many)` for groups of so many things that what belongs to
    // them stays in registers.
    template <typename Function>
    static void for_each_group(std::size_t n, Function const& function) {
        std::size_t begin = 0;
        for (; begin + 8 <= n; begin += 8)
            function.template operator()<8>(begin);
        if (begin + 4 <= n) {
            function.template operator()<4>(begin);
            begin += 4;
        }
        if (begin + 2 <= n) {
            function.template operator()<2>(begin);
            begin += 2;
        }
        if (begin < n)
            function.template operator()<1>(begin);
    }

    static void copy_vector(Ordered const* from, Ordered* to) {
        Vector const those = Vectors::load(from);
        std::memcpy(to, &those, sizeof those);
    }

    static void copy(Ordered const* from, std::size_t n, Ordered* to) {
        if (n < kWidth) {
            for (std::size_t i = 0; i < n; ++i)
                to[i] = from[i];
            return;
        }
        for (std::size_t i = 0; i + kWidth < n; i += kWidth)
            copy_vector(from + i, to + i);
        copy_vector(from + n - kWidth, to + n - kWidth);
    }
};

}  // namespace
}  // namespace deciduous::kernels
