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
#include "split/node_rows.h"
#include "split/ranks.h"
#include "split/scan.h"

namespace deciduous {

class TargetLookUps {
public:
    // Of a numeric attribute. The values of the node were gathered.
    TargetLookUps(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : node_(node),
          scratch_(scratch),
          its_(scratch.target_look_ups),
          ranks_(node.keys, attribute, node.dominant),
          column_(*node.data.numeric_column(attribute)) {}

    // Whether the rows are enough for it to take less time than sorting them.
    [[nodiscard]] bool pays(std::size_t n_wanted, Tuning const& tuning) const {
        return column_.is_coded() ? column_.codes_in_order().size() * tuning.rows_per_code <= node_.size()
                                  : n_wanted * tuning.rows_per_target_look_up <= node_.size();
    }

    // Finds all cuts within the bound that so many valid ones are within, or all cuts if there are fewer. False if that
    // would take too many values: then nothing is found.
    [[nodiscard]] bool find(std::size_t n_wanted) {
        double const n_values = are_listed() ? static_cast<double>(list_all()) : static_cast<double>(node_.size());
        auto const wanted = static_cast<double>(n_wanted);
        for (double share = (wanted + 2 * std::sqrt(wanted) + 2) / n_values;; share *= 2) {
            bool const are_all = are_listed() && share >= 1;
            if (!are_listed() && share >= kMostOfRows)
                return false;
            choose(are_all ? kEverything : static_cast<Rank>(share * 0x1p32));
            if (n_chosen_ > kMostValues)
                return false;
            if (n_chosen_ <= n_wanted && !are_all)
                continue;
            count_rows();
            count_listed();
            list_cuts();
            look_beside();
            rank_valid();
            if (are_all || scratch_.valid_ranks.size() > n_wanted) {
                drop_beyond(last_wanted(scratch_.valid_ranks, n_wanted));
                return true;
            }
        }
    }

private:
    static constexpr std::size_t kMostValues = 255;
    static constexpr double kMostOfRows = 0.25;

    // Whether the values of the attribute are few and known.
    [[nodiscard]] bool are_listed() const { return column_.is_coded(); }

    // Lists them, be they on the node or not; how many they are.
    std::size_t list_all() {
        Ordered* const all = scratch_.near_values.take(kMostValues + 1 + kernels::kLanes);
        n_listed_ = 0;
        for (Code const code : column_.codes_in_order())
            all[n_listed_++] = to_ordered(column_.coded().values[code]);
        return n_listed_;
    }

    // Chooses the values whose rank is within a bound.
    void choose(Rank bound) {
        bool const listed = are_listed();
        std::size_t const n = listed ? n_listed_ : node_.size();
        Ordered const* const from = listed ? scratch_.near_values.data() : scratch_.values.all().data();
        Ordered* const kept = scratch_.values_beside.take(n + kernels::kLanes);
        std::size_t const n_kept = kernels::chosen->keep_values_ranked(
            from, n, ranks_.key(true), std::numeric_limits<Ordered>::min(), to_ordered(bound), kept);
        std::sort(kept, kept + n_kept);
        n_chosen_ = static_cast<std::size_t>(std::unique(kept, kept + n_kept) - kept);
        std::copy_n(kept, std::min(n_chosen_, kMostValues), its_.values.begin());
    }

    // Counts the rows above the chosen value before and at or below each chosen value, and those above all of them.
    void count_rows() {
        std::fill_n(its_.between.begin(), n_chosen_ + 1, Between{});
        auto const values = scratch_.values.all();
        for (auto* const list : {&its_.places, &its_.near_rows})
            if (list->size() < values.size() + kernels::kLanes)
                list->resize(2 * values.size() + kernels::kLanes);
        its_.values[n_chosen_] = std::numeric_limits<Ordered>::max();
        kernels::chosen->find_places_among(its_.values.data(), n_chosen_, values.data(), values.size(),
                                           its_.places.data());
        if (node_.has_light_sums())
            add_up<Target>([](std::size_t) { return 1; });
        else
            add_up<TargetSum>([&](std::size_t row) { return node_.weight(row); });
    }

    // How many rows have each of the chosen values; those that rows were asked for have some.
    void count_listed() {
        auto const values = scratch_.values.all();
        if (are_listed())
            kernels::chosen->count_equal(its_.values.data(), n_chosen_, values.data(), values.size(), its_.n_at.data());
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

    // Lists the cuts above those of the chosen values that are on the node.
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
            bool const is_there = i < n_chosen_ && (!are_listed() || its_.n_at[i] > 0);
            if (!is_there && i < n_chosen_)
                continue;
            if (!cuts.empty())
                cuts.back().next = cut.n_rows == 0 ? kNoValue : from_ordered(least);
            if (!is_there)
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

    void rank_valid() {
        scratch_.valid_ranks.clear();
        for (TargetCut const& cut : scratch_.targets.cuts)
            if (cut.is_candidate())
                scratch_.valid_ranks.push_back(to_ordered(ranks_.above(cut.value)));
    }

    // Drops the cuts beyond a bound; their rows are counted with those of the next one.
    void drop_beyond(Rank bound) {
        scratch_.targets.bound = bound;
        auto& cuts = scratch_.targets.cuts;
        std::size_t n_kept = 0;
        Count n_rows = 0;
        TargetSum sum = 0;
        for (TargetCut& cut : cuts) {
            n_rows += cut.n_rows;
            sum += cut.sum;
            if (ranks_.above(cut.value) > bound)
                continue;
            cut.n_rows = n_rows;
            cut.sum = sum;
            cuts[n_kept++] = cut;
            n_rows = 0;
            sum = 0;
        }
        cuts.resize(n_kept);
    }

    using Between = TargetLookUpScratch::Between;

    NodeRows const& node_;
    ScanScratch& scratch_;
    TargetLookUpScratch& its_;
    Ranks ranks_;
    Column const& column_;
    std::size_t n_listed_ = 0;
    std::size_t n_chosen_ = 0;
    std::size_t n_near_ = 0;  // in near_rows
};

}  // namespace deciduous
