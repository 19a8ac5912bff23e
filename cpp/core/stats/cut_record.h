// The record of an attribute with valid candidates, and how it follows rows that come and go. It has one of two forms.
//
// *Prefix*: all cuts within a bound, valid or not. A cut is the place above or below a marked value (ranks.h), within
// the bound if its rank is: the value *owns* it. A new valid candidate is either one of them, and becomes valid before
// our eyes, or beyond the bound and rightly ignored.
//
// *Boundaries*: all valid candidates and nothing else. The values between two of them, a *run*, are of one class, or
// the run is a single value. So a row that comes to or leaves a run of its own class changes no candidate. This is the
// form for rare classes, and for attributes that separate the classes well, where few candidates are valid and a prefix
// would have to hold almost every value.
//
// Words: head · number of cuts · bound · words of the mask · dominant class · mask · cuts. The mask has a bit for each
// cut: whether it is in the sample. A cut is: its value · the next value · rows per class in its bucket, at the value,
// and at the next value. The *bucket* of a cut are the rows above the previous cut and at or below this one: a row that
// comes or goes changes one bucket, and the rows left of a cut are a running sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/params.h"
#include "base/wiped.h"
#include "data/changes.h"
#include "split/candidates.h"
#include "split/n_classes.h"
#include "split/ranks.h"
#include "split/scan.h"
#include "split/validity.h"
#include "stats/record.h"

namespace deciduous {

// What is counted at a cut: rows in its bucket, at its value, and at the next value.
enum Part : std::size_t { kBucket, kAt, kAtNext };

// How counts are kept: in words of their own. They always fit, as all rows of a forest weigh less than kMaxRows.
struct WideCounts {
    static constexpr Count kMost[] = {~Count{0}, ~Count{0}, ~Count{0}};
    static std::size_t n_words(std::size_t n_classes) { return 3 * n_classes; }
    static Count get(Word const* counts, std::size_t n_classes, Part part, std::size_t y) {
        return counts[part * n_classes + y];
    }
    static void set(Word* counts, std::size_t n_classes, Part part, std::size_t y, Count count) {
        counts[part * n_classes + y] = count;
    }
};

// Or in 16 bits for buckets and 8 bits for values. A record is made so only if all of its counts fit. They may outgrow
// that room later, when rows come, and when the bucket of a cut that goes away is added to that of the next one:
// `CutRecord::store` sees it, and the record is made again from the rows.
struct NarrowCounts {
    static constexpr Count kMost[] = {65535, 255, 255};
    static std::size_t n_words(std::size_t n_classes) { return n_classes; }
    static Count get(Word const* counts, std::size_t n_classes, Part part, std::size_t y) {
        auto const* const bytes = reinterpret_cast<std::uint8_t const*>(counts);
        if (part != kBucket)
            return bytes[(part + 1) * n_classes + y];
        std::uint16_t count = 0;
        std::memcpy(&count, bytes + 2 * y, sizeof count);
        return count;
    }
    static void set(Word* counts, std::size_t n_classes, Part part, std::size_t y, Count count) {
        auto* const bytes = reinterpret_cast<std::uint8_t*>(counts);
        if (part != kBucket) {
            bytes[(part + 1) * n_classes + y] = static_cast<std::uint8_t>(count);
            return;
        }
        auto const narrow = static_cast<std::uint16_t>(count);
        std::memcpy(bytes + 2 * y, &narrow, sizeof narrow);
    }
};

template <typename NClasses, typename Counts>
class CutRecord {
public:
    CutRecord(NClasses n_classes, Word* record, Ranks const& ranks)
        : n_classes_(n_classes), words_(record), ranks_(ranks) {}

    [[nodiscard]] static std::size_t words_per_cut(NClasses n_classes) { return 2 + Counts::n_words(n_classes); }

    [[nodiscard]] std::size_t size() const { return words_[kSize]; }
    [[nodiscard]] bool are_boundaries() const { return record_kind(words_) == RecordKind::boundaries; }
    [[nodiscard]] Rank bound() const { return words_[kBound]; }
    [[nodiscard]] Word& value(std::size_t cut) const { return at(cut)[0]; }
    [[nodiscard]] Word& next(std::size_t cut) const { return at(cut)[1]; }
    [[nodiscard]] Count get(std::size_t cut, Part part, std::size_t y) const {
        return Counts::get(at(cut) + 2, n_classes_, part, y);
    }

