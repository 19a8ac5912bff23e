// Former children of splits, kept up to date beside the tree. Where two splits of a node are almost equally good, rows
// that come and go make them take turns, and each turn would grow the node's whole subtree again; so when a split
// loses, its children are set aside, and when it wins again they come back. A cache: alternates are no part of the
// forest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace deciduous {

struct Alternate {
    NodeIndex node;  // whose children they were
    Attribute attribute;
    Value threshold;
    NodeIndex pair;  // the children
    Count n_left;    // rows in the left one
    Count n_rows;    // rows in both
    std::uint64_t last_use;
};

class Alternates {
public:
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] std::vector<Alternate>& all() { return all_; }
    [[nodiscard]] std::vector<Alternate> const& all() const { return all_; }

    [[nodiscard]] std::size_t n_rows() const {
        std::size_t n = 0;
        for (Alternate const& its : all_)
            n += its.n_rows;
        return n;
    }

    void add(Alternate alternate) {
        alternate.last_use = ++clock_;
        all_.push_back(alternate);
    }

    void note_use(Alternate& alternate) { alternate.last_use = ++clock_; }

    // Takes one out that was not used for the longest time.
    [[nodiscard]] Alternate take_oldest() {
        auto const oldest = std::ranges::min_element(all_, {}, &Alternate::last_use);
        Alternate const its = *oldest;
        all_.erase(oldest);
        return its;
    }

    // Takes out those of a node.
    [[nodiscard]] std::vector<Alternate> take(NodeIndex node) {
        std::vector<Alternate> taken;
        std::erase_if(all_, [&](Alternate const& its) {
            if (its.node != node)
                return false;
            taken.push_back(its);
            return true;
        });
        return taken;
    }

    [[nodiscard]] std::size_t memory() const { return all_.capacity() * sizeof(Alternate); }

private:
    std::vector<Alternate> all_;  // few
    std::uint64_t clock_ = 0;
};

}  // namespace deciduous
