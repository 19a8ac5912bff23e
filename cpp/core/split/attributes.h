// The attributes of a node: which may vary, and in which order they are considered (docs/algorithm.md, 2.4).
#pragma once

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

    // The next one, or nothing.
    [[nodiscard]] std::optional<Attribute> next() {
        std::size_t const place = order_.next();
        return place == RankOrder::kNone ? std::nullopt : std::optional(attributes_[place]);
    }

    // The rank of an attribute of a node.
    [[nodiscard]] static Rank rank_of(Key node, Attribute attribute) { return rank(hash(node, kAttribute), attribute); }

private:
    std::vector<Attribute> attributes_;
    std::vector<Ordered> ranks_;
    RankOrder order_;
};

}  // namespace deciduous