    // Sets a count that is known to fit, being one that fitted, or less.
    void set(std::size_t cut, Part part, std::size_t y, Count count) const {
        Counts::set(at(cut) + 2, n_classes_, part, y, count);
    }

    // Sets any other count. False if there is no room for so many: the record is of no use then.
    [[nodiscard]] bool store(std::size_t cut, Part part, std::size_t y, Count count) const {
        set(cut, part, y, count);
        return count <= Counts::kMost[part];
    }
    [[nodiscard]] bool raise(std::size_t cut, Part part, WeightedLabel vote) const {
        return store(cut, part, vote.label, get(cut, part, vote.label) + vote.weight);
    }

    [[nodiscard]] bool is_valid(std::size_t cut) const {
        return value(cut) != kNoLower && next(cut) != kNoValue && is_valid_candidate(n_classes_, [&](std::size_t y) {
                   return (get(cut, kAt, y) | get(cut, kAtNext, y)) != 0;
               });
    }

    [[nodiscard]] Rank rank(std::size_t cut) const {
        return ranks_.between(is_marked(cut, kAt), value(cut), next(cut));
    }

    // Appends the sampled candidates.
    void offer(Candidates& candidates, std::vector<Count>& scratch) const {
        if constexpr (std::is_same_v<NClasses, TwoClasses>) {
            std::array<Count, 2> sums{};  // which stay in registers
            offer(candidates, sums);
        } else {
            scratch.assign(n_classes_, 0);
            offer(candidates, std::span(scratch));
        }
    }

    [[nodiscard]] bool is_sampled(std::size_t cut) const { return (mask()[cut / 32] >> (cut % 32) & 1) != 0; }

    // Decides which cuts are in the sample; how many are valid.
    std::size_t sample(std::uint32_t n_thresholds, ScanScratch& scratch) const {
        std::fill_n(mask(), words_[kMaskWords], Word{0});
        auto& ranks = scratch.valid_ranks;
        ranks.clear();
        for (std::size_t cut = 0; cut < size(); ++cut)
            if (is_valid(cut) && rank(cut) <= bound()) {
                mask()[cut / 32] |= Word{1} << (cut % 32);
                ranks.push_back(to_ordered(rank(cut)));
            }
        std::size_t const n_valid = ranks.size();
        Rank const last_rank = last_wanted(ranks, n_thresholds);
        if (last_rank != kEverything)
            for (std::size_t cut = 0; cut < size(); ++cut)
                if (is_sampled(cut) && rank(cut) > last_rank)
                    mask()[cut / 32] &= ~(Word{1} << (cut % 32));
        return n_valid;
    }

    // Whether the candidates are known after the changes. If not, the record is of no use.
    [[nodiscard]] bool update(Dataset const& data, Changes const& changes, std::uint32_t n_thresholds,
                              std::uint32_t reserve, ScanScratch& scratch) {
        Attribute const attribute = record_attribute(words_);
        for (ChangedRow const& row : changes.removed)
            remove(row.value(data, attribute), row.vote);
        for (ChangedRow const& row : changes.added) {
            Value const its_value = row.value(data, attribute);
            if (!(are_boundaries() ? add_to_run(its_value, row.vote) : add_to_prefix(its_value, row.vote)))
                return false;
        }
        if (!may_differ_)
            return true;
        if (!(are_boundaries() ? update_boundaries() : update_prefix(scratch)))
            return false;
        return is_of_use(sample(n_thresholds, scratch), n_thresholds, reserve);
    }

    [[nodiscard]] std::size_t first_cut_from(Value row_value) const {
        std::size_t begin = 0;
        for (std::size_t n = size(); n > 0;) {
            std::size_t const half = (n + 1) / 2;
            begin += value(begin + half - 1) < row_value ? half : 0;
            n -= half;
        }
        return begin;
    }

