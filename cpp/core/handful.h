// A handful of rows: a set of them is a word, an attribute of two values is another, and counting rows is counting
// bits. Most nodes of a tree are that small, and most of the work of growing and changing trees is there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataset.h"
#include "types.h"

namespace deciduous {

// Rows of a handful, a bit each.
using RowSet = std::uint64_t;

// The attributes that may vary among the rows of a node, within the lists of its handful: those of two values, which
// are known to vary, then the others.
struct AttributeList {
    std::size_t begin = 0;
    std::size_t n_binary = 0;
    std::size_t n_others = 0;
    [[nodiscard]] std::size_t size() const { return n_binary + n_others; }
    [[nodiscard]] std::size_t end() const { return begin + size(); }
};

class Handful {
public:
    static constexpr std::size_t kMaxRows = 64;
    static constexpr std::size_t kMaxClasses = 8;

    // Takes rows in place of the former ones, and finds the binary attributes that vary among them. `others` are the
    // attributes beside them that may.
    AttributeList take(Dataset const& data, std::span<Slot const> rows, std::size_t n_classes,
                       std::span<Attribute const> others);

    [[nodiscard]] RowSet all() const { return n_rows_ == kMaxRows ? ~RowSet{0} : (RowSet{1} << n_rows_) - 1; }
    [[nodiscard]] Slot slot(std::size_t i) const { return slots_[i]; }
    [[nodiscard]] Label label(std::size_t i) const { return labels_[i]; }
    [[nodiscard]] std::span<RowSet const> classes() const { return classes_; }

    // The rows whose bit of a binary attribute in a list is set, or for which the indicator is on.
    [[nodiscard]] RowSet column(Attribute attribute) const { return columns_[attribute]; }

    [[nodiscard]] std::span<Attribute const> attributes(AttributeList const& list) const {
        return std::span(lists_).subspan(list.begin, list.size());
    }

    // The list of a set of rows below the node that has this list.
    [[nodiscard]] AttributeList narrowed(AttributeList const& list, RowSet rows);

    // Takes an attribute that is not binary out of a list: the last one that was made.
    void retire(AttributeList& list, Attribute attribute);

private:
    void find_bits(Dataset const& data);
    void find_indicators(Dataset const& data);

    std::size_t n_rows_ = 0;
    std::array<Slot, kMaxRows> slots_{};
    std::array<Label, kMaxRows> labels_{};
    std::vector<RowSet> classes_;
    std::vector<RowSet> columns_;   // per attribute
    std::vector<Attribute> lists_;  // a node's behind that of its parent
    std::size_t n_listed_ = 0;
};

}  // namespace deciduous
