#include "split/two_valued.h"

#include "base/kernels.h"

namespace deciduous {

namespace {

// Counts the rows for which `is_high(i)`.
template <typename IsHigh>
void count_rows(NodeRows const& node, IsHigh const& is_high, std::vector<Count>& at_high) {
    node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
        Count n_high = 0;
        for (std::size_t i = begin; i < end; ++i)
            n_high += is_high(i) ? node.weight(i) : 0;
        at_high[y] = n_high;
    });
}

// Counts the rows whose bit is set, by whichever bits are known; false if none are.
bool count_bits(NodeRows const& node, Attribute attribute, std::vector<Count>& n_set) {
    auto const bit = node.data.bit_of(attribute);
    if (node.bits.empty() || !bit)
        return false;
    RowBits::Bits const* const words = node.bits.word(*bit / RowBits::kBitsPerWord);
    auto const shift = static_cast<unsigned>(*bit % RowBits::kBitsPerWord);
    if (!node.weights.empty())
        count_rows(node, [&](std::size_t i) { return (words[i] >> shift & 1) != 0; }, n_set);
    else
        kernels::chosen->count_bit(words, node.ends.data(), node.n_classes(), shift, n_set.data());
    return true;
}

TwoValues count_indicator(NodeRows const& node, Attribute attribute, std::vector<Count>& at_high) {
    if (!count_bits(node, attribute, at_high))
        node.data.visit(attribute, [&](auto view) {
            count_rows(node, [&](std::size_t i) { return view(node.slots[i]) == kIndicatorOn; }, at_high);
        });
    return {kIndicatorOff, kIndicatorOn};
}

}  // namespace

void append_pairs(NodeRows const& node, std::span<Attribute const> attributes, WipedVector<RowSet>& set_rows,
                  Candidates& candidates) {
    set_rows.resize(std::max(set_rows.size(), attributes.size()));
    Count* const left = candidates.append_many(attributes.size(), [&](std::size_t i, Candidate& its) {
        set_rows[i] = node.small->column(attributes[i]) & node.set;
        its.attribute = attributes[i];
        its.value = its.next = its.rank = 0;
    });
    kernels::chosen->count_common(set_rows.data(), attributes.size(), node.small->classes().data(), node.n_classes(),
                                  left);
    if (!node.targets.empty())
        for (std::size_t i = 0; i < attributes.size(); ++i)
            candidates.set_target_sum(candidates.size() - attributes.size() + i,
                                      node.small->sum_of_targets(set_rows[i]));
}

void complete_pair(NodeRows const& node, Candidate& candidate, Count* left) {
    auto const held = *node.data.values_of_bits(candidate.attribute);
    candidate.value = std::min(held.clear, held.set);
    candidate.next = std::max(held.clear, held.set);
    if (held.clear < held.set)  // the rows whose bit is set are at the right
        for (std::size_t y = 0; y < node.n_classes(); ++y)
            left[y] = node.totals[y] - left[y];
}

std::optional<TwoValues> count_two_valued(NodeRows const& node, Attribute attribute, std::vector<Count>& at_high) {
    at_high.resize(node.n_classes());
    Column const* const column = node.data.numeric_column(attribute);
    if (column == nullptr)
        return count_indicator(node, attribute, at_high);
    if (!column->is_coded() || column->codes_in_order().size() > 2)
        return std::nullopt;
    auto const order = column->codes_in_order();
    auto const coded = column->coded();
    Code const high = order.back();
    if (!count_bits(node, attribute, at_high))
        count_rows(node, [&](std::size_t i) { return coded.codes[node.slots[i]] == high; }, at_high);
    else if (high != 1)  // bits are codes
        for (std::size_t y = 0; y < at_high.size(); ++y)
            at_high[y] = node.totals[y] - at_high[y];
    return TwoValues{coded.values[order.front()], coded.values[high]};
}

}  // namespace deciduous
