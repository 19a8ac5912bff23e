#include "ranks.h"

#include <algorithm>
#include <cmath>

#include "params.h"

namespace deciduous {

std::uint64_t nth_lowest(std::vector<std::uint64_t>& ranks, std::uint32_t n) {
    // Ranks are uniform, so most can be told by a guess to be too high.
    double const share = (n + 4 * std::sqrt(n) + 4) / static_cast<double>(ranks.size());
    if (share < 0.5) {
        auto const guess = static_cast<std::uint64_t>(share * 0x1p64);
        std::size_t n_low = 0;
        for (std::uint64_t const rank : ranks)
            n_low += rank <= guess ? 1 : 0;
        if (n_low >= n) {
            std::size_t place = 0;
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                std::uint64_t const rank = ranks[i];
                ranks[place] = rank;
                place += rank <= guess ? 1 : 0;
            }
            ranks.resize(n_low);
        }
    }
    auto const nth = ranks.begin() + (n - 1);
    std::ranges::nth_element(ranks, nth);
    return *nth;
}

std::uint64_t last_wanted(std::vector<std::uint64_t>& ranks, std::uint32_t n_wanted) {
    if (n_wanted == kAllThresholds || ranks.size() <= n_wanted)
        return kEverything;
    return nth_lowest(ranks, n_wanted);
}

}  // namespace deciduous
