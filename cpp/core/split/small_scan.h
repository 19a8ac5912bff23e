// Valid candidates of a small node: its rows are sorted already, and a class is a set of bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/kernels.h"
#include "split/table_scan.h"

namespace deciduous {

template <typename NClasses>
class SmallScan : public AttributeScan<NClasses> {
public:
    explicit SmallScan(AttributeScan<NClasses> const& scan) : AttributeScan<NClasses>(scan) {}

    // The rows of a small node are sorted already: a class is a set of places in their order.
    Finding run(ValidRequest const& request, Candidates& candidates) {
        SortedColumn const& column = node_.small->sorted(node_.data, attribute_, node_.set);
        Ordered* const sorted = scratch_.valid_values.take(2 * (SmallNode::kMaxRows + kernels::kLanes));
        RowSet const taken = find_class_sets(column);
        std::size_t const n = kernels::chosen->keep_set(column.sorted.data(), taken, sorted);
        if (sorted[0] == sorted[n - 1])
            return Finding::constant;
        auto& sets = scratch_.class_sets;
        for (RowSet& set : sets)
            set = kernels::chosen->gather_bits(set, taken);
        if (request.is_recorded) {
            auto& classes = scratch_.classes;
            classes.resize(std::max(classes.size(), n));
            for (std::size_t y = 0; y < n_classes_; ++y)
                for_each_row(sets[y], [&](std::size_t place) { classes[place] = static_cast<std::uint32_t>(y); });
            return TableScan<NClasses>(*this).take_sorted({sorted, n}, classes.data(), request, candidates);
        }
        RowSet const repeated = kernels::chosen->mark_repeated(sorted, n);
        offer_small(valid_places(n, repeated), repeated, sorted, request.n_thresholds, candidates);
        return Finding::cuts;
    }

private:
    using Base = AttributeScan<NClasses>;
    using Base::attribute_;
    using Base::last_valid;
    using Base::n_classes_;
    using Base::node_;
    using Base::ranks_;
    using Base::scratch_;

    // The places of the rows of each class among all rows of the column; those of all of them.
    RowSet find_class_sets(SortedColumn const& column) {
        auto& sets = scratch_.class_sets;
        sets.resize(n_classes_);
        RowSet taken = 0;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            RowSet set = 0;
            for_each_row(node_.small->classes()[y] & node_.set,
                         [&](std::size_t row) { set |= RowSet{1} << column.places[row]; });
            sets[y] = set;
            taken |= set;
        }
        return taken;
    }

    // Places, and behind them those up to the last one of the same value: a sum carries them there.
    [[nodiscard]] static RowSet carried(RowSet places, RowSet repeated) {
        return (((places & repeated) + repeated) ^ repeated) | places;
    }

    // The last places of the values that are valid candidates. `repeated` are the places whose next one has the same
    // value.
    [[nodiscard]] RowSet valid_places(std::size_t n, RowSet repeated) const {
        RowSet alike = 0;  // places whose next one is of the same class
        for (RowSet const set : scratch_.class_sets)
            alike |= set & (set >> 1);
        RowSet const all = ~RowSet{0} >> (SmallNode::kMaxRows - n);
        if (repeated == 0)
            return all >> 1 & ~alike;
        // A bit for each value: its last place.
        RowSet const last = all & ~repeated;
        RowSet const mixed = kernels::chosen->gather_bits(carried(repeated & ~alike, repeated), last);
        RowSet const parted = kernels::chosen->gather_bits(~alike, last);
        auto const n_values = static_cast<unsigned>(std::popcount(last));
        RowSet const valid = (mixed | mixed >> 1 | parted) & ((RowSet{1} << (n_values - 1)) - 1);
        return kernels::chosen->spread_bits(valid, last);
    }

    // The last places of marked values, and others.
    [[nodiscard]] RowSet marked_places(RowSet repeated) const {
        RowSet others = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            others |= y == ranks_.dominant() ? 0 : scratch_.class_sets[y];
        return carried(others, repeated);
    }

    void offer_small(RowSet valid, RowSet repeated, Ordered* sorted, std::uint32_t n_thresholds,
                     Candidates& candidates) {
        std::array<std::uint32_t, SmallNode::kMaxRows> places;
        std::size_t n = 0;
        for_each_row(valid, [&](std::size_t place) { places[n++] = static_cast<std::uint32_t>(place); });
        RowSet const marked = ranks_.are_all_marked() ? ~RowSet{0} : marked_places(repeated);
        std::size_t n_sampled = n;
        if (n_thresholds != kAllThresholds && n > n_thresholds) {
            rank_small({places.data(), n}, marked, sorted);
            Rank const last = last_valid(n_thresholds);
            n_sampled = 0;
            for (std::size_t i = 0; i < n; ++i) {  // without branches, as their outcomes would be random
                places[n_sampled] = places[i];
                n_sampled += from_ordered(scratch_.valid_ranks[i]) <= last ? 1 : 0;
            }
        }
        Count* const left = candidates.append_many(n_sampled, [&](std::size_t i, Candidate& its) {
            its.attribute = attribute_;
            its.value = from_ordered(sorted[places[i]]);
            its.next = from_ordered(sorted[places[i] + 1]);
            its.rank = static_cast<Rank>(marked >> places[i] & 1);
        });
        kernels::chosen->count_up_to(scratch_.class_sets.data(), n_classes_, places.data(), n_sampled, left);
    }

    // The ranks of the candidates at these places.
    void rank_small(std::span<std::uint32_t const> places, RowSet marked, Ordered* sorted) {
        std::size_t const n = places.size();
        Ordered* const values = sorted + SmallNode::kMaxRows + kernels::kLanes;
        auto& ranks = scratch_.valid_ranks;
        ranks.resize(n);
        for (std::size_t i = 0; i < n; ++i)
            values[i] = sorted[places[i]];
        ranks_.find_above(values, n, ranks.data());
        if (ranks_.are_all_marked())
            return;
        for (std::size_t i = 0; i < n; ++i)
            values[i] = sorted[places[i] + 1];
        scratch_.ranks_below.resize(std::max(scratch_.ranks_below.size(), n));
        ranks_.find_below(values, n, scratch_.ranks_below.data());
        for (std::size_t i = 0; i < n; ++i)
            ranks[i] = (marked >> places[i] & 1) != 0 ? ranks[i] : scratch_.ranks_below[i];
    }
};

}  // namespace deciduous
