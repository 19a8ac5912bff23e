#include "split/attributes.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/kernels.h"

namespace deciduous {

ActiveAttributes::ActiveAttributes(std::size_t n_attributes)
    : order_(n_attributes + kernels::kLanes), position_(n_attributes), n_active_(n_attributes) {
    std::iota(order_.begin(), order_.end(), Attribute{0});
    std::iota(position_.begin(), position_.end(), 0U);
}

void ActiveAttributes::retire(Attribute attribute) {
    std::uint32_t const place = position_[attribute];
    Attribute const last = order_[--n_active_];
    std::swap(order_[place], order_[n_active_]);
    position_[last] = place;
    position_[attribute] = static_cast<std::uint32_t>(n_active_);
}

void AttributeOrder::start(std::span<Attribute const> attributes, Key node, std::size_t n_wanted) {
    attributes_ = attributes;
    key_ = hash(node, kAttribute);
    if (n_wanted != n_wanted_) {
        n_wanted_ = n_wanted;
        n_likely_ = static_cast<double>(n_wanted) + 1.3 * std::sqrt(static_cast<double>(n_wanted)) + 1;
    }
    // Ranks are uniform: so many are likely to be below the first bound.
    double const share = n_likely_ / static_cast<double>(attributes.size() + 1);
    bound_ = std::numeric_limits<Ordered>::min();
    step_ = share < 0.75 ? static_cast<std::int64_t>(share * 0x1p32) + 1 : std::int64_t{1} << 32;
    n_taken_ = place_ = 0;
    if (std::size_t const room = attributes.size() + kernels::kLanes; taken_.size() < room) {
        for (auto* const vector : {&taken_, &taken_beside_})
            vector->resize(room);
        for (auto* const vector : {&ranks_, &ranks_beside_})
            vector->resize(room);
    }
    (void)take_more();
}

bool AttributeOrder::take_more() {
    constexpr std::int64_t kHighest = std::numeric_limits<Ordered>::max();
    if (bound_ > kHighest)
        return false;
    std::int64_t const last = std::min(bound_ + step_ - 1, kHighest);
    n_taken_ = kernels::chosen->keep_ranked(attributes_.data(), attributes_.size(), key_, static_cast<Ordered>(bound_),
                                            static_cast<Ordered>(last), taken_.data(), ranks_.data());
    place_ = 0;
    bound_ = last + 1;
    kernels::chosen->sort(ranks_.data(), taken_.data(), n_taken_, ranks_beside_.data(), taken_beside_.data());
    return true;
}

}  // namespace deciduous
