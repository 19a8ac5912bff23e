#include "split/valid_scan.h"

#include "split/attribute_scan.h"
#include "split/look_ups.h"
#include "split/n_classes.h"
#include "split/table_scan.h"

namespace deciduous {

namespace {

// Of few rows.
Finding scan_few_values(NodeRows const& node, Attribute attribute, std::uint32_t n_thresholds, Candidates& candidates,
                        ScanScratch& scratch) {
    Ranks const ranks(node.keys, attribute, node.dominant);
    scratch.values.gather(node, attribute);
    Ordered* const values = scratch.values.in_any_order();
    kernels::WordOfRows& found = scratch.word_of_rows;
    std::size_t const n = kernels::chosen->sample_word(
        values, node.ends.data(), node.n_classes(), {ranks.key(true), ranks.key(false), node.dominant, n_thresholds},
        scratch.values_beside.take(node.size() + kernels::kLanes), found, candidates.room_for(node.size()));
    (void)candidates.append_many(n, [&](std::size_t i, Candidate& its) {
        std::uint32_t const place = found.places[i];
        its.attribute = attribute;
        its.value = from_ordered(values[place]);
        its.next = from_ordered(values[place + 1]);
        its.rank = found.marked >> place & 1;
    });
    return n == 0 ? Finding::constant : Finding::cuts;
}

}  // namespace

Finding scan_valid(NodeRows const& node, Attribute attribute, ValidRequest const& request, Tuning const& tuning,
                   Candidates& candidates, ScanScratch& scratch) {
    if (node.small != nullptr)
        return scan_few_values(node, attribute, request.n_thresholds, candidates, scratch);
    if (auto const values = count_two_valued(node, attribute, scratch.pair.at_high)) {
        scratch.pair.values = *values;
        return take_pair(node, attribute, scratch.pair, candidates);
    }
    AttributeScan const scan(node, attribute, tuning, scratch);
    // Counting codes takes less time than looking at the values, unless they are many: all of them have to be read.
    Column const& column = *node.data.numeric_column(attribute);
    if (column.is_coded() && column.codes_in_order().size() * tuning.rows_per_code <= node.size())
        return TableScan(scan).take_codes(column, request, candidates);
    scratch.values.gather(node, attribute);
    if (scratch.values.is_constant())
        return Finding::constant;
    bool const has_looked_up = with_classes(
        node.n_classes(), [&](auto n_classes) { return LookUps(scan, n_classes).run(request, candidates); });
    if (has_looked_up)
        return Finding::cuts;
    return TableScan(scan).take_values(request, candidates);
}

void find_cuts_again(NodeRows const& node, Attribute attribute, bool are_boundaries, Rank bound, Tuning const& tuning,
                     ScanScratch& scratch) {
    TableScan(AttributeScan(node, attribute, tuning, scratch)).find_cuts_again(are_boundaries, bound);
}

bool find_pair_again(NodeRows const& node, Attribute attribute, Tuning const& tuning, ScanScratch& scratch) {
    return TableScan(AttributeScan(node, attribute, tuning, scratch)).find_pair_again();
}

}  // namespace deciduous
