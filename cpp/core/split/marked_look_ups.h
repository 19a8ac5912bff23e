// Valid candidates looked up beside the rows that are not of the dominant class: only those have to be asked for their
// ranks, and most of the cuts beside them are valid.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "split/look_ups.h"
#include "split/validity.h"

namespace deciduous {

template <typename NClasses>
class MarkedLookUps : public LookUps<NClasses> {
public:
    explicit MarkedLookUps(AttributeScan<NClasses> const& scan) : LookUps<NClasses>(scan) {}

    // False if that is likely to take longer than sorting, or if all valid candidates would be a shorter record.
    [[nodiscard]] bool look_up(ValidRequest const& request) {
        auto const n_others = static_cast<double>(node_.size() - scratch_.values.of_class(node_.dominant).size());
        double const share_valid = 1 - n_others / static_cast<double>(node_.size());
        std::uint32_t const n = n_wanted(request);
        double const n_expected = n / share_valid;
        // Looking both ways takes twice as long.
        if (!is_worth_looking_up(request, 2 * n_expected, 2 * n_others, 2 * n_others * share_valid))
            return false;
        rank_others();
        auto& orders = scratch_.side_orders;
        orders[0].start(scratch_.ranks, n_expected / 2);
        orders[1].start(scratch_.ranks_below, n_expected / 2);
        scratch_.cuts.start(n_classes_);
        // All within a bound, then all within the next one: ranks of the two sides may be equal.
        double const share = (n_expected + 2 * std::sqrt(n_expected) + 2) / (2 * n_others);
        for (double bound = share;; bound *= 2) {
            Rank const last = bound < 1 ? static_cast<Rank>(bound * 0x1p32) : kEverything;
            while (look_around_marked(Side::above, last))
                ;
            while (look_around_marked(Side::below, last))
                ;
            scratch_.cuts.sort();  // some were found from above and from below
            if (sample_marked(request, last))
                return true;
            if (last == kEverything || static_cast<double>(scratch_.cuts.size()) > 2 * tuning_.look_ups_per_sort)
                return false;
        }
    }

private:
    using Base = LookUps<NClasses>;
    using Base::is_lower_marked;
    using Base::is_worth_looking_up;
    using Base::kAtOnce;
    using Base::last_valid;
    using Base::n_classes_;
    using Base::n_wanted;
    using Base::node_;
    using Base::ranks_;
    using Base::scratch_;
    using Base::tuning_;

    // Whether enough candidates are within the last bound; if so decides which are sampled, and keeps the cuts that are
    // within the bound of those that are wanted.
    bool sample_marked(ValidRequest const& request, Rank last) {
        FoundCuts& cuts = scratch_.cuts;
        auto& valid_ranks = scratch_.valid_ranks;
        valid_ranks.clear();
        for (std::size_t i = 0; i < cuts.size(); ++i)
            if (cuts[i].is_candidate && cuts[i].rank <= last)
                valid_ranks.push_back(to_ordered(cuts[i].rank));
        if (valid_ranks.size() < n_wanted(request))
            return false;
        cuts.are_boundaries = false;
        cuts.last_sampled = std::min(last_valid(request.n_thresholds), last);
        cuts.bound = std::min(last_valid(n_wanted(request)), last);
        cuts.keep_if([&](std::size_t i) { return is_within(i, cuts.bound); });
        auto& sampled = scratch_.valid_places;
        sampled.clear();
        for (std::size_t i = 0; i < cuts.size(); ++i)
            if (cuts[i].is_candidate && cuts[i].rank <= cuts.last_sampled)
                sampled.push_back(static_cast<std::uint32_t>(i));
        return true;
    }

    // Whether a cut is the one above, or below, a marked value whose rank is within the bound.
    [[nodiscard]] bool is_within(std::size_t i, Rank bound) const {
        FoundCuts const& cuts = scratch_.cuts;
        auto const is_marked_one = [&](Count const* at) {
            return ranks_.is_marked(n_classes_, [&](std::size_t y) { return at[y] != 0; });
        };
        auto const& cut = cuts[i];
        return (cut.value != kNoLower && is_marked_one(cuts.at(i)) && ranks_.above(cut.value) <= bound) ||
               (cut.next != kNoValue && is_marked_one(cuts.at_next(i)) && ranks_.below(cut.next) <= bound);
    }