    // Writes cuts that were found into a record of this size and kind, all words of which are 0 yet.
    void write(FoundCuts const& found) const {
        words_[kSize] = static_cast<Word>(found.size());
        words_[kBound] = found.bound;
        words_[kMaskWords] = static_cast<Word>(n_mask_words(found.size()));
        words_[kDominant] = ranks_.dominant();
        for (std::size_t cut = 0; cut < found.size(); ++cut) {
            value(cut) = found[cut].value;
            next(cut) = found[cut].next;
            for (std::size_t y = 0; y < n_classes_; ++y) {
                set(cut, kBucket, y, found.left(cut)[y] - (cut == 0 ? 0 : found.left(cut - 1)[y]));
                set(cut, kAt, y, found.at(cut)[y]);
                set(cut, kAtNext, y, found.at_next(cut)[y]);
            }
            Word const is_sampled_one = found[cut].rank <= found.last_sampled && is_valid(cut) ? 1 : 0;
            mask()[cut / 32] |= is_sampled_one << (cut % 32);
        }
    }

    [[nodiscard]] static std::size_t length(NClasses n_classes, std::size_t n_cuts) {
        return kHead + n_mask_words(n_cuts) + n_cuts * words_per_cut(n_classes);
    }

    // Whether it has these cuts.
    [[nodiscard]] bool equals(FoundCuts const& found) const {
        bool is_equal = size() == found.size();
        for (std::size_t cut = 0; is_equal && cut < size(); ++cut) {
            is_equal = value(cut) == found[cut].value && next(cut) == found[cut].next;
            for (std::size_t y = 0; y < n_classes_; ++y) {
                Count const bucket = found.left(cut)[y] - (cut == 0 ? 0 : found.left(cut - 1)[y]);
                is_equal = is_equal && get(cut, kBucket, y) == bucket && get(cut, kAt, y) == found.at(cut)[y] &&
                           get(cut, kAtNext, y) == found.at_next(cut)[y];
            }
        }
        return is_equal;
    }

private:
    enum Place : std::size_t { kSize = kRecordHead, kBound, kMaskWords, kDominant, kHead };

    template <typename Sums>
    void offer(Candidates& candidates, Sums sums) const {
        Attribute const attribute = record_attribute(words_);
        candidates.append_some(n_classes_, size(), [&](std::size_t cut, Candidate& its, Count* left) {
            for (std::size_t y = 0; y < n_classes_; ++y)
                left[y] = sums[y] += get(cut, kBucket, y);
            its.attribute = attribute;
            its.value = value(cut);
            its.next = next(cut);
            its.rank = is_marked(cut, kAt) ? 1 : 0;
            return is_sampled(cut);
        });
    }

    [[nodiscard]] static std::size_t n_mask_words(std::size_t n_cuts) { return (n_cuts + 31) / 32; }
    [[nodiscard]] Word* mask() const { return words_ + kHead; }
    [[nodiscard]] Word* at(std::size_t cut) const {
        return words_ + kHead + words_[kMaskWords] + cut * words_per_cut(n_classes_);
    }

    [[nodiscard]] bool is_marked(std::size_t cut, Part part) const {
        return ranks_.is_marked(n_classes_, [&](std::size_t y) { return get(cut, part, y) != 0; });
    }

    // Whether the lower value of a cut, or the higher one, owns it.
    [[nodiscard]] bool is_owned_by_lower(std::size_t cut) const {
        return is_marked(cut, kAt) && ranks_.above(value(cut)) <= bound();
    }
    [[nodiscard]] bool is_owned_by_higher(std::size_t cut) const {
        return !ranks_.are_all_marked() && is_marked(cut, kAtNext) && ranks_.below(next(cut)) <= bound();
    }
    [[nodiscard]] bool is_owned(std::size_t cut) const { return is_owned_by_lower(cut) || is_owned_by_higher(cut); }

    [[nodiscard]] bool all_zero(std::size_t cut, Part part) const {
        Count any = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            any |= get(cut, part, y);
        return any == 0;
    }

