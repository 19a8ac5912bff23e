#include "split/table_scan.h"

#include <algorithm>

#include "base/kernels.h"

namespace deciduous {

namespace {

// Has room for n things, and what is written behind them.
template <typename Vector>
auto* with_room(Vector& vector, std::size_t n) {
    if (vector.size() < n + kernels::kLanes)
        vector.resize(n + kernels::kLanes);
    return vector.data();
}

}  // namespace

Finding TableScan::take_values(ValidRequest const& request, Candidates& candidates) {
    table().sort(node_, scratch_.values);
    return take_table(request, candidates);
}

Finding TableScan::take_codes(Column const& column, ValidRequest const& request, Candidates& candidates) {
    table().count_codes(node_, column);
    return take_table(request, candidates);
}

bool TableScan::find_pair_again() {
    scratch_.values.gather(node_, attribute_);
    table().sort(node_, scratch_.values);
    if (table().size() != 2)
        return false;
    note_pair();
    return true;
}

void TableScan::find_cuts_again(bool are_boundaries, Rank bound) {
    scratch_.values.gather(node_, attribute_);
    table().sort(node_, scratch_.values);
    find_valid();
    take_cuts(are_boundaries, bound);
}

Finding TableScan::take_table(ValidRequest const& request, Candidates& candidates) {
    if (table().size() == 1)
        return Finding::constant;
    if (table().size() == 2) {
        note_pair();
        return take_pair(node_, attribute_, scratch_.pair, candidates);
    }
    find_valid();
    sample(request);
    offer(candidates);
    if (request.is_recorded)
        choose_cuts(n_wanted(request));
    return Finding::cuts;
}

// The two values of the table.
void TableScan::note_pair() {
    auto& at_high = scratch_.pair.at_high;
    scratch_.pair.values = {table().value(0), table().value(1)};
    at_high.resize(node_.n_classes());
    std::uint32_t const low = 0;
    table().count_up_to({&low, 1}, at_high.data());
    for (std::size_t y = 0; y < at_high.size(); ++y)
        at_high[y] = node_.totals[y] - at_high[y];
}

// Marks the values that are marked (ranks.h), and those that are valid candidates together with the next one.
void TableScan::find_valid() {
    kernels::chosen->mark_valid(table().only(0), node_.n_classes(), table().size(), ranks_.dominant(),
                                with_room(scratch_.valid, n_words()), with_room(scratch_.marked, n_words()));
}

// Finds the places of the sampled candidates.
void TableScan::sample(ValidRequest const& request) {
    auto* const places = with_room(scratch_.sampled_places, table().size());
    n_valid_ = n_sampled_ = kernels::chosen->list_marked(scratch_.valid.data(), n_words(), places);
    bool const are_all_sampled = request.n_thresholds == kAllThresholds || n_valid_ <= request.n_thresholds;
    if (!are_all_sampled || (request.is_recorded && request.n_thresholds != kAllThresholds))
        find_valid_ranks();
    scratch_.cuts.last_sampled = kEverything;
    if (are_all_sampled)
        return;
    scratch_.cuts.last_sampled = last_valid(request.n_thresholds);
    mark_ranks_up_to(scratch_.cuts.last_sampled);
    n_sampled_ = kernels::chosen->list_marked(scratch_.within.data(), n_words(), places);
}

// The ranks of valid candidates: first of those whose lower value is marked, then of the others.
void TableScan::find_valid_ranks() {
    std::size_t const n = n_words();
    auto* const lower = with_room(scratch_.lower_marked, n);
    auto* const higher = with_room(scratch_.higher_marked, n);
    for (std::size_t word = 0; word < n; ++word) {
        lower[word] = scratch_.valid[word] & scratch_.marked[word];
        higher[word] = scratch_.valid[word] & ~scratch_.marked[word];
    }
    scratch_.valid_ranks.resize(n_valid_);
    Ordered* const values = scratch_.valid_values.take(n_valid_ + kernels::kLanes);
    n_lower_marked_ = kernels::chosen->keep_marked(lower, n, table().values(), values);
    ranks_.find_above(values, n_lower_marked_, scratch_.valid_ranks.data());
    if (n_lower_marked_ == n_valid_)
        return;
    std::size_t const n_others = kernels::chosen->keep_marked(higher, n, table().values() + 1, values);
    ranks_.find_below(values, n_others, scratch_.valid_ranks.data() + n_lower_marked_);
}

// Marks the valid candidates whose ranks are not above the last one.
void TableScan::mark_ranks_up_to(Rank last) {
    std::size_t const n = n_words();
    Ordered const* const ranks = scratch_.valid_ranks.data();
    auto* const gathered = with_room(scratch_.gathered, n);
    auto* const within = with_room(scratch_.within, n);
    kernels::chosen->mark_below(to_ordered(last), ranks, n_lower_marked_, gathered);
    kernels::chosen->spread_marks(gathered, scratch_.lower_marked.data(), n, within);
    if (n_lower_marked_ == n_valid_)
        return;
    auto* const spread = with_room(scratch_.spread, n);
    kernels::chosen->mark_below(to_ordered(last), ranks + n_lower_marked_, n_valid_ - n_lower_marked_, gathered);
    kernels::chosen->spread_marks(gathered, scratch_.higher_marked.data(), n, spread);
    for (std::size_t word = 0; word < n; ++word)
        within[word] |= spread[word];
}

void TableScan::offer(Candidates& candidates) {
    std::span<std::uint32_t const> const places(scratch_.sampled_places.data(), n_sampled_);
    Ordered const* const values = table().values();
    Count* const left = candidates.append_many(n_sampled_, [&](std::size_t i, Candidate& its) {
        std::size_t const place = places[i];
        its.attribute = attribute_;
        its.value = from_ordered(values[place]);
        its.next = from_ordered(values[place + 1]);
        its.rank = is_set(scratch_.marked, place) ? 1 : 0;
    });
    table().count_up_to(places, left);
}

// Whichever cuts are fewer.
void TableScan::choose_cuts(std::uint32_t n) {
    if (n == kAllThresholds || n_valid_ < n ||
        are_boundaries_shorter(static_cast<double>(n_valid_), n, static_cast<double>(n_cuts())))
        take_cuts(true, kEverything);
    else if (n_valid_ == n)
        take_cuts(false, from_ordered(*std::ranges::max_element(scratch_.valid_ranks)));
    else
        take_cuts(false, last_valid(n));
}

// How many cuts marked values have: one above each, and one below if not all are marked.
std::size_t TableScan::n_cuts() {
    if (ranks_.are_all_marked())
        return table().size();
    return 2 * kernels::chosen->list_marked(scratch_.marked.data(), n_words(),
                                            with_room(scratch_.cut_places, table().size()));
}

void TableScan::take_cuts(bool are_boundaries, Rank bound) {
    FoundCuts& cuts = scratch_.cuts;
    cuts.start(node_.n_classes());
    cuts.are_boundaries = are_boundaries;
    cuts.bound = bound;
    if (!are_boundaries && mark_within(bound)) {
        Count* const counts = cuts.append(kNoLower, table().value(0), kEverything);
        std::fill_n(counts, 2 * node_.n_classes(), Count{0});
        std::uint32_t const lowest = 0;
        table().count_up_to({&lowest, 1}, counts + 2 * node_.n_classes());
    }
    auto* const places = with_room(scratch_.cut_places, table().size());
    Marks const& taken = are_boundaries ? scratch_.valid : scratch_.within;
    std::size_t const n = kernels::chosen->list_marked(taken.data(), n_words(), places);
    append_cuts({places, n});
}

// Appends the cuts above values of the table.
void TableScan::append_cuts(std::span<std::uint32_t const> places) {
    std::size_t const n_classes = node_.n_classes();
    auto const last = static_cast<std::uint32_t>(table().size() - 1);
    // Rows up to each of them, the one before and the next one: what is at them is the difference.
    auto* const three_each = with_room(scratch_.sampled_places, 3 * places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        three_each[3 * i] = places[i];
        three_each[3 * i + 1] = places[i] == 0 ? 0 : places[i] - 1;
        three_each[3 * i + 2] = std::min(places[i] + 1, last);
    }
    table().count_up_to({three_each, 3 * places.size()}, scratch_.cuts.room_for(places.size()));
    for (std::uint32_t const place : places) {
        Value const value = table().value(place);
        Value const next = place == last ? kNoValue : table().value(place + 1);
        Rank const rank = place == last ? kEverything : ranks_.between(is_set(scratch_.marked, place), value, next);
        Count* const up_to = scratch_.cuts.append(value, next, rank);
        Count* const at = up_to + n_classes;
        Count* const at_next = at + n_classes;
        for (std::size_t y = 0; y < n_classes; ++y) {
            at[y] = up_to[y] - (place == 0 ? 0 : at[y]);
            at_next[y] -= up_to[y];
        }
    }
}

// Marks the values above which a cut is within a bound; whether the one below the lowest is, too.
bool TableScan::mark_within(Rank bound) {
    std::size_t const n = n_words();
    std::size_t const n_values = table().size();
    Ordered* const values = scratch_.valid_values.take(n_values + kernels::kLanes);
    std::size_t const n_marked = kernels::chosen->keep_marked(scratch_.marked.data(), n, table().values(), values);
    Ordered* const ranks = with_room(scratch_.ranks, n_marked);
    auto* const gathered = with_room(scratch_.gathered, n);
    auto* const within = with_room(scratch_.within, n);
    ranks_.find_above(values, n_marked, ranks);
    kernels::chosen->mark_below(to_ordered(bound), ranks, n_marked, gathered);
    kernels::chosen->spread_marks(gathered, scratch_.marked.data(), n, within);
    if (table().value(n_values - 1) == kMissing)
        within[n - 1] &= ~(std::uint64_t{1} << ((n_values - 1) % 64));
    if (ranks_.are_all_marked())
        return false;
    auto* const below = with_room(scratch_.spread, n);
    ranks_.find_below(values, n_marked, ranks);
    kernels::chosen->mark_below(to_ordered(bound), ranks, n_marked, gathered);
    kernels::chosen->spread_marks(gathered, scratch_.marked.data(), n, below);
    for (std::size_t word = 0; word < n; ++word)
        within[word] |= below[word] >> 1 | (word + 1 < n ? below[word + 1] << 63 : 0);
    return (below[0] & 1) != 0;
}

}  // namespace deciduous
