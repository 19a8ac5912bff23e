#include "split/valid_scan.h"

#include "split/attribute_scan.h"
#include "split/look_ups.h"
#include "split/n_classes.h"
#include "split/table_scan.h"

namespace deciduous {

bool is_low_marked(Label dominant, Count const* at_high, std::span<Count const> totals) {
    for (std::size_t y = 0; y < totals.size(); ++y)
        if (y != dominant && totals[y] != at_high[y])
            return true;
    return false;
}

Finding scan_valid(NodeRows const& node, Attribute attribute, ValidRequest const& request, Tuning const& tuning,
                   Candidates& candidates, ScanScratch& scratch) {
    if (auto const values = count_two_valued(node, attribute, scratch.pair.at_high)) {
        scratch.pair.values = *values;
        return take_pair(node, attribute, scratch.pair, candidates);
    }
    AttributeScan const scan(node, attribute, tuning, scratch);
    // Counting codes takes less time than looking at the values, unless they are many: all of them have to be read.
    Column const& column = *node.data.numeric_column(attribute);
    if (node.small == nullptr && column.is_coded() &&
        column.codes_in_order().size() * tuning.rows_per_code <= node.size())
        return TableScan(scan).take_codes(column, request, candidates);
    scratch.values.gather(node, attribute);
    if (node.small == nullptr && scratch.values.is_constant())
        return Finding::constant;
    bool const has_looked_up = node.small == nullptr && with_classes(node.n_classes(), [&](auto n_classes) {
                                   return LookUps(scan, n_classes).run(request, candidates);
                               });
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
