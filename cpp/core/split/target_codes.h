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
    // wanted; two targets beside each only if they are recorded. False if all rows have one value.
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
            its.target = its.n == 0 ? target : its.target;
            its.differ |= target ^ its.target;
            its.n += static_cast<Count>(weight);
            its.sum = static_cast<Integer>(its.sum) + static_cast<Integer>(weight) * target;
        }
    }

    // Lists the cuts above all values that rows have.
    void list_cuts() {
        auto& cuts = scratch_.targets.cuts;
        cuts.clear();
        TargetCodesScratch::Rows const* below = nullptr;
        for (Code const code : order_) {
            TargetCodesScratch::Rows const& its = its_.rows[code];
            if (its.n == 0)
                continue;
            Value const value = coded_.values[code];
            if (below != nullptr) {
                cuts.back().next = value;
                cuts.back().n_next = its.n;
                bool const differ = below->differ != 0 || its.differ != 0 || below->target != its.target;
                cuts.back().beside.n_second = differ ? 1 : 0;  // so that it is known whether it is a candidate
            }
            TargetCut cut;
            cut.value = value;
            cut.next = kNoValue;
            cut.n_rows = cut.n_at = its.n;
            cut.sum = its.sum;
            cuts.push_back(cut);
            below = &its;
        }
    }

    // Finds two targets of the rows at both values of each cut. What rows at other values have goes where nobody looks,
    // as asking would be slower.
    void look_beside() {
        auto& cuts = scratch_.targets.cuts;
        constexpr auto kNowhere = static_cast<std::uint16_t>(std::tuple_size_v<decltype(its_.beside)> - 1);
        std::size_t i = 0;
        std::uint16_t with_next = kNowhere;  // the cut that waits for its next value
        for (Code const code : order_) {
            if (its_.rows[code].n == 0)
                continue;
            its_.cut_below[code] = with_next;
            bool const is_cut = i < cuts.size() && cuts[i].value == coded_.values[code];
            its_.cut_above[code] = with_next = is_cut ? static_cast<std::uint16_t>(i++) : kNowhere;
        }
        std::fill_n(its_.beside.begin(), cuts.size(), TwoTargets{});
        for (std::size_t row = 0; row < node_.slots.size(); ++row) {
            Code const code = coded_.codes[node_.slots[row]];
            for (std::uint16_t const cut : {its_.cut_above[code], its_.cut_below[code]})
                its_.beside[cut].add(node_.targets[row], node_.weight(row));
        }
        for (std::size_t cut = 0; cut < cuts.size(); ++cut)
            cuts[cut].beside = its_.beside[cut];
    }

    TargetCodesScratch& its_;
    std::span<Code const> order_;
    CodedView coded_;
};

}  // namespace deciduous
