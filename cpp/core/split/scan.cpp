#include "split/scan.h"

namespace deciduous {

void FoundCuts::sort() {
    std::size_t const n = cuts_.size();
    std::size_t const room = n + kernels::kLanes;
    Ordered* const values = values_.take(room);
    places_.resize(std::max(places_.size(), room));
    places_beside_.resize(places_.size());
    for (std::uint32_t i = 0; i < n; ++i) {
        values[i] = to_ordered(cuts_[i].value);
        places_[i] = i;
    }
    kernels::chosen->sort(values, places_.data(), n, values_beside_.take(room), places_beside_.data());
    sorted_.clear();
    for (std::size_t i = 0; i < n; ++i)
        if (i == 0 || values[i] != values[i - 1])
            sorted_.push_back(cuts_[places_[i]]);
    cuts_.swap(sorted_);
}

}  // namespace deciduous
