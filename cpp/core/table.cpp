#include "table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels.h"

namespace deciduous {

namespace {

// Room for the table of this many values; `finish_table` tells how many there are.
template <typename NClasses>
void start_table(NClasses n_classes, std::size_t n_most, Workspace& work) {
    work.values.resize(n_most);
    work.values.note_size();
    work.value_counts.resize(n_most * n_classes);
}

template <typename NClasses>
void finish_table(NClasses n_classes, std::size_t n_values, Workspace& work) {
    work.values.resize(n_values);
    work.value_counts.resize(n_values * n_classes);
}

template <typename NClasses>
void tabulate_by_histogram(NClasses n_classes, NodeView const& node, Column const& column, Workspace& work) {
    auto const [codes, values] = column.coded();
    auto const order = column.codes_in_order();
    work.histogram.resize(256 * n_classes);
    for (Code const code : order)
        std::fill_n(work.histogram.begin() + static_cast<std::ptrdiff_t>(code * n_classes), std::size_t{n_classes}, 0);
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        work.histogram[codes[node.slots[i]] * n_classes + node.labels[i]] += node.weight(i);
    start_table(n_classes, order.size(), work);
    std::size_t n_values = 0;
    for (Code const code : order) {
        Count any = 0;
        for (std::size_t y = 0; y < n_classes; ++y)
            any |= work.value_counts[n_values * n_classes + y] = work.histogram[code * n_classes + y];
        work.values[n_values] = values[code];
        n_values += any != 0 ? 1 : 0;
    }
    finish_table(n_classes, n_values, work);
}

template <typename NClasses, typename View>
void tabulate_by_places(NClasses n_classes, NodeView const& node, View view, Workspace& work) {
    std::size_t const n = node.slots.size();
    work.gathered.resize(n);
    work.gathered.note_size();
    for (std::size_t i = 0; i < n; ++i)
        work.gathered[i] = view(node.slots[i]);
    work.places.resize(n);
    kernels::count_smaller(work.gathered.data(), n, work.places.data());
    // Rows of one value have one place, and the next value's place is as far behind as there are rows at this one.
    start_table(n_classes, n, work);
    std::fill_n(work.value_counts.begin(), n * n_classes, Count{0});
    work.histogram.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t const place = work.places[i];
        work.values[place] = work.gathered[i];
        work.value_counts[place * n_classes + node.labels[i]] += node.weight(i);
        ++work.histogram[place];
    }
    std::size_t n_values = 0;
    for (std::size_t place = 0; place < n; place += work.histogram[place], ++n_values) {
        work.values[n_values] = work.values[place];
        for (std::size_t y = 0; y < n_classes; ++y)
            work.value_counts[n_values * n_classes + y] = work.value_counts[place * n_classes + y];
    }
    finish_table(n_classes, n_values, work);
}

// Sorts by the upper halves, byte by byte from the lowest: a few passes, whatever the order was.
void sort_by_upper_half(ValueScratch<std::uint64_t>& keys, ValueScratch<std::uint64_t>& other) {
    constexpr std::size_t kDigits = 256;
    std::array<std::array<std::uint32_t, kDigits>, 4> begins{};
    for (std::uint64_t const key : keys)
        for (std::size_t byte = 0; byte < 4; ++byte)
            ++begins[byte][key >> (32 + 8 * byte) & 255];
    other.resize(keys.size());
    other.note_size();
    for (std::size_t byte = 0; byte < 4; ++byte) {
        std::uint64_t const first_digit = keys.front() >> (32 + 8 * byte) & 255;
        if (begins[byte][first_digit] == keys.size())
            continue;  // all have the same
        std::exclusive_scan(begins[byte].begin(), begins[byte].end(), begins[byte].begin(), 0U);
        for (std::uint64_t const key : keys)
            other[begins[byte][key >> (32 + 8 * byte) & 255]++] = key;
        keys.swap(other);
    }
}

template <typename NClasses, typename View>
void tabulate_by_sorting(NClasses n_classes, NodeView const& node, View view, Workspace& work) {
    std::size_t const n = node.slots.size();
    work.packed.resize(n);
    work.packed.note_size();
    for (std::size_t i = 0; i < n; ++i)
        work.packed[i] = (std::uint64_t{view(node.slots[i])} << 32) | i;
    sort_by_upper_half(work.packed, work.packed_aside);
    start_table(n_classes, n, work);
    std::fill_n(work.value_counts.begin(), n * n_classes, Count{0});
    std::size_t place = 0;  // of the present value
    auto former = static_cast<Value>(work.packed.front() >> 32);
    for (std::uint64_t const pair : work.packed) {
        auto const value = static_cast<Value>(pair >> 32);
        auto const i = static_cast<std::uint32_t>(pair);
        place += value != former ? 1 : 0;
        former = value;
        work.values[place] = value;
        work.value_counts[place * n_classes + node.labels[i]] += node.weight(i);
    }
    finish_table(n_classes, place + 1, work);
}

template <typename NClasses, typename IsHigh>
void count_high(NClasses n_classes, NodeView const& node, IsHigh const& is_high, Workspace& work) {
    work.at_high.assign(n_classes, 0);
    if constexpr (std::is_same_v<NClasses, TwoClasses>) {
        if (node.weights.empty()) {
            Count n_high = 0;
            Count n_high_of_1 = 0;
            for (std::size_t i = 0; i < node.slots.size(); ++i) {
                Count const high = is_high(i) ? 1 : 0;
                n_high += high;
                n_high_of_1 += high & node.labels[i];
            }
            work.at_high[0] = n_high - n_high_of_1;
            work.at_high[1] = n_high_of_1;
            return;
        }
    }
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        work.at_high[node.labels[i]] += is_high(i) ? node.weight(i) : 0;
}

// The same from the gathered bits of the rows.
template <typename NClasses>
void count_bits(NClasses n_classes, NodeView const& node, std::size_t bit, bool is_high_set, Workspace& work) {
    std::size_t const n = node.slots.size();
    RowBits::Bits const* const words = node.bits.data() + bit / RowBits::kBitsPerWord * n;
    auto const shift = static_cast<unsigned>(bit % RowBits::kBitsPerWord);
    if (std::is_same_v<NClasses, TwoClasses> && node.weights.empty()) {
        auto const [n_set, n_set_of_1] = kernels::count_bit(words, node.labels.data(), n, shift);
        work.at_high.resize(2);
        work.at_high[0] = static_cast<Count>(n_set - n_set_of_1);
        work.at_high[1] = static_cast<Count>(n_set_of_1);
    } else {
        count_high(n_classes, node, [&](std::size_t i) { return (words[i] >> shift & 1) != 0; }, work);
    }
    if (!is_high_set)
        for (std::size_t y = 0; y < n_classes; ++y)
            work.at_high[y] = node.totals[y] - work.at_high[y];
}

// The same from a handful of rows.
void count_in_handful(NodeView const& node, Attribute attribute, bool is_high_set, Workspace& work) {
    RowSet const is_set = node.handful->column(attribute);
    auto const classes = node.handful->classes();
    work.at_high.resize(classes.size());
    kernels::count_common((is_high_set ? is_set : ~is_set) & node.set, classes.data(), classes.size(),
                          work.at_high.data());
}

// The same by whichever bits are known; false if none are.
bool count_known_bits(NodeView const& node, Attribute attribute, bool is_high_set, Workspace& work) {
    auto const bit = node.data.bit_of(attribute);
    if (node.handful != nullptr && (bit || node.data.numeric_column(attribute) == nullptr)) {
        count_in_handful(node, attribute, is_high_set, work);
        return true;
    }
    if (node.bits.empty() || !bit)
        return false;
    with_classes(node.totals.size(), [&](auto n_classes) { count_bits(n_classes, node, *bit, is_high_set, work); });
    return true;
}

void count_indicator(NodeView const& node, Attribute attribute, Workspace& work) {
    if (count_known_bits(node, attribute, true, work))
        return;
    node.data.visit(attribute, [&](auto view) {
        with_classes(node.totals.size(), [&](auto n_classes) {
            count_high(n_classes, node, [&](std::size_t i) { return view(node.slots[i]) == kIndicatorOn; }, work);
        });
    });
}

}  // namespace