    enum class Side : std::size_t { above, below };

    // The values of all rows that are not of the dominant class, and their ranks.
    void rank_others() {
        auto& rows = scratch_.other_rows;
        rows.clear();
        node_.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; y != node_.dominant && i < end; ++i)
                rows.push_back(static_cast<std::uint32_t>(i));
        });
        Ordered* const values = scratch_.valid_values.take(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            values[i] = scratch_.values.all()[rows[i]];
        scratch_.ranks.resize(rows.size());
        scratch_.ranks_below.resize(rows.size());
        ranks_.find_above(values, rows.size(), scratch_.ranks.data());
        ranks_.find_below(values, rows.size(), scratch_.ranks_below.data());
    }

    // Appends the next few cuts above, or below, marked values that are within the bound; false if there are none.
    bool look_around_marked(Side side, Rank bound) {
        auto& here = scratch_.here;
        RankOrder& order = scratch_.side_orders[static_cast<std::size_t>(side)];
        std::size_t n = 0;
        while (n < kAtOnce) {
            std::size_t const place = order.next_within(bound);
            if (place == RankOrder::kNone)
                break;
            Ordered const value = scratch_.values.all()[scratch_.other_rows[place]];
            here[n] = value;
            n += side == Side::above && value >= to_ordered(kMissing) ? 0 : 1;
        }
        if (n == 0)
            return false;
        look_both_ways(n);
        for (std::size_t i = 0; i < n; ++i)
            append_marked(side, i);
        return true;
    }

    // What is below and above each of the values that are looked up, class by class.
    void look_both_ways(std::size_t n) {
        auto const& here = scratch_.here;
        scratch_.above.resize(n_classes_);
        scratch_.below.resize(n_classes_);
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = scratch_.values.of_class(y);
            auto& [n_above, least] = scratch_.above[y];
            auto& [n_below, most] = scratch_.below[y];
            kernels::chosen->look_above(here.data(), n, values.data(), values.size(), n_above.data(), least.data());
            kernels::chosen->look_below(here.data(), n, values.data(), values.size(), n_below.data(), most.data());
        }
    }

    // Appends the cut above, or below, the i-th of the values that were looked up.
    void append_marked(Side side, std::size_t i) {
        Ordered next = to_ordered(kNoValue);
        Ordered former = to_ordered(kNoLower);
        for (std::size_t y = 0; y < n_classes_; ++y) {
            next = std::min(next, scratch_.above[y].least[i]);
            former = std::max(former, scratch_.below[y].most[i]);
        }
        Value const its = from_ordered(scratch_.here[i]);
        bool const is_above = side == Side::above;
        Value const lower = is_above ? its : from_ordered(former);
        Value const higher = is_above ? from_ordered(next) : its;
        Count* const left = scratch_.cuts.append(lower, higher, 0);
        scratch_.cuts.back().is_lower_known = is_above;
        Count* const at = left + n_classes_;
        Count* const at_next = at + n_classes_;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const& [n_above, least] = scratch_.above[y];
            auto const& [n_below, most] = scratch_.below[y];
            Count const n_at = static_cast<Count>(scratch_.values.of_class(y).size()) - n_above[i] - n_below[i];
            left[y] = n_below[i] + (is_above ? n_at : 0);
            // How many there are at the far end comes later.
            at[y] = is_above ? n_at : lower != kNoLower && most[i] == former ? 1 : 0;
            at_next[y] = !is_above ? n_at : higher != kNoValue && least[i] == next ? 1 : 0;
        }
        note_candidate(scratch_.cuts.size() - 1);
    }

    // Tells whether a cut is a valid candidate, and gives it its rank.
    void note_candidate(std::size_t i) {
        FoundCuts& cuts = scratch_.cuts;
        FoundCuts::Cut& cut = cuts[i];
        Count const* const at = cuts.at(i);
        Count const* const at_next = cuts.at_next(i);
        cut.is_candidate = cut.value != kNoLower && cut.next != kNoValue &&
                           is_valid_candidate(n_classes_, [&](std::size_t y) { return (at[y] | at_next[y]) != 0; });
        cut.rank = ranks_.between(is_lower_marked(i), cut.value, cut.next);
    }
};

}  // namespace deciduous
