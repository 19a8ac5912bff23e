#include "valid_candidates.h"

#include <algorithm>

#include "distinct.h"
#include "hash.h"
#include "impurity.h"

namespace deciduous {

namespace {

// The midpoint of two neighbouring values, so that low <= threshold < high.
Value threshold_between(Value low, Value high) {
    if (high == kMissing)
        return kInfinity;
    double const middle = (static_cast<double>(to_float(low)) + static_cast<double>(to_float(high))) / 2;
    Value const threshold = to_value(static_cast<float>(middle));
    return threshold < high ? threshold : low;
}

// Whether rows with these class counts, taken together, have more than one class.
bool are_mixed(std::span<Count const> a, std::span<Count const> b) {
    int n_present = 0;
    for (std::size_t y = 0; y < a.size(); ++y)
        n_present += a[y] + b[y] > 0 ? 1 : 0;
    return n_present > 1;
}

bool all_zero(std::span<Count const> counts) {
    return std::ranges::all_of(counts, [](Count n) { return n == 0; });
}

// The first of the ascending values that is not below `value`, without branches: their outcomes would be random.
std::size_t first_not_below(std::span<Value const> values, Value value) {
    std::size_t begin = 0;
    for (std::size_t n = values.size(); n > 0;) {
        std::size_t const half = (n + 1) / 2;
        begin += values[begin + half - 1] < value ? half : 0;
        n -= half;
    }
    return begin;
}

// Whether all valid candidates are fewer than the values in a prefix with n_wanted of them, which is that share of all
// values.
bool are_boundaries_shorter(double n_valid, std::uint32_t n_wanted, double n_values) {
    return n_valid * n_valid < n_wanted * n_values;
}

// Forgets the elements from `begin` on and overwrites their memory.
template <typename Vector>
void erase_tail(Vector& vector, std::size_t begin) {
    std::fill(vector.begin() + static_cast<std::ptrdiff_t>(begin), vector.end(), typename Vector::value_type{});
    vector.resize(begin);
}

}  // namespace

ValidCandidates::ValidCandidates(Attribute attribute, Key key, std::size_t n_classes)
    : attribute_(attribute), n_classes_(n_classes), candidate_key_(hash(key, kCandidate, attribute)) {}

std::uint64_t ValidCandidates::rank(Value value) const {
    return hash(candidate_key_, float_bits(value));
}

std::span<Count> ValidCandidates::counts(std::size_t cut, Part part) {
    return {counts_.data() + (cut * kParts + part) * n_classes_, n_classes_};
}

std::span<Count const> ValidCandidates::counts(std::size_t cut, Part part) const {
    return {counts_.data() + (cut * kParts + part) * n_classes_, n_classes_};
}

std::size_t ValidCandidates::first_cut_from(Value value) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, value, {}, &Cut::value) - cuts_.begin());
}

bool ValidCandidates::is_valid(std::size_t cut) const {
    return cuts_[cut].next != kNoValue && are_mixed(counts(cut, kAt), counts(cut, kAtNext));
}

std::size_t ValidCandidates::n_valid() const {
    std::size_t n = 0;
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut)
        n += is_valid(cut) ? 1 : 0;
    return n;
}

std::optional<ValidCandidates> ValidCandidates::scan(NodeView const& node, Attribute attribute, SampleSize const& size,
                                                     Workspace& work) {
    ValidCandidates candidates(attribute, node.key, node.totals.size());
    bool const takes_all = size.n_thresholds == kAllThresholds;
    std::uint32_t const n_wanted = takes_all ? kAllThresholds : size.n_thresholds + size.reserve;
    Column const* const column = node.data.numeric_column(attribute);
    bool const may_have_many_values = column != nullptr && !column->is_coded();
    if (!takes_all && may_have_many_values && node.slots.size() >= size.min_sampled_rows &&
        candidates.sample(node, column->plain(), n_wanted, work))
        return candidates;
    tabulate(node, attribute, work);
    if (!candidates.scan_table(n_wanted, work))
        return std::nullopt;
    return candidates;
}

// Makes the candidates from the distinct values in `work`; false if there is only one.
bool ValidCandidates::scan_table(std::uint32_t n_wanted, Workspace& work) {
    if (work.values.size() < 2)
        return false;
    bound_ = bound_for(n_wanted, work);
    are_boundaries_ = bound_ == kEverything || are_boundaries_shorter(static_cast<double>(work.ranks.size()), n_wanted,
                                                                      static_cast<double>(work.values.size()));
    if (are_boundaries_)
        bound_ = kEverything;
    fill_from_table(work);
    return true;
}

