// Valid candidates looked up in the rows in the order of their ranks, until enough of them are found: a few passes over
// the rows, which processors do many rows at a time. Only marked values (ranks.h) have to be asked for their ranks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/kernels.h"
#include "split/attribute_scan.h"
#include "split/impurity.h"
#include "split/validity.h"

namespace deciduous {

template <typename NClasses>
class LookUps : public AttributeScan {
public:
    LookUps(AttributeScan const& scan, NClasses n_classes) : AttributeScan(scan), n_classes_(n_classes) {}

    // Appends the sampled candidates, and finds the cuts if they are to be recorded. False, and nothing is appended, if
    // that is likely to take longer than sorting, or if all valid candidates would be a shorter record.
    [[nodiscard]] bool run(ValidRequest const& request, Candidates& candidates) {
        auto const [n_cuts, share_valid] = expectation();
        double const n_expected = n_wanted(request) / share_valid;
        if (!is_worth_looking_up(request, n_expected, n_cuts, n_cuts * share_valid))
            return false;
        scratch_.cuts.start(n_classes_);
        Rank from = 0;
        for (double share = (n_expected + std::sqrt(n_expected) + 1) / n_cuts;; share *= 1.5) {
            Rank const to = share < 1 ? static_cast<Rank>(share * 0x1p32) : kEverything;
            bool const are_sorted = ranks_.are_all_marked() && from == 0;
            look_up(Side::above, from, to);
            if (!ranks_.are_all_marked())
                look_up(Side::below, from, to);
            if (!are_sorted)
                scratch_.cuts.sort();
            if (sample(request, to))
                break;
            if (to == kEverything || scratch_.cuts.size() > 2 * std::size_t{tuning_.look_ups_per_sort})
                return false;
            from = to + 1;
        }
        offer(candidates);
        if (request.is_recorded)
            count_far_ends();
        return true;
    }

private:
    // The side of a marked value that a cut is on.
    enum class Side { above, below };

    struct Expectation {
        double n_cuts;       // of marked values
        double share_valid;  // of these, were values and labels independent
    };

    [[nodiscard]] Expectation expectation() const {
        auto const n_rows = static_cast<double>(node_.size());
        if (ranks_.are_all_marked())
            return {n_rows, 1 - chance_of_same_class(node_.totals)};
        double const n_others = n_rows - static_cast<double>(scratch_.values.of_class(node_.dominant).size());
        return {2 * n_others, 1 - n_others / n_rows};
    }

    [[nodiscard]] bool is_worth_looking_up(ValidRequest const& request, double n_expected, double n_cuts,
                                           double n_valid) const {
        // Beside a dominant class it takes longer to find out what is at a value.
        double const n_passes = ranks_.are_all_marked() ? n_expected : 2 * n_expected;
        return request.n_thresholds != kAllThresholds && node_.weights.empty() &&
               n_passes <= tuning_.look_ups_per_sort &&
               tuning_.rows_per_look_up * n_passes <= static_cast<double>(node_.size()) &&
               !(request.is_recorded && are_boundaries_shorter(n_valid, n_wanted(request), n_cuts));
    }

    // Appends the cuts on this side of marked values whose ranks are from one to another.
    void look_up(Side side, Rank from, Rank to) {
        std::size_t const n = gather_marked(side, from, to);
        Ordered const* const values = scratch_.near_values.data();
        for (std::size_t i = 0; i < n;) {
            std::size_t n_here = 0;
            scratch_.n_at.assign(kAtOnce * n_classes_, 0);
            for (; i < n && n_here < kAtOnce; ++n_here) {
                scratch_.here[n_here] = values[i];
                for (; i < n && values[i] == scratch_.here[n_here]; ++i)
                    ++scratch_.n_at[n_here * n_classes_ + scratch_.near_labels[i]];
            }
            look_beside(side, n_here);
        }
    }

