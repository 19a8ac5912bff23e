// What is looked up in the gathered values, in the order of ranks: a few passes over the rows, which processors do many
// rows at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/kernels.h"
#include "split/attribute_scan.h"

namespace deciduous {

template <typename NClasses>
class LookUps : public AttributeScan<NClasses> {
public:
    explicit LookUps(AttributeScan<NClasses> const& scan) : AttributeScan<NClasses>(scan) {}

    // Appends the sampled candidates, and completes the cuts if they are to be recorded.
    void finish(ValidRequest const& request, Candidates& candidates) {
        offer_found(candidates);
        if (request.is_recorded)
            count_far_ends();
    }

protected:
    using Base = AttributeScan<NClasses>;
    using Base::attribute_;
    using Base::n_classes_;
    using Base::n_wanted;
    using Base::node_;
    using Base::ranks_;
    using Base::scratch_;
    using Base::tuning_;

    // So many candidates are looked up at a time.
    static constexpr std::size_t kAtOnce = 8;

    // Whether that is likely to take less time than sorting, and to give the shorter record; of so many cuts in all and
    // valid candidates among them.
    [[nodiscard]] bool is_worth_looking_up(ValidRequest const& request, double n_expected, double n_cuts,
                                           double n_valid) const {
        return request.n_thresholds != kAllThresholds && node_.weights.empty() &&
               n_expected <= tuning_.look_ups_per_sort &&
               tuning_.rows_per_look_up * n_expected <= static_cast<double>(node_.size()) &&
               !(request.is_recorded && are_boundaries_shorter(n_valid, n_wanted(request), n_cuts));
    }

    void count_equal(std::size_t y, Ordered const* wanted, std::size_t n_wanted, Count* counts) const {
        auto const values = scratch_.values.of_class(y);
        kernels::chosen->count_equal(wanted, n_wanted, values.data(), values.size(), counts);
    }

    [[nodiscard]] bool is_lower_marked(std::size_t cut) const {
        Count const* const at = scratch_.cuts.at(cut);
        return ranks_.is_marked(n_classes_, [&](std::size_t y) { return at[y] != 0; });
    }

private:
    void offer_found(Candidates& candidates) const {
        for (std::uint32_t const place : scratch_.valid_places) {
            FoundCuts::Cut const& cut = scratch_.cuts[place];
            std::copy_n(scratch_.cuts.left(place), std::size_t{n_classes_},
                        candidates.append(attribute_, cut.value, cut.next, is_lower_marked(place) ? 1 : 0));
        }
    }

    // Completes what was looked up: counts the rows at the other values of the cuts.
    void count_far_ends() {
        FoundCuts& cuts = scratch_.cuts;
        std::size_t const n = cuts.size();
        Ordered* const far_ends = scratch_.valid_values.take(n);
        for (std::size_t i = 0; i < n; ++i)  // no row has kNoValue or kNoLower
            far_ends[i] = to_ordered(cuts[i].is_lower_known ? cuts[i].next : cuts[i].value);
        scratch_.left.resize(std::max(scratch_.left.size(), n));
        for (std::size_t y = 0; y < n_classes_; ++y) {
            count_equal(y, far_ends, n, scratch_.left.data());
            for (std::size_t i = 0; i < n; ++i)
                cuts.left(i)[(cuts[i].is_lower_known ? 2 : 1) * n_classes_ + y] = scratch_.left[i];
        }
        cuts.sort();
    }
};

}  // namespace deciduous
