// Several rows go down a tree side by side: while one waits for its next node to come from memory, the others go on.
#pragma once

#include <array>
#include <cstddef>

namespace deciduous {

inline constexpr std::size_t kRowsSideBySide = 16;

// Calls `step(row, link)` for the rows from 0 on until it says, for all of them, that they did not move; it may move
// the link of a row one node down. Then calls `arrive(row, link)` for each.
template <typename Link, typename Step, typename Arrive>
void walk_side_by_side(std::size_t n_rows, Link root, Step const& step, Arrive const& arrive) {
    for (std::size_t begin = 0; begin < n_rows; begin += kRowsSideBySide) {
        std::size_t const n = n_rows - begin < kRowsSideBySide ? n_rows - begin : kRowsSideBySide;
        std::array<Link, kRowsSideBySide> links;
        links.fill(root);
        bool is_moving = true;
        while (is_moving) {
            is_moving = false;
            for (std::size_t i = 0; i < n; ++i)
                is_moving |= step(begin + i, links[i]);
        }
        for (std::size_t i = 0; i < n; ++i)
            arrive(begin + i, links[i]);
    }
}

}  // namespace deciduous
