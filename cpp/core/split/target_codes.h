// The cuts of a column of few values in a regression forest, found by counting the rows that have each of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/tuning.h"
#include "data/column.h"
#include "split/target_cuts.h"

namespace deciduous {

class TargetCodes : private TargetCuts {
public:
    // Of a column that is coded.
    TargetCodes(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : TargetCuts(node, attribute, scratch),
          its_(scratch.target_codes),
          order_(node.data.numeric_column(attribute)->codes_in_order()),
          coded_(node.data.numeric_column(attribute)->coded()) {}

    // Whether the rows are enough for it to take less time than sorting them.
    [[nodiscard]] static bool pays(Column const& column, std::size_t n_rows, Tuning const& tuning) {
        return column.is_coded() && column.codes_in_order().size() * tuning.rows_per_code <= n_rows;
    }

    // Finds all cuts within the bound that so many valid ones are within, or all cuts if there are fewer or all are
    // wanted; counts two targets beside each only if they are recorded. False if all rows have one value.
    [[nodiscard]] bool find(std::uint32_t n_wanted, bool is_recorded) {
        if (node_.has_light_sums())
            count_rows<Target>([](std::size_t) { return 1; });
        else
            count_rows<TargetSum>([this](std::size_t i) { return node_.weight(i); });
        list_cuts();
        if (scratch_.targets.cuts.size() == 1)
            return false;
        rank_valid();
        drop_beyond(last_wanted(scratch_.valid_ranks, n_wanted));
        if (is_recorded)
            look_beside();
        return true;
    }

private:
    // Adds rows up in integers that hold their sums. Without branches, as their outcomes would be random.
    template <typename Integer, typename Weight>
    void count_rows(Weight const& weight_of) {
        for (Code const code : order_)
            its_.rows[code] = {};
        for (std::size_t i = 0; i < node_.slots.size(); ++i) {
            TargetCodesScratch::Rows& its = its_.rows[coded_.codes[node_.slots[i]]];
            Target const target = node_.targets[i];
            auto const weight = weight_of(i);
            its.one = its.n == 0 ? target : its.one;
            its.other = its.n == 0 || target != its.one ? target : its.other;
            its.n += static_cast<Count>(weight);
            its.sum = static_cast<Integer>(its.sum) + static_cast<Integer>(weight) * target;
        }
    }

    // Lists the cuts above all values that rows have, with two targets beside each that are not counted yet.
    void list_cuts() {
        auto& cuts = scratch_.targets.cuts;
        cuts.clear();
        for (Code const code : order_) {
            TargetCodesScratch::Rows const& its = its_.rows[code];
            if (its.n == 0)
                continue;
            if (!cuts.empty()) {
                TargetCut& below = cuts.back();
                below.next = coded_.values[code];
                below.n_next = its.n;
                note_two(below.beside, its.one);
                note_two(below.beside, its.other);
            }
            TargetCut cut;
            cut.value = coded_.values[code];
            cut.next = kNoValue;
            cut.n_rows = cut.n_at = its.n;
            cut.sum = its.sum;
            note_two(cut.beside, its.one);
            note_two(cut.beside, its.other);
            cuts.push_back(cut);
        }
    }

    // Notes that some row has a target, so that it is known whether there are two.
    static void note_two(TwoTargets& two, Target target) {
        if (two.n_first == 0 || (two.n_second == 0 && target != two.first))
            two.add(target, 1);
    }

    // Counts the two targets of the rows at both values of each cut. What rows at other values have goes where nobody
    // looks, as asking would be slower.
    void look_beside() {
        auto& cuts = scratch_.targets.cuts;
        constexpr std::uint16_t kNoneAbove = 256;
        constexpr std::uint16_t kNoneBelow = 257;
        std::uint16_t n = 0;
        std::uint16_t with_next = kNoneBelow;  // the cut that waits for its next value
        for (Code const code : order_) {
            if (its_.rows[code].n == 0)
                continue;
            its_.cut_below[code] = with_next;
            bool const is_cut = n < cuts.size() && cuts[n].value == coded_.values[code];
            its_.cut_above[code] = is_cut ? n : kNoneAbove;
            with_next = is_cut ? n++ : kNoneBelow;
        }
        for (std::size_t i = 0; i < cuts.size(); ++i)
            its_.beside[i] = {cuts[i].beside.first, cuts[i].beside.second, 0, 0};
        for (std::size_t row = 0; row < node_.slots.size(); ++row) {
            Code const code = coded_.codes[node_.slots[row]];
            Target const target = node_.targets[row];
            Count const weight = node_.weight(row);
            for (std::uint16_t const cut : {its_.cut_above[code], its_.cut_below[code]}) {
                TwoTargets& two = its_.beside[cut];
                two.n_first += target == two.first ? weight : 0;
                two.n_second += target == two.second ? weight : 0;
            }
        }
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            cuts[i].beside.n_first = its_.beside[i].n_first;
            if (cuts[i].beside.differ())
                cuts[i].beside.n_second = its_.beside[i].n_second;
        }
    }

    TargetCodesScratch& its_;
    std::span<Code const> order_;
    CodedView coded_;
};

}  // namespace deciduous
