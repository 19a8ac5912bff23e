// The attributes of a node: which may vary, and in which order they are considered (docs/algorithm.md, 2.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/types.h"
#include "split/rank_order.h"

namespace deciduous {

// The attributes not known to be constant. What is constant at a node is constant below it, so a descent retires
// attributes and a return restores them: whoever visits a node opens a scope.
class ActiveAttributes {
public:
    explicit ActiveAttributes(std::size_t n_attributes);

    // Restores, at its end, what was active at its beginning.
    class Scope {
    public:
        explicit Scope(ActiveAttributes& attributes) : attributes_(attributes), n_active_(attributes.n_active_) {}
        ~Scope() { attributes_.n_active_ = n_active_; }
        Scope(Scope const&) = delete;
        Scope& operator=(Scope const&) = delete;

    private:
        ActiveAttributes& attributes_;
        std::size_t n_active_;
    };

    [[nodiscard]] std::span<Attribute const> active() const { return {order_.data(), n_active_}; }
    [[nodiscard]] bool is_active(Attribute attribute) const { return position_[attribute] < n_active_; }
    void retire(Attribute attribute);

    // Retires those for which `is_retired`.
    template <typename Predicate>
    void retire_if(Predicate const& is_retired) {
        for (std::size_t i = n_active_; i-- > 0;)
            if (is_retired(order_[i]))
                retire(order_[i]);
    }

private:
    std::vector<Attribute> order_;  // active ones first
    std::vector<std::uint32_t> position_;
    std::size_t n_active_;
};

// Attributes of a node in the node's attribute order.
class AttributeOrder {
public:
    void start(std::span<Attribute const> attributes, Key node, std::size_t n_wanted);

    // The first n of them, or all.
    [[nodiscard]] std::span<Attribute const> first(std::size_t n) {
        while (first_.size() < n && take_one()) {
        }
        return std::span(first_).first(std::min(n, first_.size()));
    }

    // The next one, or nothing.
    [[nodiscard]] std::optional<Attribute> next() {
        if (n_given_ == first_.size() && !take_one())
            return std::nullopt;
        return first_[n_given_++];
    }

    // The rank of an attribute of a node.
    [[nodiscard]] static Rank rank_of(Key node, Attribute attribute) { return rank(hash(node, kAttribute), attribute); }

private:
    bool take_one() {
        std::size_t const place = order_.next();
        if (place == RankOrder::kNone)
            return false;
        first_.push_back(attributes_[place]);
        return true;
    }

    std::vector<Attribute> attributes_;
    std::vector<Ordered> ranks_;
    RankOrder order_;
    std::vector<Attribute> first_;  // in order, as far as somebody asked
    std::size_t n_given_ = 0;
};

}  // namespace deciduous