// Whether the i-th of the distinct values in `work` is a cut.
bool ValidCandidates::is_cut(Workspace const& work, std::size_t i) const {
    if (!are_boundaries_)
        return work.values[i] != kMissing && rank(work.values[i]) <= bound_;
    std::span<Count const> const table = work.value_counts;
    return i + 1 < work.values.size() &&
           are_mixed(table.subspan(i * n_classes_, n_classes_), table.subspan((i + 1) * n_classes_, n_classes_));
}

// All cuts among the distinct values in `work`.
void ValidCandidates::fill_from_table(Workspace& work) {
    cuts_.clear();
    counts_.clear();
    work.left.assign(n_classes_, 0);  // rows since the last cut
    std::span<Count const> const table = work.value_counts;
    auto const append = [this](std::span<Count const> counts) {
        counts_.insert(counts_.end(), counts.begin(), counts.end());
    };
    for (std::size_t i = 0; i < work.values.size(); ++i) {
        auto const at = table.subspan(i * n_classes_, n_classes_);
        accumulate(work.left, at);
        if (!is_cut(work, i))
            continue;
        bool const is_last = i + 1 == work.values.size();
        cuts_.push_back({work.values[i], is_last ? kNoValue : work.values[i + 1]});
        append(work.left);
        append(at);
        if (is_last)
            counts_.resize(counts_.size() + n_classes_, 0);
        else
            append(table.subspan((i + 1) * n_classes_, n_classes_));
        std::ranges::fill(work.left, Count{0});
    }
}

// The rank of the n_wanted-th valid candidate among the distinct values in `work`; leaves the ranks of all of them
// there.
std::uint64_t ValidCandidates::bound_for(std::uint32_t n_wanted, Workspace& work) const {
    work.ranks.clear();
    std::span<Count const> const counts = work.value_counts;
    for (std::size_t i = 0; i + 1 < work.values.size(); ++i)
        if (are_mixed(counts.subspan(i * n_classes_, n_classes_), counts.subspan((i + 1) * n_classes_, n_classes_)))
            work.ranks.push_back(rank(work.values[i]));
    if (n_wanted == kAllThresholds || work.ranks.size() < n_wanted)
        return kEverything;
    auto const wanted = work.ranks.begin() + (n_wanted - 1);
    std::ranges::nth_element(work.ranks, wanted);
    return *wanted;
}

// Finds the prefix without sorting the column: one pass to find the values within a guessed bound, one pass to count.
// False if boundaries are likely to be shorter, or if the guesses come close to taking every value: then sorting is
// better.
bool ValidCandidates::sample(NodeView const& node, PlainView view, std::uint32_t n_wanted, Workspace& work) {
    auto const n = static_cast<double>(node.slots.size());
    double same_class = 0;  // the chance that two rows agree, were values and labels independent
    for (Count const n_y : node.totals) {
        double const share = static_cast<double>(n_y) / static_cast<double>(sum(node.totals));
        same_class += share * share;
    }
    if (are_boundaries_shorter((1 - same_class) * n, n_wanted, n))
        return false;
    for (double n_cuts = 1.5 * n_wanted / (1 - same_class) + 2; n_cuts < n / 2; n_cuts *= 4) {
        bound_ = static_cast<std::uint64_t>(n_cuts / n * 0x1p64);
        work.values.clear();
        for (Slot const slot : node.slots)
            if (Value const value = view(slot); rank(value) <= bound_ && value != kMissing)
                work.values.push_back(value);
        work.values.note_size();
        std::ranges::sort(work.values);
        work.values.erase(std::ranges::unique(work.values).begin(), work.values.end());
        start(work.values);
        for (std::size_t i = 0; i < node.slots.size(); ++i) {
            Value const value = view(node.slots[i]);
            count(first_not_below(work.values, value), value, node.votes[i]);
        }
        if (n_valid() >= n_wanted) {
            tighten(n_wanted, work);
            return true;
        }
    }
    bound_ = kEverything;
    return false;
}