    // The rows, by value and with their classes, at marked values whose cuts on this side have such ranks. All rows
    // that mark a value are among them. How many they are.
    std::size_t gather_marked(Side side, Rank from, Rank to) {
        std::size_t const room = node_.size() + kernels::kLanes;
        Ordered* const values = scratch_.near_values.take(room);
        auto& labels = scratch_.near_labels;
        std::size_t n = 0;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            if (y == node_.dominant)
                continue;
            auto const of_class = scratch_.values.of_class(y);
            std::size_t const n_near =
                kernels::chosen->keep_values_ranked(of_class.data(), of_class.size(), ranks_.key(side == Side::above),
                                                    to_ordered(from), to_ordered(to), values + n);
            labels.resize(std::max(labels.size(), n + n_near + kernels::kLanes));
            std::fill_n(labels.data() + n, n_near, static_cast<std::uint32_t>(y));
            n += n_near;
        }
        scratch_.labels_beside.resize(std::max(scratch_.labels_beside.size(), labels.size()));
        kernels::chosen->sort(values, labels.data(), n, scratch_.values_beside.take(room),
                              scratch_.labels_beside.data());
        // There is no cut above NaN.
        while (side == Side::above && n > 0 && values[n - 1] == to_ordered(kMissing))
            --n;
        return n;
    }