std::optional<TwoValued> count_two_valued(NodeView const& node, Attribute attribute, Workspace& work) {
    Column const* const column = node.data.numeric_column(attribute);
    if (column == nullptr) {
        count_indicator(node, attribute, work);
        return TwoValued{kIndicatorOff, kIndicatorOn};
    }
    if (!column->is_coded() || column->codes_in_order().size() > 2)
        return std::nullopt;
    auto const order = column->codes_in_order();
    auto const [codes, values] = column->coded();
    Code const high = order.back();
    if (!count_known_bits(node, attribute, high == 1, work))
        with_classes(node.totals.size(), [&, codes_of = codes](auto n_classes) {
            count_high(n_classes, node, [&](std::size_t i) { return codes_of[node.slots[i]] == high; }, work);
        });
    return TwoValued{values[order.front()], values[high]};
}

void tabulate(NodeView const& node, Attribute attribute, Workspace& work) {
    constexpr std::size_t kMaxForPlaces = 256;
    Column const* const column = node.data.numeric_column(attribute);
    std::size_t const n_rows = node.slots.size();
    with_classes(node.totals.size(), [&](auto n_classes) {
        if (column != nullptr && column->is_coded() && column->codes_in_order().size() <= 2 * n_rows)
            tabulate_by_histogram(n_classes, node, *column, work);
        else
            node.data.visit(attribute, [&](auto view) {
                if (n_rows <= kMaxForPlaces)
                    tabulate_by_places(n_classes, node, view, work);
                else
                    tabulate_by_sorting(n_classes, node, view, work);
            });
    });
}

}  // namespace deciduous
