#include "split/scan.h"

namespace deciduous {

void FoundCuts::sort() {
    constexpr std::size_t kMaxCounted = 128;
    std::size_t const n = cuts_.size();
    if (n > kMaxCounted) {
        std::ranges::sort(cuts_, {}, &Cut::value);
        keep_if([this](std::size_t i) { return i == 0 || cuts_[i].value != cuts_[i - 1].value; });
        return;
    }
    std::size_t const n_padded = kernels::whole_vectors(n);
    Ordered* const values = values_.take(n_padded);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = to_ordered(cuts_[i].value);
    std::fill(values + n, values + n_padded, to_ordered(kNoValue));
    n_smaller_.resize(kMaxCounted);
    kernels::chosen->count_smaller(values, n_padded, n_smaller_.data());
    sorted_.resize(n);
    for (Cut& cut : sorted_)
        cut.place = kHole;
    for (std::size_t i = 0; i < n; ++i)
        sorted_[n_smaller_[i]] = cuts_[i];
    cuts_.swap(sorted_);
    keep_if([this](std::size_t i) { return cuts_[i].place != kHole; });
}

}  // namespace deciduous
