// What a large split node remembers beside its split, so that rows can come and go without a look at the other rows. A
// cache: it never changes a forest, and small nodes have none.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "blake2b.h"
#include "types.h"
#include "uniform_candidates.h"
#include "valid_candidates.h"
#include "wiped.h"

namespace deciduous {

using Candidates = std::variant<ValidCandidates, UniformCandidates>;

// An attribute that comes before a chosen one in the node's attribute order but was passed over, being constant on the
// node.
struct ConstantAttribute {
    Attribute attribute;
    Value value;
    friend bool operator==(ConstantAttribute const&, ConstantAttribute const&) = default;
};

struct SplitStats {
    std::vector<Count> totals;                 // rows of the node per class
    Count n_left = 0;                          // rows left of the chosen split
    WipedVector<ConstantAttribute> constants;  // ascending by attribute
    WipedVector<Candidates> candidates;        // of the chosen attributes, in attribute order
    std::optional<Digest> digest;              // of the subtree, if nothing changed since it was computed

    [[nodiscard]] std::size_t n_cuts() const {
        std::size_t n = 0;
        for (Candidates const& its : candidates)
            n += std::visit([](auto const& c) { return c.n_cuts(); }, its);
        return n;
    }

    [[nodiscard]] std::size_t memory() const {
        std::size_t bytes = sizeof(*this) + totals.capacity() * sizeof(Count) +
                            constants.capacity() * sizeof(ConstantAttribute) +
                            candidates.capacity() * sizeof(Candidates);
        for (Candidates const& its : candidates)
            bytes += std::visit([](auto const& c) { return c.memory(); }, its);
        return bytes;
    }

    // Gives back memory that was only needed to make the statistics.
    void shrink_to_fit() {
        totals.shrink_to_fit();
        constants.shrink_to_fit();
        candidates.shrink_to_fit();
        for (Candidates& its : candidates)
            std::visit([](auto& c) { c.shrink_to_fit(); }, its);
    }

    void widen(std::size_t n_classes) {
        widen_counts(totals, totals.size(), n_classes);
        for (Candidates& its : candidates)
            std::visit([n_classes](auto& c) { c.widen(n_classes); }, its);
    }
};

}  // namespace deciduous
