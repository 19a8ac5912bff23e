#include "split/valid_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/kernels.h"
#include "base/params.h"
#include "split/n_classes.h"
#include "split/ranks.h"
#include "split/validity.h"

namespace deciduous {

bool is_low_marked(Label dominant, Count const* at_high, std::span<Count const> totals) {
    for (std::size_t y = 0; y < totals.size(); ++y)
        if (y != dominant && totals[y] != at_high[y])
            return true;
    return false;
}

namespace {

// Whether all valid candidates are fewer than the values in a prefix with n_wanted of them, which is that share of all
// values.
bool are_boundaries_shorter(double n_valid, double n_wanted, double n_values) {
    return n_valid * n_valid < n_wanted * n_values;
}

// Appends the candidate between two values, if both have rows.
Finding take_pair(NodeRows const& node, Attribute attribute, FoundPair const& pair, Candidates& candidates) {
    Count const n_high = sum(pair.at_high);
    if (n_high == 0 || n_high == sum(node.totals))
        return Finding::constant;
    append_pair(attribute, pair.values, pair.at_high.data(), node.totals,
                is_low_marked(node.dominant, pair.at_high.data(), node.totals) ? 1 : 0, candidates);
    return Finding::pair;
}

template <typename NClasses>
class ValidScan {
public:
    ValidScan(NClasses n_classes, NodeRows const& node, Attribute attribute, Tuning const& tuning, ScanScratch& scratch)
        : n_classes_(n_classes),
          node_(node),
          attribute_(attribute),
          tuning_(tuning),
          scratch_(scratch),
          ranks_(node.key, attribute, node.dominant) {}

    Finding run(ValidRequest const& request, Candidates& candidates) {
        if (node_.small != nullptr)
            return take_small(request, candidates);
        if (!is_by_codes()) {
            scratch_.values.gather(node_, attribute_);
            if (scratch_.values.is_constant())
                return Finding::constant;
            if (ranks_.are_all_marked() ? look_up(request) : look_up_marked(request)) {
                offer_found(candidates);
                if (request.is_recorded)
                    count_far_ends();
                return Finding::cuts;
            }
        }
        tabulate();
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
    [[nodiscard]] Column const& column() const { return *node_.data.numeric_column(attribute_); }
    // Whether counting codes takes less time than looking at the values: the table of all codes has to be read, too.
    [[nodiscard]] bool is_by_codes() const {
        return column().is_coded() && column().codes_in_order().size() * tuning_.rows_per_code <= node_.size();
    }

    [[nodiscard]] std::uint32_t n_wanted(ValidRequest const& request) const {
        if (request.n_thresholds == kAllThresholds)
            return kAllThresholds;
        return request.n_thresholds + (request.is_recorded ? tuning_.reserve : 0);
    }

    void gather_and_tabulate() {
        scratch_.values.gather(node_, attribute_);
        table().sort(node_, scratch_.values, tuning_.max_counted_rows);
    }

    // The two values of the table.
    void note_pair() {
        scratch_.pair.values = {table().value(0), table().value(1)};
        scratch_.pair.at_high.assign(table().counts(1), table().counts(1) + n_classes_);
    }

    // Values were gathered unless codes are counted.
    void tabulate() {
        if (is_by_codes())
            table().count_codes(node_, column());
        else
            table().sort(node_, scratch_.values, tuning_.max_counted_rows);
    }

    // ------------------------------------------------------------------------------------- few rows, as sets of bits

    // The rows of a small node are sorted already: a class is a set of places in their order.
    Finding take_small(ValidRequest const& request, Candidates& candidates) {
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
            table().read(n_classes_, {sorted, n}, classes.data());
            return take_table(request, candidates);
        }
        RowSet const repeated = kernels::chosen->mark_repeated(sorted, n);
        offer_small(valid_places(n, repeated), repeated, sorted, request.n_thresholds, candidates);
        return Finding::cuts;
    }

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

    // ------------------------------------------------------------------------------------------------- by the table

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

