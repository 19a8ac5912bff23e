// The cuts of an attribute in a regression forest, found without sorting the rows: a few values are chosen by their
// ranks, and all rows are counted between them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/kernels.h"
#include "base/tuning.h"
#include "split/target_cuts.h"

namespace deciduous {

class TargetLookUps : private TargetCuts {
public:
    // Of a numeric attribute. The values of the node were gathered.
    TargetLookUps(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : TargetCuts(node, attribute, scratch), its_(scratch.target_look_ups) {}

    // Whether the rows are enough for it to take less time than sorting them.
    [[nodiscard]] bool pays(std::size_t n_wanted, Tuning const& tuning) const {
        return n_wanted * tuning.rows_per_target_look_up <= node_.size();
    }

    // Finds all cuts within the bound that so many valid ones are within. False if that would take too many values:
    // then nothing is found.
    [[nodiscard]] bool find(std::size_t n_wanted) {
        auto const wanted = static_cast<double>(n_wanted);
        for (double share = (wanted + 2 * std::sqrt(wanted) + 2) / static_cast<double>(node_.size());; share *= 2) {
            if (share >= kMostOfRows)
                return false;
            choose(static_cast<Rank>(share * 0x1p32));
            if (n_chosen_ > kMostValues)
                return false;
            if (n_chosen_ <= n_wanted)
                continue;
            count_rows();
            list_cuts();
            look_beside();
            rank_valid();
            if (scratch_.valid_ranks.size() > n_wanted) {
                drop_beyond(last_wanted(scratch_.valid_ranks, n_wanted));
                return true;
            }
        }
    }

private:
    static constexpr std::size_t kMostValues = 255;
    static constexpr double kMostOfRows = 0.25;

    // Chooses the values whose rank is within a bound.
    void choose(Rank bound) {
        auto const values = scratch_.values.all();
        std::size_t const room = values.size() + kernels::kLanes;
        Ordered* const kept = scratch_.values_beside.take(room);
        std::size_t const n_kept =
            kernels::chosen->keep_values_ranked(values.data(), values.size(), ranks_.key(true),
                                                std::numeric_limits<Ordered>::min(), to_ordered(bound), kept);
        for (auto* const labels : {&its_.places, &its_.near_rows})  // which are of no meaning yet
            if (labels->size() < room)
                labels->resize(2 * room);
        kernels::chosen->sort(kept, its_.places.data(), n_kept, scratch_.near_values.take(room), its_.near_rows.data());
        n_chosen_ = static_cast<std::size_t>(std::unique(kept, kept + n_kept) - kept);
        std::copy_n(kept, std::min(n_chosen_, kMostValues), its_.values.begin());
    }

    // Counts the rows above the chosen value before and at or below each chosen value, and those above all of them.
    void count_rows() {
        std::fill_n(its_.between.begin(), n_chosen_ + 1, Between{});
        auto const values = scratch_.values.all();
        its_.values[n_chosen_] = std::numeric_limits<Ordered>::max();
        kernels::chosen->find_places_among(its_.values.data(), n_chosen_, values.data(), values.size(),
                                           its_.places.data());
        if (node_.has_light_sums())
            add_up<Target>([](std::size_t) { return 1; });
        else
            add_up<TargetSum>([&](std::size_t row) { return node_.weight(row); });
    }

    // Adds rows up in integers that hold their sums. Lists those that may be at a value of a cut: they are at a chosen
    // value, or none before them was lower. Without branches, as their outcomes would be random.
    template <typename Integer, typename Weight>
    void add_up(Weight const& weight_of) {
        auto const values = scratch_.values.all();
        Between* const between = its_.between.data();
        std::uint32_t const* const places = its_.places.data();
        Target const* const targets = node_.targets.data();
        n_near_ = 0;
        for (std::size_t row = 0; row < values.size(); ++row) {
            Between& its = between[places[row]];
            its_.near_rows[n_near_] = static_cast<std::uint32_t>(row);
            n_near_ += (values[row] == its_.values[places[row]]) | (values[row] <= its.least) ? 1 : 0;
            auto const weight = weight_of(row);
            its.n_rows += static_cast<Count>(weight);
            its.sum = static_cast<Integer>(its.sum) + static_cast<Integer>(weight) * targets[row];
            its.least = values[row] < its.least ? values[row] : its.least;
        }
    }

    // Lists the cuts above the chosen values.
    void list_cuts() {
        auto& cuts = scratch_.targets.cuts;
        cuts.clear();
        TargetCut cut;
        Ordered least = std::numeric_limits<Ordered>::max();  // of the rows above the cut before
        for (std::size_t i = 0; i <= n_chosen_; ++i) {
            Between const& its = its_.between[i];
            its_.cut_of_place[i] = static_cast<std::uint32_t>(cuts.size());
            cut.n_rows += its.n_rows;
            cut.sum += its.sum;
            least = std::min(least, its.least);
            if (!cuts.empty())
                cuts.back().next = cut.n_rows == 0 ? kNoValue : from_ordered(least);
            if (i == n_chosen_)
                break;
            cut.value = from_ordered(its_.values[i]);
            cut.next = kNoValue;
            cuts.push_back(cut);
            cut = {};
            least = std::numeric_limits<Ordered>::max();
        }
    }

    // Counts the rows at both values of each cut, and finds two targets among them.
    void look_beside() {
        auto& cuts = scratch_.targets.cuts;
        auto const values = scratch_.values.all();
        // What rows at each place may have: the value of the cut, and the next one of the cut before.
        for (std::size_t place = 0; place <= n_chosen_; ++place) {
            std::size_t const i = its_.cut_of_place[place];
            bool const has_next = i > 0 && cuts[i - 1].next != kNoValue;
            its_.next_below[place] = has_next ? to_ordered(cuts[i - 1].next) : std::numeric_limits<Ordered>::max();
            its_.cut_values[place] = i < cuts.size() ? to_ordered(cuts[i].value) : std::numeric_limits<Ordered>::max();
        }
        for (std::size_t const row : std::span(its_.near_rows).first(n_near_)) {
            std::size_t const place = its_.places[row];
            bool const is_at = values[row] == its_.cut_values[place];
            bool const is_next = values[row] == its_.next_below[place];
            std::size_t const i = its_.cut_of_place[place];
            if (is_at)
                take_beside(row, cuts[i], cuts[i].n_at);
            if (is_next)
                take_beside(row, cuts[i - 1], cuts[i - 1].n_next);
        }
    }

    void take_beside(std::size_t row, TargetCut& cut, Count& n) const {
        Count const weight = node_.weight(row);
        n += weight;
        cut.beside.add(node_.targets[row], weight);
    }

    using Between = TargetLookUpScratch::Between;

    TargetLookUpScratch& its_;
    std::size_t n_chosen_ = 0;
    std::size_t n_near_ = 0;  // in near_rows
};

}  // namespace deciduous
