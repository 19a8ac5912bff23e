// The distinct values of an attribute on a node, ascending, with their rows per class.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "split/node_rows.h"
#include "split/scratch_buffer.h"

namespace deciduous {

class Table {
public:
    // By counting the codes of a column that has few of them.
    void count_codes(NodeRows const& node, Column const& column);

    // By sorting the values of all rows; at most `max_counted` of them by counting for each how many are smaller.
    void sort(NodeRows const& node, ClassValues const& values, std::size_t max_counted);

    // By reading rows that are sorted already, with their classes. None of them has a weight.
    void read(std::size_t n_classes, std::span<Ordered const> sorted, std::uint32_t const* classes);

    [[nodiscard]] std::size_t size() const { return n_values_; }
    [[nodiscard]] Ordered const* values() const { return values_.data(); }
    [[nodiscard]] Value value(std::size_t i) const { return from_ordered(values_.data()[i]); }
    [[nodiscard]] Count const* counts(std::size_t i) const { return counts_.data() + i * n_classes_; }

    void wipe_values() {
        values_.wipe_written();
        keys_.wipe_written();
        keys_aside_.wipe_written();
    }

private:
    void start(std::size_t n_classes, std::size_t n_most);
    void sort_by_counting(NodeRows const& node, ClassValues const& values);
    void sort_by_digits(NodeRows const& node, ClassValues const& values);
    [[nodiscard]] std::uint64_t const* sorted_keys(std::size_t n);
    template <typename ValueOf, typename Take>
    void take_sorted(std::size_t n_rows, ValueOf const& value_of, Take const& take);

    std::size_t n_classes_ = 0;
    std::size_t n_values_ = 0;
    ScratchBuffer<Ordered> values_;
    std::vector<Count> counts_;
    std::vector<Count> n_by_code_;
    std::vector<std::uint32_t> places_;
    std::vector<std::uint32_t> n_rows_;
    ScratchBuffer<std::uint64_t> keys_;
    ScratchBuffer<std::uint64_t> keys_aside_;
};

}  // namespace deciduous
