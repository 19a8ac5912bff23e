#include "split/valid_scan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/kernels.h"
#include "base/params.h"
#include "split/n_classes.h"
#include "split/ranks.h"
#include "split/validity.h"

namespace deciduous {

namespace {

// Whether all valid candidates are fewer than the values in a prefix with n_wanted of them, which is that share of all
// values.
bool are_boundaries_shorter(double n_valid, double n_wanted, double n_values) {
    return n_valid * n_valid < n_wanted * n_values;
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
          ranks_(node.key, attribute) {}

    Finding run(ValidRequest const& request, Candidates& candidates) {
        if (auto const values = count_two_valued(node_, attribute_, scratch_.pair.at_high)) {
            scratch_.pair.values = *values;
            return take_pair(candidates);
        }
        if (node_.small != nullptr)
            return take_small(request, candidates);
        if (!is_by_codes()) {
            scratch_.values.gather(node_, attribute_);
            if (scratch_.values.is_constant())
                return Finding::constant;
            if (look_up(request)) {
                offer_found(request.n_thresholds, candidates);
                if (request.is_recorded)
                    finish_found(request.n_thresholds);
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

    Finding take_pair(Candidates& candidates) {
        auto const& [values, at_high] = scratch_.pair;
        Count n_high = 0;
        Count n_rows = 0;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            n_high += at_high[y];
            n_rows += node_.totals[y];
        }
        if (n_high == 0 || n_high == n_rows)
            return Finding::constant;
        append_valid_pair(node_.key, attribute_, values, at_high.data(), node_.totals, candidates);
        return Finding::pair;
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
        offer_small(valid_places(sorted, n), sorted, request.n_thresholds, candidates);
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

    // The last places of the values that are valid candidates.
    [[nodiscard]] RowSet valid_places(Ordered const* sorted, std::size_t n) const {
        RowSet alike = 0;  // places whose next one is of the same class
        for (RowSet const set : scratch_.class_sets)
            alike |= set & (set >> 1);
        RowSet const repeated = kernels::chosen->mark_repeated(sorted, n);
        RowSet const all = ~RowSet{0} >> (SmallNode::kMaxRows - n);
        if (repeated == 0)
            return all >> 1 & ~alike;
        // A sum carries what is mixed up to the last place of its value. Then a bit stands for each value.
        RowSet const is_mixed = repeated & ~alike;
        RowSet const reached = ((is_mixed + repeated) ^ repeated) | is_mixed;
        RowSet const last = all & ~repeated;
        RowSet const mixed = kernels::chosen->gather_bits(reached, last);
        RowSet const parted = kernels::chosen->gather_bits(~alike, last);
        auto const n_values = static_cast<unsigned>(std::popcount(last));
        RowSet const valid = (mixed | mixed >> 1 | parted) & ((RowSet{1} << (n_values - 1)) - 1);
        return kernels::chosen->spread_bits(valid, last);
    }

    void offer_small(RowSet valid, Ordered* sorted, std::uint32_t n_thresholds, Candidates& candidates) {
        std::array<std::uint32_t, SmallNode::kMaxRows> places;
        Ordered* const values = sorted + SmallNode::kMaxRows + kernels::kLanes;
        std::size_t n = 0;
        for (; valid != 0; valid &= valid - 1, ++n) {
            places[n] = static_cast<std::uint32_t>(std::countr_zero(valid));
            values[n] = sorted[places[n]];
        }
        auto& ranks = scratch_.valid_ranks;
        ranks.resize(n);
        ranks_.find(values, n, ranks.data());
        Rank const last = last_valid(n_thresholds);
        std::size_t n_sampled = 0;
        for (std::size_t i = 0; i < n; ++i) {  // without branches, as their outcomes would be random
            places[n_sampled] = places[i];
            ranks[n_sampled] = ranks[i];
            n_sampled += from_ordered(ranks[i]) <= last ? 1 : 0;
        }
        Count* const left = candidates.append_many(n_sampled, [&](std::size_t i, Candidate& its) {
            its.attribute = attribute_;
            its.value = from_ordered(sorted[places[i]]);
            its.next = from_ordered(sorted[places[i] + 1]);
            its.rank = from_ordered(ranks[i]);
        });
        kernels::chosen->count_up_to(scratch_.class_sets.data(), n_classes_, places.data(), n_sampled, left);
    }

    // ------------------------------------------------------------------------------------------------- by the table

    [[nodiscard]] Table& table() { return scratch_.table; }
    [[nodiscard]] bool is_valid(std::size_t i) const {
        Count const* const at = scratch_.table.counts(i);
        Count const* const at_next = scratch_.table.counts(i + 1);
        return is_valid_candidate(n_classes_, [&](std::size_t y) { return (at[y] | at_next[y]) != 0; });
    }

    Finding take_table(ValidRequest const& request, Candidates& candidates) {
        std::size_t const n_values = table().size();
        if (n_values == 1)
            return Finding::constant;
        if (n_values == 2) {
            note_pair();
            return take_pair(candidates);
        }
        find_valid();
        scratch_.cuts.last_sampled = last_valid(request.n_thresholds);
        offer_table(candidates);
        if (request.is_recorded)
            choose_cuts(n_wanted(request));
        return Finding::cuts;
    }

    // The ranks of all values of the table, and the places and ranks of the valid candidates among them.
    void find_valid() {
        std::size_t const n_values = table().size();
        scratch_.ranks.resize(n_values);
        ranks_.find(table().values(), n_values, scratch_.ranks.data());
        auto& places = scratch_.valid_places;
        auto& valid_ranks = scratch_.valid_ranks;
        places.resize(n_values);
        valid_ranks.resize(n_values);
        std::size_t n = 0;
        for (std::size_t i = 0; i + 1 < n_values; ++i) {  // without branches, as their outcomes would be random
            places[n] = static_cast<std::uint32_t>(i);
            valid_ranks[n] = scratch_.ranks[i];
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
        for (std::uint32_t const place : scratch_.valid_places) {
            for (; i <= place; ++i)
                for (std::size_t y = 0; y < n_classes_; ++y)
                    left[y] += table().counts(i)[y];
            Rank const its_rank = from_ordered(scratch_.ranks[place]);
            if (its_rank <= scratch_.cuts.last_sampled)
                std::copy_n(left.data(), std::size_t{n_classes_},
                            candidates.append(attribute_, table().value(place), table().value(place + 1), its_rank));
        }
    }

    // Whichever cuts are fewer.
    void choose_cuts(std::uint32_t n) {
        std::size_t const n_valid = scratch_.valid_places.size();
        bool const are_boundaries =
            n == kAllThresholds || n_valid < n ||
            are_boundaries_shorter(static_cast<double>(n_valid), n, static_cast<double>(table().size()));
        if (are_boundaries)
            take_cuts(true, kEverything);
        else if (n_valid == n)
            take_cuts(false, from_ordered(*std::ranges::max_element(scratch_.valid_ranks)));
        else
            take_cuts(false, last_valid(n));
    }

    void take_cuts(bool are_boundaries, Rank bound) {
        FoundCuts& cuts = scratch_.cuts;
        cuts.start(n_classes_);
        cuts.are_boundaries = are_boundaries;
        cuts.bound = bound;
        auto& left = scratch_.left;
        left.assign(n_classes_, 0);
        for (std::size_t i = 0; i < table().size(); ++i) {
            Count const* const at = table().counts(i);
            for (std::size_t y = 0; y < n_classes_; ++y)
                left[y] += at[y];
            bool const is_last = i + 1 == table().size();
            Value const value = table().value(i);
            Rank const its_rank = from_ordered(scratch_.ranks[i]);
            if (are_boundaries ? is_last || !is_valid(i) : value == kMissing || its_rank > bound)
                continue;
            Count* const counts = cuts.append(value, is_last ? kNoValue : table().value(i + 1), its_rank);
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
        if (request.n_thresholds == kAllThresholds || !node_.weights.empty())
            return false;
        std::uint32_t const n = n_wanted(request);
        auto const n_rows = static_cast<double>(node_.size());
        double same_class = 0;  // the chance that two rows agree, were values and labels independent
        for (Count const n_y : node_.totals)
            same_class += static_cast<double>(n_y) / n_rows * static_cast<double>(n_y) / n_rows;
        double const n_expected = n / (1 - same_class);
        double const n_most = tuning_.look_ups_per_sort;
        if (n_expected > n_most || tuning_.rows_per_look_up * n_expected > n_rows ||
            (request.is_recorded && are_boundaries_shorter((1 - same_class) * n_rows, n, n_rows)))
            return false;
        auto const values = scratch_.values.all();
        scratch_.ranks.resize(values.size());
        ranks_.find(values.data(), values.size(), scratch_.ranks.data());
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
        return true;
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

    void offer_found(std::uint32_t n_thresholds, Candidates& candidates) const {
        for (std::uint32_t const place : std::span(scratch_.valid_places).first(n_thresholds)) {
            FoundCuts::Cut const& cut = scratch_.cuts[place];
            std::copy_n(scratch_.cuts.left(place), std::size_t{n_classes_},
                        candidates.append(attribute_, cut.value, cut.next, cut.rank));
        }
    }

    // Completes what was looked up: counts the rows at the next values.
    void finish_found(std::uint32_t n_thresholds) {
        FoundCuts& cuts = scratch_.cuts;
        std::size_t const n = cuts.size();
        cuts.are_boundaries = false;
        cuts.bound = cuts[n - 1].rank;
        cuts.last_sampled = cuts[scratch_.valid_places[n_thresholds - 1]].rank;
        Ordered* const next = scratch_.valid_values.take(n);
        for (std::size_t i = 0; i < n; ++i)
            next[i] = to_ordered(cuts[i].next);  // no row has kNoValue
        scratch_.left.resize(std::max(scratch_.left.size(), n));
        for (std::size_t y = 0; y < n_classes_; ++y) {
            count_equal(y, next, n, scratch_.left.data());
            for (std::size_t i = 0; i < n; ++i)
                cuts.left(i)[2 * n_classes_ + y] = scratch_.left[i];
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

void append_valid_pair(Key node, Attribute attribute, TwoValues values, Count const* at_high,
                       std::span<Count const> totals, Candidates& candidates) {
    Count* const left = candidates.append(attribute, values.low, values.high, Ranks(node, attribute)(values.low));
    for (std::size_t y = 0; y < totals.size(); ++y)
        left[y] = totals[y] - at_high[y];
}

}  // namespace deciduous
