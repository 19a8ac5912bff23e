// Valid candidates looked up in the order of the ranks of all values: where no class is dominant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "split/impurity.h"
#include "split/look_ups.h"
#include "split/validity.h"

namespace deciduous {

template <typename NClasses>
class PlainLookUps : public LookUps<NClasses> {
public:
    explicit PlainLookUps(AttributeScan<NClasses> const& scan) : LookUps<NClasses>(scan) {}

    // Looks candidates up in the order of their ranks until enough of them are valid. False if that is likely to take
    // longer than sorting, or if all valid candidates would be a shorter record.
    [[nodiscard]] bool look_up(ValidRequest const& request) {
        auto const n_rows = static_cast<double>(node_.size());
        double const share_valid = 1 - chance_of_same_class(node_.totals);  // were values and labels independent
        std::uint32_t const n = n_wanted(request);
        double const n_expected = n / share_valid;
        if (!is_worth_looking_up(request, n_expected, n_rows, share_valid * n_rows))
            return false;
        double const n_most = tuning_.look_ups_per_sort;
        auto const values = scratch_.values.all();
        scratch_.ranks.resize(values.size());
        ranks_.find_above(values.data(), values.size(), scratch_.ranks.data());
        scratch_.order.start(scratch_.ranks, n_expected);
        scratch_.cuts.start(n_classes_);
        scratch_.valid_places.resize(values.size());
        n_valid_ = 0;
        for (std::size_t n_looked = 0; n_valid_ < n; n_looked += kAtOnce) {
            std::size_t const n_taken = take_next();
            if (n_taken == 0 || static_cast<double>(n_looked) > 2 * n_most)
                return false;
            look_around(n_taken);
        }
        FoundCuts& cuts = scratch_.cuts;
        cuts.are_boundaries = false;
        cuts.bound = cuts.back().rank;
        cuts.last_sampled = cuts[scratch_.valid_places[request.n_thresholds - 1]].rank;
        scratch_.valid_places.resize(request.n_thresholds);
        return true;
    }

private:
    using Base = LookUps<NClasses>;
    using Base::count_equal;
    using Base::is_worth_looking_up;
    using Base::kAtOnce;
    using Base::n_classes_;
    using Base::n_wanted;
    using Base::node_;
    using Base::ranks_;
    using Base::scratch_;
    using Base::tuning_;

    // Of a row of the node.
    [[nodiscard]] std::uint32_t class_of(std::size_t row) const {
        std::uint32_t y = 0;
        while (row >= node_.ends[y])
            ++y;
        return y;
    }

    // Appends the next few values as cuts, with the rows at them; how many there are.
    std::size_t take_next() {
        auto const values = scratch_.values.all();
        std::size_t n = 0;
        while (n < kAtOnce) {
            std::size_t const place = scratch_.order.next();
            if (place == RankOrder::kNone)
                break;
            if (values[place] >= to_ordered(kMissing))
                continue;
            scratch_.here[n++] = values[place];
            Count* const at =
                scratch_.cuts.append(from_ordered(values[place]), kNoValue, from_ordered(scratch_.ranks[place])) +
                n_classes_;
            if (scratch_.order.n_alike() == 1) {
                std::fill_n(at, std::size_t{n_classes_}, Count{0});
                at[class_of(place)] = 1;
            } else {
                for (std::size_t y = 0; y < n_classes_; ++y)
                    count_equal(y, &values[place], 1, at + y);
            }
        }
        return n;
    }

    // Looks the last few cuts up in the rows, and notes which are valid candidates. Without branches, as their outcomes
    // would be random.
    void look_around(std::size_t n) {
        FoundCuts& cuts = scratch_.cuts;
        std::size_t const first = cuts.size() - n;
        auto& above = scratch_.above;
        above.resize(n_classes_);
        auto& next = scratch_.next;
        next.fill(to_ordered(kNoValue));
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = scratch_.values.of_class(y);
            kernels::chosen->look_above(scratch_.here.data(), n, values.data(), values.size(), above[y].n.data(),
                                        above[y].least.data());
            for (std::size_t i = 0; i < n; ++i)
                next[i] = std::min(next[i], above[y].least[i]);
        }
        for (std::size_t i = 0; i < n; ++i) {
            Count* const counts = cuts.left(first + i);
            for (std::size_t y = 0; y < n_classes_; ++y) {
                counts[y] = static_cast<Count>(scratch_.values.of_class(y).size()) - above[y].n[i];
                counts[2 * n_classes_ + y] = above[y].least[i] == next[i] ? 1 : 0;  // how many there are comes later
            }
            bool const is_mixed = is_valid_candidate(
                n_classes_, [&](std::size_t y) { return (counts[n_classes_ + y] | counts[2 * n_classes_ + y]) != 0; });
            cuts[first + i].next = from_ordered(next[i]);
            scratch_.valid_places[n_valid_] = static_cast<std::uint32_t>(first + i);
            n_valid_ += is_mixed & (next[i] != to_ordered(kNoValue)) ? 1 : 0;
        }
    }

    std::size_t n_valid_ = 0;  // of those that were looked up
};

}  // namespace deciduous