    void remove(Value row_value, WeightedLabel vote) {
        std::size_t const cut = first_cut_from(row_value);
        if (cut < size()) {
            lower(cut, kBucket, vote);
            if (value(cut) == row_value)
                may_differ_ |= lower(cut, kAt, vote) == 0;
        }
        // Which candidates there are, and which are valid, can only differ if a class leaves a value or comes to one.
        if (cut > 0 && next(cut - 1) == row_value)
            may_differ_ |= lower(cut - 1, kAtNext, vote) == 0;
    }

    Count lower(std::size_t cut, Part part, WeightedLabel vote) const {
        Count const count = get(cut, part, vote.label) - vote.weight;
        set(cut, part, vote.label, count);
        return count;
    }

    // Counts a row at a value whose first cut not below it is `cut`; false if there is no room for it.
    [[nodiscard]] bool count(std::size_t cut, Value row_value, WeightedLabel vote) {
        may_differ_ = true;
        bool has_room = true;
        if (cut < size()) {
            has_room = raise(cut, kBucket, vote);
            if (value(cut) == row_value)
                has_room = raise(cut, kAt, vote) && has_room;
        }
        if (cut == 0)
            return has_room;
        if (row_value < next(cut - 1)) {
            next(cut - 1) = row_value;
            for (std::size_t y = 0; y < n_classes_; ++y)
                set(cut - 1, kAtNext, y, 0);
        }
        if (row_value == next(cut - 1))
            has_room = raise(cut - 1, kAtNext, vote) && has_room;
        return has_room;
    }

    // False if the row brings a cut within the bound that is not there: its bucket cannot be told from the others'.
    [[nodiscard]] bool add_to_prefix(Value row_value, WeightedLabel vote) {
        std::size_t const cut = first_cut_from(row_value);
        bool const is_lower_of_cut = cut < size() && value(cut) == row_value;
        bool const is_higher_of_cut = cut > 0 && next(cut - 1) == row_value;
        if (vote.label != ranks_.dominant()) {
            if (!is_lower_of_cut && row_value != kMissing && ranks_.above(row_value) <= bound())
                return false;
            if (!is_higher_of_cut && !ranks_.are_all_marked() && ranks_.below(row_value) <= bound())
                return false;
        }
        bool const parts_cut = cut > 0 && row_value < next(cut - 1);
        if (!parts_cut || !is_owned_by_higher(cut - 1))
            return count(cut, row_value, vote);
        if (is_owned_by_lower(cut - 1))
            return false;  // there are two cuts now
        value(cut - 1) = row_value;
        for (std::size_t y = 0; y < n_classes_; ++y)
            set(cut - 1, kAt, y, 0);
        may_differ_ = true;
        return raise(cut - 1, kBucket, vote) && raise(cut - 1, kAt, vote);
    }

    // False unless the row leaves its run what it is: of one class, or a single value.
    [[nodiscard]] bool add_to_run(Value row_value, WeightedLabel vote) {
        std::size_t const cut = first_cut_from(row_value);
        bool const is_first_run = cut == 0;
        if (!is_first_run && row_value < next(cut - 1))
            return false;  // between a candidate and its next value
        // A value of the run, and the rows there: all rows of a run of several values are of the class of these.
        Value const known = is_first_run ? value(0) : next(cut - 1);
        std::size_t const known_cut = is_first_run ? 0 : cut - 1;
        Part const part = is_first_run ? kAt : kAtNext;
        int n_present = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            n_present += get(known_cut, part, y) > 0 ? 1 : 0;
        bool const is_of_one_class = n_present <= 1 && get(known_cut, part, vote.label) > 0;
        bool const is_single_value = n_present > 1 || (!is_first_run && cut < size() && value(cut) == known);
        if (!is_of_one_class && !(is_single_value && row_value == known))
            return false;
        return count(cut, row_value, vote);
    }

    // Whether the boundaries are known once the rows are counted: not if a value beside one of them lost its last row,
    // which makes neighbours of others, nor if the record has no room for them.
    [[nodiscard]] bool update_boundaries() {
        for (std::size_t cut = 0; cut < size(); ++cut)
            if (all_zero(cut, kAt) || all_zero(cut, kAtNext))
                return false;
        return drop([this](std::size_t cut) { return !is_valid(cut); });
    }