// Lowers the bound to the n_wanted-th valid candidate, of which there are at least as many.
void ValidCandidates::tighten(std::uint32_t n_wanted, Workspace& work) {
    work.ranks.clear();
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut)
        if (is_valid(cut))
            work.ranks.push_back(rank(cuts_[cut].value));
    auto const wanted = work.ranks.begin() + (n_wanted - 1);
    std::ranges::nth_element(work.ranks, wanted);
    bound_ = *wanted;
    drop_cuts([this](std::size_t cut) { return rank(cuts_[cut].value) > bound_; });
}

// Cuts at these values, with no rows counted yet.
void ValidCandidates::start(std::span<Value const> cut_values) {
    cuts_.clear();
    cuts_.reserve(cut_values.size());
    for (Value const value : cut_values)
        cuts_.push_back({value, kNoValue});
    counts_.assign(cuts_.size() * kParts * n_classes_, 0);
}

// Counts a row at a value whose first cut not below it is `cut`.
void ValidCandidates::count(std::size_t cut, Value value, Vote vote) {
    if (cut < cuts_.size()) {
        counts(cut, kBucket)[vote.label] += vote.weight;
        if (cuts_[cut].value == value)
            counts(cut, kAt)[vote.label] += vote.weight;
    }
    if (cut == 0)
        return;
    Cut& below = cuts_[cut - 1];
    if (value < below.next) {
        below.next = value;
        std::ranges::fill(counts(cut - 1, kAtNext), Count{0});
    }
    if (value == below.next)
        counts(cut - 1, kAtNext)[vote.label] += vote.weight;
}

void ValidCandidates::remove(Value value, Vote vote) {
    std::size_t const cut = first_cut_from(value);
    if (cut < cuts_.size()) {
        counts(cut, kBucket)[vote.label] -= vote.weight;
        if (cuts_[cut].value == value)
            counts(cut, kAt)[vote.label] -= vote.weight;
    }
    if (cut > 0 && cuts_[cut - 1].next == value)
        counts(cut - 1, kAtNext)[vote.label] -= vote.weight;
}

// False if the value is a new one within the bound: its bucket cannot be told from the others'.
bool ValidCandidates::add_to_prefix(Value value, Vote vote) {
    std::size_t const cut = first_cut_from(value);
    bool const is_known = cut < cuts_.size() && cuts_[cut].value == value;
    if (!is_known && value != kMissing && rank(value) <= bound_)
        return false;
    count(cut, value, vote);
    return true;
}

// False unless the row leaves its run what it is: of one class, or a single value.
bool ValidCandidates::add_to_run(Value value, Vote vote) {
    std::size_t const cut = first_cut_from(value);
    bool const is_first_run = cut == 0;
    if (!is_first_run && value < cuts_[cut - 1].next)
        return false;  // between a candidate and its next value
    // A value of the run, and the rows there: all rows of a run of several values are of the class of these.
    Value const known = is_first_run ? cuts_.front().value : cuts_[cut - 1].next;
    auto const at_known = is_first_run ? counts(0, kAt) : counts(cut - 1, kAtNext);
    bool const is_of_one_class = is_pure(at_known) && at_known[vote.label] > 0;
    bool const is_single_value =
        !is_pure(at_known) || (!is_first_run && cut < cuts_.size() && cuts_[cut].value == known);
    if (!is_of_one_class && !(is_single_value && value == known))
        return false;
    count(cut, value, vote);
    return true;
}

// Whether the boundaries are known once the rows are counted: not if a value beside one of them lost its last row,
// which makes neighbours of others.
bool ValidCandidates::update_boundaries() {
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut)
        if (all_zero(counts(cut, kAt)) || all_zero(counts(cut, kAtNext)))
            return false;
    drop_cuts([this](std::size_t cut) { return !is_valid(cut); });
    return !cuts_.empty();
}

bool ValidCandidates::update(Dataset const& data, Changes const& changes, SampleSize const& size) {
    for (Slot const slot : changes.removed)
        remove(data.value(slot, attribute_), data.vote(slot));
    for (Slot const slot : changes.added) {
        Value const value = data.value(slot, attribute_);
        if (!(are_boundaries_ ? add_to_run(value, data.vote(slot)) : add_to_prefix(value, data.vote(slot))))
            return false;
    }
    if (are_boundaries_)
        return update_boundaries();
    if (!settle_nexts())
        return false;
    drop_cuts([this](std::size_t cut) { return all_zero(counts(cut, kAt)); });  // values without rows are no cuts
    return is_of_use(size);
}

