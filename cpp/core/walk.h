// Several rows go down a tree side by side: while one waits for its next node to come from memory, the others go on.
#pragma once

#include <array>
#include <cstddef>

namespace deciduous {

inline constexpr std::size_t kRowsInFlight = 16;

// Calls `step(row, link)` for each row until it says that the row did not move; it may move the link of a row one node
// down. Then calls `arrive(row, link)`, and the next row takes the place of the one that arrived.
template <typename Link, typename Step, typename Arrive>
void walk_side_by_side(std::size_t n_rows, Link root, Step const& step, Arrive const& arrive) {
    std::array<std::size_t, kRowsInFlight> rows{};
    std::array<Link, kRowsInFlight> links;
    links.fill(root);
    std::size_t n_started = n_rows < kRowsInFlight ? n_rows : kRowsInFlight;
    for (std::size_t i = 0; i < n_started; ++i)
        rows[i] = i;
    for (std::size_t n_walking = n_started; n_walking > 0;)
        for (std::size_t i = 0; i < n_walking;) {
            if (step(rows[i], links[i])) {
                ++i;
                continue;
            }
            arrive(rows[i], links[i]);
            bool const has_next = n_started < n_rows;
            n_walking -= has_next ? 0 : 1;
            rows[i] = has_next ? n_started++ : rows[n_walking];
            links[i] = has_next ? root : links[n_walking];
        }
}

}  // namespace deciduous
