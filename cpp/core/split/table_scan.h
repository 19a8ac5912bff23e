// Valid candidates from a table of all values: where few are valid, all are wanted, or rows have weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "split/attribute_scan.h"
#include "split/validity.h"

namespace deciduous {

template <typename NClasses>
class TableScan : public AttributeScan<NClasses> {
public:
    explicit TableScan(AttributeScan<NClasses> const& scan) : AttributeScan<NClasses>(scan) {}

    // From the values that were gathered.
    Finding take_values(ValidRequest const& request, Candidates& candidates) {
        table().sort(node_, scratch_.values, tuning_.max_counted_rows);
        return take_table(request, candidates);
    }

    // From the codes of the column.
    Finding take_codes(Column const& column, ValidRequest const& request, Candidates& candidates) {
        table().count_codes(node_, column);
        return take_table(request, candidates);
    }

    // From rows that are sorted, with their classes.
    Finding take_sorted(std::span<Ordered const> sorted, std::uint32_t const* classes, ValidRequest const& request,
                        Candidates& candidates) {
        table().read(n_classes_, sorted, classes);
        return take_table(request, candidates);
    }

    void find_cuts_again(bool are_boundaries, Rank bound) {
        gather_and_tabulate();
        find_valid();
        take_cuts(are_boundaries, bound);
    }

    bool find_pair_again() {
        gather_and_tabulate();
        if (table().size() != 2)
            return false;
        note_pair();
        return true;
    }

private:
    using Base = AttributeScan<NClasses>;
    using Base::attribute_;
    using Base::last_valid;
    using Base::n_classes_;
    using Base::n_wanted;
    using Base::node_;
    using Base::ranks_;
    using Base::scratch_;
    using Base::tuning_;

    void gather_and_tabulate() {
        scratch_.values.gather(node_, attribute_);
        table().sort(node_, scratch_.values, tuning_.max_counted_rows);
    }

    // The two values of the table.
    void note_pair() {
        scratch_.pair.values = {table().value(0), table().value(1)};
        scratch_.pair.at_high.assign(table().counts(1), table().counts(1) + n_classes_);
    }

    [[nodiscard]] Table& table() { return scratch_.table; }
    [[nodiscard]] bool is_valid(std::size_t i) const {
        Count const* const at = scratch_.table.counts(i);
        Count const* const at_next = scratch_.table.counts(i + 1);
        return is_valid_candidate(n_classes_, [&](std::size_t y) { return (at[y] | at_next[y]) != 0; });
    }

    [[nodiscard]] bool is_marked(std::size_t i) const { return ranks_.are_all_marked() || scratch_.is_marked[i] != 0; }

    Finding take_table(ValidRequest const& request, Candidates& candidates) {
        std::size_t const n_values = table().size();
        if (n_values == 1)
            return Finding::constant;
        if (n_values == 2) {
            note_pair();
            return take_pair(node_, attribute_, scratch_.pair, candidates);
        }
        find_valid();
        scratch_.cuts.last_sampled = last_valid(request.n_thresholds);
        offer_table(candidates);
        if (request.is_recorded)
            choose_cuts(n_wanted(request));
        return Finding::cuts;
    }

    // The rank of the candidate between two values of the table, as to_ordered has it.
    [[nodiscard]] Ordered rank_at(std::size_t i) const {
        return is_marked(i) ? scratch_.ranks[i] : scratch_.ranks_below[i + 1];
    }

    // The ranks of all values of the table, and the places and ranks of the valid candidates among them.
    void find_valid() {
        std::size_t const n_values = table().size();
        scratch_.ranks.resize(n_values);
        ranks_.find_above(table().values(), n_values, scratch_.ranks.data());
        if (!ranks_.are_all_marked()) {
            scratch_.ranks_below.resize(n_values);
            ranks_.find_below(table().values(), n_values, scratch_.ranks_below.data());
            scratch_.is_marked.resize(n_values);
            for (std::size_t i = 0; i < n_values; ++i) {
                Count const* const at = table().counts(i);
                scratch_.is_marked[i] = ranks_.is_marked(n_classes_, [&](std::size_t y) { return at[y] != 0; }) ? 1 : 0;
            }
        }
        auto& places = scratch_.valid_places;
        auto& valid_ranks = scratch_.valid_ranks;
        places.resize(n_values);
        valid_ranks.resize(n_values);
        std::size_t n = 0;
        for (std::size_t i = 0; i + 1 < n_values; ++i) {  // without branches, as their outcomes would be random
            places[n] = static_cast<std::uint32_t>(i);
            valid_ranks[n] = rank_at(i);
            n += is_valid(i) ? 1 : 0;
        }
        places.resize(n);
        valid_ranks.resize(n);
    }