    // Cuts that nobody owns any more go away, and those that became the same are one.
    [[nodiscard]] bool update_prefix(ScanScratch& scratch) {
        settle_ends(scratch.is_linked);
        for (std::size_t cut = 0; cut < size(); ++cut)
            if ((is_owned_by_lower(cut) && has_lost(cut, kAtNext)) || (is_owned_by_higher(cut) && has_lost(cut, kAt)))
                return false;
        Value last_kept = kNoValue;
        return drop([&, this](std::size_t cut) {
            if (!is_owned(cut) || value(cut) == last_kept)
                return true;
            last_kept = value(cut);
            return false;
        });
    }

    // A prefix that ran dry does not know the sample; one that has grown too long wastes memory and time.
    [[nodiscard]] bool is_of_use(std::size_t n_valid, std::uint32_t n_thresholds, std::uint32_t reserve) const {
        if (are_boundaries())
            return n_valid > 0;
        std::size_t const n_too_many = 4 * (std::size_t{n_thresholds} + reserve) + 16;
        return n_valid >= n_thresholds && n_valid <= n_too_many;
    }

    // Whether there was a value, all rows of which are gone.
    [[nodiscard]] bool has_lost(std::size_t cut, Part part) const {
        bool const has_value = part == kAt ? value(cut) != kNoLower : next(cut) != kNoValue;
        return has_value && all_zero(cut, part);
    }

    // Finds values in the place of those that lost their last row, as far as other cuts tell: where the next value of a
    // cut is the value of the following one, each knows what is beyond the other's.
    void settle_ends(std::vector<std::uint8_t>& is_linked) const {
        is_linked.assign(size() + 1, 0);
        for (std::size_t cut = 1; cut < size(); ++cut)
            is_linked[cut] = next(cut - 1) == value(cut) ? 1 : 0;
        for (std::size_t cut = size(); cut-- > 0;)
            if (has_lost(cut, kAtNext) && is_linked[cut + 1] != 0) {
                next(cut) = next(cut + 1);
                copy_counts(cut + 1, cut, kAtNext);
            }
        for (std::size_t cut = 1; cut < size(); ++cut)
            if (has_lost(cut, kAt) && is_linked[cut] != 0) {
                value(cut) = value(cut - 1);
                copy_counts(cut - 1, cut, kAt);
            }
    }

    void copy_counts(std::size_t from, std::size_t to, Part part) const {
        for (std::size_t y = 0; y < n_classes_; ++y)
            set(to, part, y, get(from, part, y));
    }

    // Drops the cuts for which `is_dropped`; their buckets go to the next cut. False if there is no room for them
    // there.
    template <typename Predicate>
    [[nodiscard]] bool drop(Predicate const& is_dropped) {
        bool has_room = true;
        std::size_t n_kept = 0;
        for (std::size_t cut = 0; cut < size(); ++cut) {
            if (is_dropped(cut)) {
                if (cut + 1 < size())
                    for (Label y = 0; y < n_classes_; ++y)
                        has_room = raise(cut + 1, kBucket, {y, get(cut, kBucket, y)}) && has_room;
                continue;
            }
            if (n_kept < cut)
                std::copy_n(at(cut), words_per_cut(n_classes_), at(n_kept));
            ++n_kept;
        }
        std::fill(at(n_kept), at(size()), Word{0});
        words_[kSize] = static_cast<Word>(n_kept);
        return has_room;
    }

    NClasses n_classes_;
    Word* words_;
    Ranks ranks_;
    bool may_differ_ = false;
};

// The dominant class of a node for which a record of cuts was made.
[[nodiscard]] inline Label dominant_of_cuts(Word const* record) {
    constexpr std::size_t kDominant = kRecordHead + 3;
    return record[kDominant];
}

// Calls the function with a record of cuts.
template <typename NClasses, typename Function>
decltype(auto) with_cuts(NClasses n_classes, Word* record, Ranks const& ranks, Function&& function) {
    if (is_narrow(record))
        return function(CutRecord<NClasses, NarrowCounts>(n_classes, record, ranks));
    return function(CutRecord<NClasses, WideCounts>(n_classes, record, ranks));
}

}  // namespace deciduous
