// Ranks of candidates: which of them are sampled, and who wins a tie (docs/algorithm.md, 2.5).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hash.h"
#include "kernels.h"
#include "types.h"

namespace deciduous {

// A bound that nothing is beyond.
inline constexpr std::uint64_t kEverything = ~std::uint64_t{0};

// The ranks of an attribute's candidates on a node.
class Ranks {
public:
    Ranks(Key node, Attribute attribute) : node_(node), attribute_(attribute) {}
    [[nodiscard]] std::uint64_t operator()(Value value) const { return hash(key(), float_bits(value)); }

    // The ranks of many values.
    std::span<std::uint64_t const> of(std::span<Value const> values, std::vector<std::uint64_t>& ranks) const {
        ranks.resize(values.size());
        kernels::hash_values(values.data(), values.size(), key(), ranks.data());
        return ranks;
    }

private:
    // Worked out when it is needed: most candidates are worse than others, whatever their ranks.
    [[nodiscard]] Key key() const {
        if (!is_known_) {
            key_ = hash(node_, kCandidate, attribute_);
            is_known_ = true;
        }
        return key_;
    }

    Key node_;
    Attribute attribute_;
    mutable bool is_known_ = false;
    mutable Key key_ = 0;
};

// The n-th lowest of at least as many ranks. Permutes and shortens them.
[[nodiscard]] std::uint64_t nth_lowest(std::vector<std::uint64_t>& ranks, std::uint32_t n);

// The n_wanted-th lowest of these, or kEverything if there are no more or all are wanted. Permutes them.
[[nodiscard]] std::uint64_t last_wanted(std::vector<std::uint64_t>& ranks, std::uint32_t n_wanted);

}  // namespace deciduous
