// A node of few rows, and all that grows below it: a set of rows is a word, an attribute of two values is another, and
// counting rows is counting bits. Most nodes of a tree are that small, and most of the work is there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/kernels.h"
#include "base/types.h"
#include "base/wiped.h"
#include "data/dataset.h"

namespace deciduous {

// Rows of a small node, a bit each, class after class.
using RowSet = std::uint64_t;

// Calls the function with the number of each row of a set.
template <typename Function>
void for_each_row(RowSet rows, Function const& function) {
    for (; rows != 0; rows &= rows - 1)
        function(static_cast<std::size_t>(std::countr_zero(rows)));
}

// The attributes that may vary among the rows of a node, within the lists of the small node above it: those of two
// values, which are known to vary, then the others.
struct AttributeList {
    std::size_t begin = 0;
    std::size_t n_binary = 0;
    std::size_t n_others = 0;
    [[nodiscard]] std::size_t size() const { return n_binary + n_others; }
    [[nodiscard]] std::size_t end() const { return begin + size(); }
};

inline constexpr std::size_t kMaxSmallRows = 64;

// What some rows of a small node have of an attribute.
struct KnownValues {
    Attribute attribute;
    RowSet rows;                                    // whose values are known
    RowSet sorted;                                  // whose order is known, too
    std::array<Ordered, kMaxSmallRows> values;      // by row
    std::array<std::uint8_t, kMaxSmallRows> order;  // the sorted rows, by ascending value
    std::array<std::uint8_t, kMaxSmallRows> place;  // in this order, by row

    // Calls the function with some of the sorted rows, by ascending value.
    template <typename Function>
    void for_each_in_order(RowSet some, Function const& function) const {
        RowSet places = 0;
        for_each_row(some, [&](std::size_t row) { places |= RowSet{1} << place[row]; });
        for_each_row(places, [&](std::size_t its_place) { function(std::size_t{order[its_place]}); });
    }
};

class SmallNode {
public:
    static constexpr std::size_t kMaxRows = kMaxSmallRows;

    SmallNode() = default;
    ~SmallNode() { wipe_values(); }
    SmallNode(SmallNode const&) = delete;
    SmallNode& operator=(SmallNode const&) = delete;

    // Takes rows, class after class, in place of the former ones, and finds the binary attributes that vary among them.
    // `others` are the attributes beside them that may. `bits` are those of the rows, if they were gathered.
    AttributeList take(Dataset const& data, std::span<Slot const> rows, std::span<std::uint32_t const> class_ends,
                       std::span<Attribute const> others, BitColumns bits);

    [[nodiscard]] RowSet all() const;
    [[nodiscard]] std::span<RowSet const> classes() const { return classes_; }

    // The target of each row, in a regression forest.
    [[nodiscard]] std::span<Target const, kMaxRows> targets() const { return targets_; }

    // Those of a set of rows: written one behind the other, as integers or as doubles, which hold them exactly.
    template <typename Number>
    void list_targets(RowSet rows, Number* targets) const {
        for_each_row(rows, [&](std::size_t row) { *targets++ = static_cast<Number>(targets_[row]); });
    }

    // Their sum.
    [[nodiscard]] Target sum_of_targets(RowSet rows) const {
        Target sum = 0;  // at most 64 times 2^40
        for_each_row(rows, [&](std::size_t row) { sum += targets_[row]; });
        return sum;
    }

    // The slots of a set of rows, class after class.
    [[nodiscard]] std::span<Slot const> list(RowSet rows, std::vector<Slot>& slots) const;

    // The rows whose bit of a binary attribute is set, or for which the indicator is on; of one that is in a list.
    [[nodiscard]] RowSet column(Attribute attribute) const { return columns_[attribute]; }

    // The values of an attribute, known for at least these rows. They are read once for all nodes below.
    [[nodiscard]] std::span<Ordered const, kMaxSmallRows> values(Dataset const& data, Attribute attribute,
                                                                 RowSet rows) {
        return known(data, attribute, rows).values;
    }

    // The same with the order of these rows by their values. They are sorted once for all nodes below.
    [[nodiscard]] KnownValues const& sorted(Dataset const& data, Attribute attribute, RowSet rows);

    [[nodiscard]] std::span<Attribute const> attributes(AttributeList const& list) const {
        return std::span(lists_).subspan(list.begin, list.size());
    }

    // The list of a set of rows below the node that has this list.
    [[nodiscard]] AttributeList narrowed(AttributeList const& list, RowSet rows);

    // Takes an attribute that is not binary out of a list: the last one that was made.
    void retire(AttributeList& list, Attribute attribute);

    // Overwrites what the rows have.
    void wipe_values() {
        wipe(columns_.data(), columns_.size());
        wipe(listed_columns_.data(), listed_columns_.size());
        wipe(known_.data(), known_.size());
        wipe(targets_.data(), targets_.size());
        wipe(&sorting_, 1);
        n_known_ = 0;
    }

private:
    [[nodiscard]] KnownValues& known(Dataset const& data, Attribute attribute, RowSet rows);
    void sort(KnownValues& its, RowSet rows);
    void find_bits(Dataset const& data, BitColumns gathered);
    void find_indicators(Dataset const& data);
    void make_room(std::size_t n);

    std::size_t n_rows_ = 0;
    std::array<Slot, kMaxRows> slots_{};
    std::array<Target, kMaxRows> targets_{};
    std::vector<RowSet> classes_;
    WipedVector<RowSet> columns_;         // per attribute
    std::vector<Attribute> lists_;        // a node's behind that of its parent
    WipedVector<RowSet> listed_columns_;  // of the binary ones in the lists
    std::size_t n_listed_ = 0;
    WipedVector<KnownValues> known_;
    std::size_t n_known_ = 0;
    struct Sorting {
        std::array<Ordered, kMaxRows + kernels::kLanes> values;
        std::array<Ordered, kMaxRows + kernels::kLanes> values_beside;
        std::array<std::uint32_t, kMaxRows + kernels::kLanes> rows;
        std::array<std::uint32_t, kMaxRows + kernels::kLanes> rows_beside;
    } sorting_{};
    std::vector<std::uint32_t> known_places_;  // per attribute; of no meaning unless it is there that this says
};

}  // namespace deciduous