    void offer_table(Candidates& candidates) {
        auto& left = scratch_.left;
        left.assign(n_classes_, 0);
        std::size_t i = 0;
        for (std::size_t valid = 0; valid < scratch_.valid_places.size(); ++valid) {
            std::size_t const place = scratch_.valid_places[valid];
            for (; i <= place; ++i)
                for (std::size_t y = 0; y < n_classes_; ++y)
                    left[y] += table().counts(i)[y];
            if (from_ordered(scratch_.valid_ranks[valid]) <= scratch_.cuts.last_sampled)
                std::copy_n(left.data(), std::size_t{n_classes_},
                            candidates.append(attribute_, table().value(place), table().value(place + 1),
                                              is_marked(place) ? 1 : 0));
        }
    }

    // Whichever cuts are fewer.
    void choose_cuts(std::uint32_t n) {
        std::size_t const n_valid = scratch_.valid_places.size();
        bool const are_boundaries =
            n == kAllThresholds || n_valid < n ||
            are_boundaries_shorter(static_cast<double>(n_valid), n, static_cast<double>(n_cuts()));
        if (are_boundaries)
            take_cuts(true, kEverything);
        else if (n_valid == n)
            take_cuts(false, from_ordered(*std::ranges::max_element(scratch_.valid_ranks)));
        else
            take_cuts(false, last_valid(n));
    }

    // How many cuts marked values have: one above each, and one below if not all are marked.
    [[nodiscard]] std::size_t n_cuts() const {
        if (ranks_.are_all_marked())
            return scratch_.table.size();
        return 2 * static_cast<std::size_t>(std::ranges::count(scratch_.is_marked, std::uint8_t{1}));
    }

    // Whether the cut above, or below, a value of the table is within a bound.
    [[nodiscard]] bool is_within_above(std::size_t i, Rank bound) const {
        return is_marked(i) && scratch_.table.value(i) != kMissing && from_ordered(scratch_.ranks[i]) <= bound;
    }
    [[nodiscard]] bool is_within_below(std::size_t i, Rank bound) const {
        return !ranks_.are_all_marked() && is_marked(i) && from_ordered(scratch_.ranks_below[i]) <= bound;
    }

    void take_cuts(bool are_boundaries, Rank bound) {
        FoundCuts& cuts = scratch_.cuts;
        cuts.start(n_classes_);
        cuts.are_boundaries = are_boundaries;
        cuts.bound = bound;
        auto& left = scratch_.left;
        left.assign(n_classes_, 0);
        std::size_t const n_values = table().size();
        if (!are_boundaries && is_within_below(0, bound)) {
            Count* const counts = cuts.append(kNoLower, table().value(0), kEverything);
            std::fill_n(counts, 2 * n_classes_, Count{0});
            std::copy_n(table().counts(0), std::size_t{n_classes_}, counts + 2 * n_classes_);
        }
        for (std::size_t i = 0; i < n_values; ++i) {
            Count const* const at = table().counts(i);
            for (std::size_t y = 0; y < n_classes_; ++y)
                left[y] += at[y];
            bool const is_last = i + 1 == n_values;
            bool const is_taken = are_boundaries
                                      ? !is_last && is_valid(i)
                                      : is_within_above(i, bound) || (!is_last && is_within_below(i + 1, bound));
            if (!is_taken)
                continue;
            Count* const counts = cuts.append(table().value(i), is_last ? kNoValue : table().value(i + 1),
                                              is_last ? kEverything : from_ordered(rank_at(i)));
            for (std::size_t y = 0; y < n_classes_; ++y) {
                counts[y] = left[y];
                counts[n_classes_ + y] = at[y];
                counts[2 * n_classes_ + y] = is_last ? 0 : table().counts(i + 1)[y];
            }
        }
    }
};

}  // namespace deciduous