// A prefix that ran dry does not know the sample; one that has grown too long wastes memory and time.
bool ValidCandidates::is_of_use(SampleSize const& size) const {
    if (bound_ == kEverything && (cuts_.empty() || cuts_.front().next == kNoValue))
        return false;  // constant
    if (size.n_thresholds == kAllThresholds)
        return true;
    std::size_t const n = n_valid();
    std::size_t const n_too_many = 4 * (std::size_t{size.n_thresholds} + size.reserve) + 16;
    return (bound_ == kEverything || n >= size.n_thresholds) && n <= n_too_many;
}

// Finds the next value of cuts whose next value lost its last row. It is known if that value was a cut itself: then it
// is the next value of that one. False if it is not known.
bool ValidCandidates::settle_nexts() {
    for (std::size_t cut = cuts_.size(); cut-- > 0;) {
        auto const is_lost = [this](std::size_t i) {
            return cuts_[i].next != kNoValue && all_zero(counts(i, kAtNext));
        };
        if (is_lost(cut) && cut + 1 < cuts_.size() && cuts_[cut + 1].value == cuts_[cut].next) {
            cuts_[cut].next = cuts_[cut + 1].next;
            std::ranges::copy(counts(cut + 1, kAtNext), counts(cut, kAtNext).begin());
        }
        // A cut that goes away itself needs no next value, unless the cut below asks for it.
        if (is_lost(cut) && !all_zero(counts(cut, kAt)))
            return false;
    }
    return true;
}

// Drops the cuts for which `is_dropped`; their buckets go to the next cut.
template <typename Predicate>
void ValidCandidates::drop_cuts(Predicate const& is_dropped) {
    std::size_t n_kept = 0;
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
        if (is_dropped(cut)) {
            if (cut + 1 < cuts_.size())
                accumulate(counts(cut + 1, kBucket), counts(cut, kBucket));
            continue;
        }
        if (n_kept < cut) {
            cuts_[n_kept] = cuts_[cut];
            std::copy_n(counts(cut, kBucket).begin(), kParts * n_classes_, counts(n_kept, kBucket).begin());
        }
        ++n_kept;
    }
    erase_tail(cuts_, n_kept);
    counts_.resize(n_kept * kParts * n_classes_);
}

void ValidCandidates::offer_splits(Scoring const& scoring, std::uint32_t n_thresholds, std::optional<Split>& best,
                                   Workspace& work) const {
    std::uint64_t last_rank = kEverything;
    if (n_thresholds != kAllThresholds) {
        work.ranks.clear();
        for (std::size_t cut = 0; cut < cuts_.size(); ++cut)
            if (is_valid(cut))
                work.ranks.push_back(rank(cuts_[cut].value));
        if (work.ranks.size() > n_thresholds) {
            auto const last = work.ranks.begin() + (n_thresholds - 1);
            std::ranges::nth_element(work.ranks, last);
            last_rank = *last;
        }
    }
    work.left.assign(n_classes_, 0);
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
        accumulate(work.left, counts(cut, kBucket));
        if (!is_valid(cut))
            continue;
        std::uint64_t const its_rank = rank(cuts_[cut].value);
        if (its_rank <= last_rank)
            offer({.attribute = attribute_,
                   .threshold = threshold_between(cuts_[cut].value, cuts_[cut].next),
                   .rank = its_rank},
                  work.left, scoring, best);
    }
}

bool ValidCandidates::equals_recount(NodeView const& node, std::uint32_t n_thresholds, Workspace& work) const {
    ValidCandidates recount(attribute_, node.key, n_classes_);
    tabulate(node, attribute_, work);
    recount.bound_ = bound_;
    recount.are_boundaries_ = are_boundaries_;
    recount.fill_from_table(work);
    return cuts_ == recount.cuts_ && counts_ == recount.counts_ && (bound_ == kEverything || n_valid() >= n_thresholds);
}

std::size_t ValidCandidates::memory() const {
    return cuts_.capacity() * sizeof(Cut) + counts_.capacity() * sizeof(Count);
}

void ValidCandidates::widen(std::size_t n_classes) {
    widen_counts(counts_, n_classes_, n_classes);
    n_classes_ = n_classes;
}

}  // namespace deciduous
