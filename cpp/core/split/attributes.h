// The attributes of a node: which may vary, and in which order they are considered (docs/algorithm.md, 2.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/types.h"

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
    std::vector<Attribute> order_;  // active ones first, and kLanes of no meaning behind all
    std::vector<std::uint32_t> position_;
    std::size_t n_active_;
};

// Attributes of a node in the node's attribute order: as many as are likely to be wanted, and the next ones if somebody
// asks for more.
class AttributeOrder {
public:
    // Of these attributes, with kLanes of no meaning behind them. They must stay, but may change places.
    void start(std::span<Attribute const> attributes, Key node, std::size_t n_wanted);

    // The first n of them, if so many were likely to be wanted; else fewer.
    [[nodiscard]] std::span<Attribute const> first(std::size_t n) const {
        return std::span(taken_).first(std::min(n, n_taken_));
    }

    // The next ones: at most n, and none if there are no more.
    [[nodiscard]] std::span<Attribute const> next(std::size_t n) {
        while (place_ == n_taken_)
            if (!take_more())
                return {};
        auto const those = std::span(taken_).subspan(place_, std::min(n, n_taken_ - place_));
        place_ += those.size();
        return those;
    }

    // The rank of an attribute of a node.
    [[nodiscard]] static Rank rank_of(Key node, Attribute attribute) { return rank(hash(node, kAttribute), attribute); }

private:
    bool take_more();

    std::span<Attribute const> attributes_;
    Key key_ = 0;
    std::size_t n_wanted_ = 0;
    double n_likely_ = 0;
    std::int64_t bound_ = 0;  // those of lower ranks were taken
    std::int64_t step_ = 0;   // by which it is raised
    std::vector<Attribute> taken_;
    std::size_t n_taken_ = 0;
    std::size_t place_ = 0;
    std::vector<Ordered> ranks_;
    std::vector<Attribute> taken_beside_;
    std::vector<Ordered> ranks_beside_;
};

}  // namespace deciduous
