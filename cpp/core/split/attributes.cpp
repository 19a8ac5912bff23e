#include "split/attributes.h"

#include <numeric>
#include <utility>

#include "base/kernels.h"

namespace deciduous {

ActiveAttributes::ActiveAttributes(std::size_t n_attributes)
    : order_(n_attributes), position_(n_attributes), n_active_(n_attributes) {
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
    attributes_.assign(attributes.begin(), attributes.end());  // retiring moves them
    ranks_.resize(attributes.size());
    kernels::chosen->rank_words(attributes_.data(), attributes_.size(), hash(node, kAttribute), ranks_.data());
    order_.start(ranks_, static_cast<double>(n_wanted));
    first_.clear();
    n_given_ = 0;
}

}  // namespace deciduous