    // The rank of the last of the valid candidates that are wanted.
    Rank last_valid(std::uint32_t n_candidates) {
        scratch_.few_ranks = scratch_.valid_ranks;
        return scratch_.last_wanted(scratch_.few_ranks, n_candidates);
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

    // ----------------------------------------------------------------------------------------------- by looking up

    // Looks candidates up in the order of their ranks until enough of them are valid. False if that is likely to take
    // longer than sorting, or if all valid candidates would be a shorter record.
    bool look_up(ValidRequest const& request) {
        auto const n_rows = static_cast<double>(node_.size());
        double same_class = 0;  // the chance that two rows agree, were values and labels independent
        for (Count const n_y : node_.totals)
            same_class += static_cast<double>(n_y) / n_rows * static_cast<double>(n_y) / n_rows;
        std::uint32_t const n = n_wanted(request);
        double const n_expected = n / (1 - same_class);
        if (!is_worth_looking_up(request, n_expected, n_rows, (1 - same_class) * n_rows))
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

    // Whether that is likely to take less time than sorting, and to give the shorter record; of so many cuts in all and
    // valid candidates among them.
    [[nodiscard]] bool is_worth_looking_up(ValidRequest const& request, double n_expected, double n_cuts,
                                           double n_valid) const {
        return request.n_thresholds != kAllThresholds && node_.weights.empty() &&
               n_expected <= tuning_.look_ups_per_sort &&
               tuning_.rows_per_look_up * n_expected <= static_cast<double>(node_.size()) &&
               !(request.is_recorded && are_boundaries_shorter(n_valid, n_wanted(request), n_cuts));
    }

    // The same where most rows are of one class: only the others have to be asked for their ranks, and most of the cuts
    // beside them are valid.
    bool look_up_marked(ValidRequest const& request) {
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

    [[nodiscard]] bool is_lower_marked(std::size_t cut) const {
        Count const* const at = scratch_.cuts.at(cut);
        return ranks_.is_marked(n_classes_, [&](std::size_t y) { return at[y] != 0; });
    }

    // Of a row of the node.
    [[nodiscard]] std::uint32_t class_of(std::size_t row) const {
        std::uint32_t y = 0;
        while (row >= node_.ends[y])
            ++y;
        return y;
    }

    // So many candidates are looked up at a time.
    static constexpr std::size_t kAtOnce = 8;

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

    void count_equal(std::size_t y, Ordered const* wanted, std::size_t n_wanted, Count* counts) const {
        auto const values = scratch_.values.of_class(y);
        kernels::chosen->count_equal(wanted, n_wanted, values.data(), values.size(), counts);
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

    NClasses n_classes_;
    NodeRows const& node_;
    Attribute attribute_;
    Tuning const& tuning_;
    ScanScratch& scratch_;
    Ranks ranks_;
    std::size_t n_valid_ = 0;  // of those that were looked up
};

}  // namespace

Finding scan_valid(NodeRows const& node, Attribute attribute, ValidRequest const& request, Tuning const& tuning,
                   Candidates& candidates, ScanScratch& scratch) {
    if (auto const values = count_two_valued(node, attribute, scratch.pair.at_high)) {
        scratch.pair.values = *values;
        return take_pair(node, attribute, scratch.pair, candidates);
    }
    return with_classes(node.n_classes(), [&](auto n_classes) {
        return ValidScan(n_classes, node, attribute, tuning, scratch).run(request, candidates);
    });
}

void find_cuts_again(NodeRows const& node, Attribute attribute, bool are_boundaries, Rank bound, Tuning const& tuning,
                     ScanScratch& scratch) {
    ValidScan(node.n_classes(), node, attribute, tuning, scratch).find_cuts_again(are_boundaries, bound);
}

bool find_pair_again(NodeRows const& node, Attribute attribute, Tuning const& tuning, ScanScratch& scratch) {
    return ValidScan(node.n_classes(), node, attribute, tuning, scratch).find_pair_again();
}

}  // namespace deciduous
