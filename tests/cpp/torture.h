// Many short hostile histories of forests; after every step, the forest is compared with a fresh fit.
#pragma once

#include <cstdint>

namespace deciduous {

// Runs histories until so many states were compared, and prints what they went through. Ends the program at the first
// difference.
void torture(std::uint64_t n_states, std::uint64_t seed);

}  // namespace deciduous
