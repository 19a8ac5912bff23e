// The rows of a node as its decision needs them: class after class, so that no label is ever looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/kernels.h"
#include "base/types.h"
#include "data/dataset.h"
#include "split/ranks.h"
#include "split/scratch_buffer.h"
#include "split/small_node.h"

namespace deciduous {

struct NodeRows {
    Dataset const& data;
    Key key;                               // of the node
    std::span<Slot const> slots;           // class after class; none if the rows are few
    std::span<std::uint32_t const> ends;   // of the classes among the rows
    std::span<Count const> totals;         // rows per class, by weight
    std::span<Count const> weights = {};   // of the slots; empty if all of them are 1
    std::span<Target const> targets = {};  // of the slots, in a regression forest
    BitColumns bits = {};                  // of the slots, if they were gathered
    SmallNode* small = nullptr;            // that the rows are of, if they are few
    RowSet set = 0;                        // the rows within it
    Label dominant = kNoClass;             // the class that most of the rows are of
    CandidateKeys keys{key};

    [[nodiscard]] std::size_t size() const { return ends.empty() ? 0 : ends.back(); }
    [[nodiscard]] std::size_t n_classes() const { return ends.size(); }
    [[nodiscard]] Count weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }

    // Whether any sum of targets, which are up to 2^40, fits into 64 bits.
    [[nodiscard]] bool has_light_sums() const { return weights.empty() && size() <= std::size_t{1} << 22; }
    [[nodiscard]] TargetSum weighted_target(std::size_t i) const {
        return static_cast<TargetSum>(weight(i)) * targets[i];
    }

    // Calls `function(y, begin, end)` for each class with the places of its slots.
    template <typename Function>
    void for_each_class(Function const& function) const {
        for (std::size_t y = 0, begin = 0; y < ends.size(); begin = ends[y++])
            function(y, begin, std::size_t{ends[y]});
    }
};

// Gathers the values of an attribute in the order of the slots.
void gather_values(Dataset const& data, Attribute attribute, std::span<Slot const> slots, Ordered* values);

// The values of an attribute on a node, in the order of its slots.
class ClassValues {
public:
    void gather(NodeRows const& node, Attribute attribute);

    [[nodiscard]] std::span<Ordered const> all() const { return {values_.data(), n_rows_}; }
    // To be sorted, with room for kLanes more behind them.
    [[nodiscard]] Ordered* in_any_order() { return values_.data(); }
    [[nodiscard]] std::span<Ordered const> of_class(std::size_t y) const {
        std::size_t const begin = y == 0 ? 0 : ends_[y - 1];
        return {values_.data() + begin, ends_[y] - begin};
    }

    [[nodiscard]] kernels::Range range() const { return kernels::chosen->find_range(values_.data(), n_rows_); }
    [[nodiscard]] bool is_constant() const {
        auto const [lowest, highest] = range();
        return lowest == highest;
    }

    void wipe_values() { values_.wipe_written(); }

private:
    ScratchBuffer<Ordered> values_;
    std::size_t n_rows_ = 0;
    std::span<std::uint32_t const> ends_;  // of the classes
};

}  // namespace deciduous
