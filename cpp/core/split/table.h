// The distinct values of an attribute on a node, ascending, and the rows at them. Sets of values, and of rows in the
// order of their values, are marks: which candidates are valid is then a matter of a few operations for 64 of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "split/node_rows.h"
#include "split/scratch_buffer.h"

namespace deciduous {

// Bits, 64 to a word.
using Marks = std::vector<std::uint64_t>;

[[nodiscard]] inline bool is_set(Marks const& marks, std::size_t i) {
    return (marks[i / 64] >> (i % 64) & 1) != 0;
}
[[nodiscard]] constexpr std::size_t n_words_of(std::size_t n_marks) {
    return (n_marks + 63) / 64;
}

class Table {
public:
    // By counting the codes of a column that has few of them.
    void count_codes(NodeRows const& node, Column const& column);

    // By sorting the values of all rows, which are out of their order then.
    void sort(NodeRows const& node, ClassValues& values);

    [[nodiscard]] std::size_t size() const { return n_values_; }
    [[nodiscard]] Ordered const* values() const { return values_; }  // kLanes of no meaning behind them
    [[nodiscard]] Value value(std::size_t i) const { return from_ordered(values_[i]); }

    // The values that have rows of this class and of no other.
    [[nodiscard]] std::uint64_t const* only(std::size_t y) const { return only_ + y * n_words_of(n_values_); }

    // Rows per class up to each of some values, by their places.
    void count_up_to(std::span<std::uint32_t const> places, Count* counts);

    void wipe_values() {
        own_values_.wipe_written();
        beside_.wipe_written();
    }

private:
    void sort_rows(NodeRows const& node, Ordered* values);
    void find_sets(NodeRows const& node);
    void join_repeated(Ordered const* sorted, std::size_t n_rows);
    void add_weights(NodeRows const& node, Ordered const* sorted);
    void find_only();

    std::size_t n_classes_ = 0;
    std::size_t n_values_ = 0;
    Ordered const* values_ = nullptr;
    std::uint64_t const* only_ = nullptr;

    // Rows are either counted: so many per class up to each value …
    bool are_counted_ = false;
    std::vector<Count> counts_;
    // … or, class by class, sets of places in their order. If a value has several rows, the last of them.
    Marks sets_;
    std::vector<Count> n_before_;  // each word of the sets
    bool are_repeated_ = false;
    std::vector<std::uint32_t> last_rows_;

    ScratchBuffer<Ordered> own_values_;
    Marks own_only_;
    std::vector<std::uint32_t> labels_;  // of the sorted rows
    std::vector<std::uint32_t> labels_beside_;
    ScratchBuffer<Ordered> beside_;
    std::vector<Count> n_by_code_;
    std::vector<std::uint32_t> rows_;
    Marks repeated_;
    Marks is_last_;
    Marks others_;
};

}  // namespace deciduous