    // Appends the cuts on this side of n values.
    void look_beside(Side side, std::size_t n) {
        auto const& here = scratch_.here;
        scratch_.beyond.resize(n_classes_);
        auto const look = side == Side::above ? kernels::chosen->look_above : kernels::chosen->look_below;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = scratch_.values.of_class(y);
            auto& [n_beyond, nearest] = scratch_.beyond[y];
            look(here.data(), n, values.data(), values.size(), n_beyond.data(), nearest.data());
        }
        std::array<Count, kAtOnce> n_dominant{};
        if (!ranks_.are_all_marked())
            count_equal(node_.dominant, here.data(), n, n_dominant.data());
        for (std::size_t i = 0; i < n; ++i) {
            if (!ranks_.are_all_marked())
                scratch_.n_at[i * n_classes_ + node_.dominant] = n_dominant[i];
            append(side, i);
        }
    }

    // Appends the cut on this side of the i-th of the values that were looked up. How many rows there are at its other
    // end comes later.
    void append(Side side, std::size_t i) {
        bool const is_above = side == Side::above;
        Ordered far = to_ordered(is_above ? kNoValue : kNoLower);
        for (std::size_t y = 0; y < n_classes_; ++y) {
            Ordered const nearest = scratch_.beyond[y].nearest[i];
            far = is_above ? std::min(far, nearest) : std::max(far, nearest);
        }
        Value const its = from_ordered(scratch_.here[i]);
        Value const lower = is_above ? its : from_ordered(far);
        Value const higher = is_above ? from_ordered(far) : its;
        Count* const left = scratch_.cuts.append(lower, higher, 0);
        Count* const near_counts = left + (is_above ? 1 : 2) * n_classes_;
        Count* const far_counts = left + (is_above ? 2 : 1) * n_classes_;
        bool const has_far = far != to_ordered(is_above ? kNoValue : kNoLower);
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const& [n_beyond, nearest] = scratch_.beyond[y];
            auto const n_rows = static_cast<Count>(scratch_.values.of_class(y).size());
            left[y] = is_above ? n_rows - n_beyond[i] : n_beyond[i];
            near_counts[y] = scratch_.n_at[i * n_classes_ + y];
            far_counts[y] = has_far && nearest[i] == far ? 1 : 0;
        }
        scratch_.cuts.back().is_lower_known = is_above;
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
        cut.rank = ranks_.between(is_marked(at), cut.value, cut.next);
    }

    // Whether enough candidates are up to the last rank; if so decides which are sampled, and keeps the cuts that are
    // within the bound of those that are wanted.
    [[nodiscard]] bool sample(ValidRequest const& request, Rank last) {
        FoundCuts& cuts = scratch_.cuts;
        auto& valid_ranks = scratch_.valid_ranks;
        valid_ranks.resize(cuts.size());
        std::size_t n_valid = 0;
        for (std::size_t i = 0; i < cuts.size(); ++i) {  // without branches, as their outcomes would be random
            valid_ranks[n_valid] = to_ordered(cuts[i].rank);
            n_valid += (cuts[i].is_candidate & (cuts[i].rank <= last)) ? 1 : 0;
        }
        valid_ranks.resize(n_valid);
        if (n_valid < n_wanted(request))
            return false;
        cuts.are_boundaries = false;
        cuts.last_sampled = std::min(last_valid(request.n_thresholds), last);
        if (!request.is_recorded)
            return true;
        cuts.bound = std::min(last_valid(n_wanted(request)), last);
        cuts.keep_if([&](std::size_t i) { return is_within(i, cuts.bound); });
        return true;
    }

    // Whether a cut is the one above, or below, a marked value whose rank is within the bound.
    [[nodiscard]] bool is_within(std::size_t i, Rank bound) const {
        FoundCuts const& cuts = scratch_.cuts;
        auto const& cut = cuts[i];
        if (ranks_.are_all_marked())
            return cut.rank <= bound;
        return (cut.value != kNoLower && is_marked(cuts.at(i)) && ranks_.above(cut.value) <= bound) ||
               (cut.next != kNoValue && is_marked(cuts.at_next(i)) && ranks_.below(cut.next) <= bound);
    }

    void offer(Candidates& candidates) const {
        FoundCuts const& cuts = scratch_.cuts;
        auto& sampled = scratch_.sampled_places;
        sampled.resize(std::max(sampled.size(), cuts.size()));
        std::size_t n = 0;
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            sampled[n] = i;
            n += (cuts[i].is_candidate & (cuts[i].rank <= cuts.last_sampled)) ? 1 : 0;
        }
        Count* left = candidates.append_many(n, [&](std::size_t i, Candidate& its) {
            auto const& cut = cuts[sampled[i]];
            its.attribute = attribute_;
            its.value = cut.value;
            its.next = cut.next;
            its.rank = is_marked(cuts.at(sampled[i])) ? 1 : 0;
        });
        for (std::size_t i = 0; i < n; ++i)
            left = std::copy_n(cuts.left(sampled[i]), std::size_t{n_classes_}, left);
    }

    // Completes the cuts: counts the rows at their far ends, of the classes that have any there.
    void count_far_ends() {
        FoundCuts& cuts = scratch_.cuts;
        Ordered* const far_ends = scratch_.valid_values.take(cuts.size() + 1);
        scratch_.left.resize(std::max(scratch_.left.size(), cuts.size() + 1));
        auto const far_count = [&](std::size_t i, std::size_t y) -> Count& {
            return cuts.left(i)[(cuts[i].is_lower_known ? 2 : 1) * n_classes_ + y];
        };
        for (std::size_t y = 0; y < n_classes_; ++y) {
            std::size_t n = 0;
            for (std::size_t i = 0; i < cuts.size(); ++i) {
                far_ends[n] = to_ordered(cuts[i].is_lower_known ? cuts[i].next : cuts[i].value);
                n += far_count(i, y);
            }
            count_equal(y, far_ends, n, scratch_.left.data());
            n = 0;
            for (std::size_t i = 0; i < cuts.size(); ++i) {
                Count const has_some = far_count(i, y);  // 0 or 1
                far_count(i, y) = has_some * scratch_.left[n];
                n += has_some;
            }
        }
    }

    void count_equal(std::size_t y, Ordered const* wanted, std::size_t n_wanted, Count* counts) const {
        auto const values = scratch_.values.of_class(y);
        kernels::chosen->count_equal(wanted, n_wanted, values.data(), values.size(), counts);
    }

    [[nodiscard]] bool is_marked(Count const* at) const {
        return ranks_.is_marked(n_classes_, [&](std::size_t y) { return at[y] != 0; });
    }

    static constexpr std::size_t kAtOnce = 8;  // values are looked up

    NClasses n_classes_;
};

}  // namespace deciduous
