#include "split/table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/kernels.h"
#include "split/n_classes.h"

namespace deciduous {

// Room for the table of this many values, without rows yet.
void Table::start(std::size_t n_classes, std::size_t n_most) {
    n_classes_ = n_classes;
    (void)values_.take(n_most);
    counts_.assign(n_most * n_classes, 0);
}

void Table::count_codes(NodeRows const& node, Column const& column) {
    constexpr std::size_t kCodes = 256;
    auto const coded = column.coded();
    auto const order = column.codes_in_order();
    n_classes_ = node.n_classes();
    with_classes(n_classes_, [&](auto n_classes) {
        n_by_code_.resize(kCodes * n_classes);
        for (Code const code : order)
            std::fill_n(n_by_code_.data() + code * n_classes, std::size_t{n_classes}, Count{0});
        node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                n_by_code_[coded.codes[node.slots[i]] * n_classes + y] += node.weight(i);
        });
        Ordered* const values = values_.take(order.size());
        counts_.resize(order.size() * n_classes);
        n_values_ = 0;
        for (Code const code : order) {
            Count any = 0;
            for (std::size_t y = 0; y < n_classes; ++y)
                any |= counts_[n_values_ * n_classes + y] = n_by_code_[code * n_classes + y];
            values[n_values_] = to_ordered(coded.values[code]);
            n_values_ += any != 0 ? 1 : 0;
        }
    });
}

void Table::sort(NodeRows const& node, ClassValues const& values, std::size_t max_counted) {
    if (node.size() <= max_counted)
        sort_by_counting(node, values);
    else
        sort_by_digits(node, values);
}

void Table::sort_by_counting(NodeRows const& node, ClassValues const& values) {
    std::size_t const n_rows = node.size();
    auto const all = values.all_padded();
    places_.resize(all.size());
    kernels::chosen->count_smaller(all.data(), all.size(), places_.data());
    // Rows of one value have one place, and the next value's place is as far behind as there are rows at this one.
    with_classes(node.n_classes(), [&](auto n_classes) {
        start(n_classes, n_rows);
        n_rows_.assign(n_rows, 0);
        node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                std::size_t const place = places_[i];
                values_.data()[place] = all[i];
                counts_[place * n_classes + y] += node.weight(i);
                ++n_rows_[place];
            }
        });
        n_values_ = 0;
        for (std::size_t place = 0; place < n_rows; place += n_rows_[place], ++n_values_) {
            values_.data()[n_values_] = values_.data()[place];
            for (std::size_t y = 0; y < n_classes; ++y)
                counts_[n_values_ * n_classes + y] = counts_[place * n_classes + y];
        }
    });
}

// Sorts the keys by their upper halves, byte by byte from the lowest: a few passes, whatever the order was.
std::uint64_t const* Table::sorted_keys(std::size_t n) {
    constexpr std::size_t kDigits = 256;
    std::uint64_t* keys = keys_.data();
    std::uint64_t* other = keys_aside_.take(n);
    std::array<std::array<std::uint32_t, kDigits>, 4> begins{};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t byte = 0; byte < 4; ++byte)
            ++begins[byte][keys[i] >> (32 + 8 * byte) & 255];
    for (std::size_t byte = 0; byte < 4; ++byte) {
        if (begins[byte][keys[0] >> (32 + 8 * byte) & 255] == n)
            continue;  // all have the same
        std::exclusive_scan(begins[byte].begin(), begins[byte].end(), begins[byte].begin(), 0U);
        for (std::size_t i = 0; i < n; ++i)
            other[begins[byte][keys[i] >> (32 + 8 * byte) & 255]++] = keys[i];
        std::swap(keys, other);
    }
    return keys;
}

// Takes rows in the order of their values: `take(i, counts)` counts row i among those of its value.
template <typename ValueOf, typename Take>
void Table::take_sorted(std::size_t n_rows, ValueOf const& value_of, Take const& take) {
    std::size_t place = 0;  // of the present value
    Ordered former = value_of(0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        Ordered const value = value_of(i);
        place += value != former ? 1 : 0;
        former = value;
        values_.data()[place] = value;
        take(i, counts_.data() + place * n_classes_);
    }
    n_values_ = place + 1;
}

void Table::read(std::size_t n_classes, std::span<Ordered const> sorted, std::uint32_t const* classes) {
    start(n_classes, sorted.size());
    take_sorted(
        sorted.size(), [&](std::size_t i) { return sorted[i]; },
        [&](std::size_t i, Count* counts) { ++counts[classes[i]]; });
}

void Table::sort_by_digits(NodeRows const& node, ClassValues const& values) {
    std::size_t const n_rows = node.size();
    bool const is_weighted = !node.weights.empty();
    std::uint64_t* const keys = keys_.take(n_rows);
    node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            keys[i] = std::uint64_t{from_ordered(values.all()[i])} << 32 | (is_weighted ? i : y);
    });
    std::uint64_t const* const sorted = sorted_keys(n_rows);
    auto const value_of = [&](std::size_t i) { return to_ordered(static_cast<Value>(sorted[i] >> 32)); };
    auto const low_half = [&](std::size_t i) { return static_cast<std::uint32_t>(sorted[i]); };
    start(node.n_classes(), n_rows);
    if (!is_weighted) {
        take_sorted(n_rows, value_of, [&](std::size_t i, Count* counts) { ++counts[low_half(i)]; });
        return;
    }
    take_sorted(n_rows, value_of, [&](std::size_t i, Count* counts) {
        std::uint32_t const row = low_half(i);
        counts[std::ranges::upper_bound(node.ends, row) - node.ends.begin()] += node.weights[row];
    });
}

}  // namespace deciduous
