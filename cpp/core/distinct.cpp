#include "distinct.h"

#include <algorithm>

namespace deciduous {

namespace {

void tabulate_coded(NodeView const& node, Column const& column, Workspace& work) {
    std::size_t const n_classes = node.totals.size();
    auto const [codes, values] = column.coded();
    work.histogram.assign(256 * n_classes, 0);
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        work.histogram[codes[node.slots[i]] * n_classes + node.votes[i].label] += node.votes[i].weight;
    for (Code const code : column.codes_in_order()) {
        auto const begin = work.histogram.begin() + static_cast<std::ptrdiff_t>(code * n_classes);
        auto const end = begin + static_cast<std::ptrdiff_t>(n_classes);
        if (std::all_of(begin, end, [](Count n) { return n == 0; }))
            continue;
        work.values.push_back(values[code]);
        work.value_counts.insert(work.value_counts.end(), begin, end);
    }
}

template <typename View>
void tabulate_sorted(NodeView const& node, View view, Workspace& work) {
    std::size_t const n_classes = node.totals.size();
    work.packed.resize(node.slots.size());
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        work.packed[i] = (std::uint64_t{view(node.slots[i])} << 32) | i;
    std::ranges::sort(work.packed);
    for (std::uint64_t const pair : work.packed) {
        auto const value = static_cast<Value>(pair >> 32);
        if (work.values.empty() || work.values.back() != value) {
            work.values.push_back(value);
            work.value_counts.resize(work.value_counts.size() + n_classes, 0);
        }
        Vote const vote = node.votes[static_cast<std::uint32_t>(pair)];
        work.value_counts[work.value_counts.size() - n_classes + vote.label] += vote.weight;
    }
}

void tabulate_indicator(NodeView const& node, Attribute attribute, Workspace& work) {
    std::size_t const n_classes = node.totals.size();
    work.left.assign(n_classes, 0);  // rows of the category
    node.data.visit(attribute, [&](auto view) {
        for (std::size_t i = 0; i < node.slots.size(); ++i)
            work.left[node.votes[i].label] += view(node.slots[i]) == kIndicatorOn ? node.votes[i].weight : 0;
    });
    Count const n_on = sum(work.left);
    if (n_on < sum(node.totals)) {
        work.values.push_back(kIndicatorOff);
        for (std::size_t y = 0; y < n_classes; ++y)
            work.value_counts.push_back(node.totals[y] - work.left[y]);
    }
    if (n_on > 0) {
        work.values.push_back(kIndicatorOn);
        work.value_counts.insert(work.value_counts.end(), work.left.begin(), work.left.end());
    }
}

}  // namespace

void tabulate(NodeView const& node, Attribute attribute, Workspace& work) {
    // Clearing and reading a histogram costs as much as sorting this many rows.
    constexpr std::size_t kMinHistogramRows = 64;
    work.values.clear();
    work.value_counts.clear();
    Column const* const column = node.data.numeric_column(attribute);
    if (column == nullptr)
        tabulate_indicator(node, attribute, work);
    else if (column->is_coded() && node.slots.size() >= kMinHistogramRows)
        tabulate_coded(node, *column, work);
    else
        column->visit([&](auto view) { tabulate_sorted(node, view, work); });
    work.values.note_size();
    work.packed.note_size();
}

}  // namespace deciduous
