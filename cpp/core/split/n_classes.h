// The number of classes, as a constant where there are two: loops over classes disappear in the code that matters.
#pragma once

#include <cstddef>
#include <type_traits>

namespace deciduous {

using TwoClasses = std::integral_constant<std::size_t, 2>;

template <typename Function>
decltype(auto) with_classes(std::size_t n_classes, Function&& function) {
    if (n_classes == 2)
        return function(TwoClasses{});
    return function(n_classes);
}

}  // namespace deciduous
