// Records of cuts (records.h): the three forms in which valid candidates are remembered beside a pair, and how they
// follow rows that come and go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "candidates.h"
#include "ranks.h"
#include "records.h"
#include "valid_candidates.h"

namespace deciduous {

// The midpoint of two neighbouring values, so that low <= threshold < high.
[[nodiscard]] inline Value threshold_between(Value low, Value high) {
    if (high == kMissing)
        return kInfinity;
    double const middle = (static_cast<double>(to_float(low)) + static_cast<double>(to_float(high))) / 2;
    Value const threshold = to_value(static_cast<float>(middle));
    return threshold < high ? threshold : low;
}

// What is counted at a cut: rows in its bucket, at its value, and at the next value.
enum Part : std::size_t { kBucket, kAt, kAtNext };

// How counts are kept: in words of their own.
struct Wide {
    static constexpr Count kMost[] = {~Count{0}, ~Count{0}, ~Count{0}};
    static std::size_t n_words(std::size_t n_classes) { return 3 * n_classes; }
    static Count get(Word const* counts, std::size_t n_classes, Part part, std::size_t y) {
        return counts[part * n_classes + y];
    }
    static void set(Word* counts, std::size_t n_classes, Part part, std::size_t y, Count count) {
        counts[part * n_classes + y] = count;
    }
};

// Or in 16 bits for buckets and 8 bits for values.
struct Narrow {
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

// A record of cuts: a prefix, or boundaries.
template <typename NClasses, typename Counts>
class Cuts {
public:
    Cuts(NClasses n_classes, Word* record, Ranks const& ranks) : n_classes_(n_classes), words_(record), ranks_(ranks) {}

    [[nodiscard]] static std::size_t words_per_cut(NClasses n_classes) { return 2 + Counts::n_words(n_classes); }

    [[nodiscard]] std::size_t size() const { return words_[2]; }
    [[nodiscard]] bool are_boundaries() const { return record_kind(words_) == RecordKind::boundaries; }
    [[nodiscard]] std::uint64_t bound() const { return words_[3] | std::uint64_t{words_[4]} << 32; }
    void set_bound(std::uint64_t bound) {
        words_[3] = static_cast<Word>(bound);
        words_[4] = static_cast<Word>(bound >> 32);
    }
    [[nodiscard]] Word& value(std::size_t cut) const { return at(cut)[0]; }
    [[nodiscard]] Word& next(std::size_t cut) const { return at(cut)[1]; }
    [[nodiscard]] Count get(std::size_t cut, Part part, std::size_t y) const {
        return Counts::get(at(cut) + 2, n_classes_, part, y);
    }
    void set(std::size_t cut, Part part, std::size_t y, Count count) const {
        Counts::set(at(cut) + 2, n_classes_, part, y, count);
    }

    // False if there is no room for so many.
    bool raise(std::size_t cut, Part part, Vote vote) const {
        Count const count = get(cut, part, vote.label) + vote.weight;
        set(cut, part, vote.label, count);
        return count <= Counts::kMost[part];
    }

    [[nodiscard]] bool is_valid(std::size_t cut) const {
        if (next(cut) == kNoValue)
            return false;
        int n_present = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            n_present += get(cut, kAt, y) + get(cut, kAtNext, y) > 0 ? 1 : 0;
        return n_present > 1;
    }
    [[nodiscard]] std::size_t n_valid() const {
        std::size_t n = 0;
        for (std::size_t cut = 0; cut < size(); ++cut)
            n += is_valid(cut) ? 1 : 0;
        return n;
    }

    void offer(BestSplit& best, Workspace& work) const {
        work.left.assign(n_classes_, 0);
        for (std::size_t cut = 0; cut < size(); ++cut) {
            for (std::size_t y = 0; y < n_classes_; ++y)
                work.left[y] += get(cut, kBucket, y);
            if (is_sampled(cut))
                best.offer(
                    n_classes_, record_attribute(words_), work.left.data(), [&] { return ranks_(value(cut)); },
                    [&] { return threshold_between(value(cut), next(cut)); });
        }
    }

    [[nodiscard]] bool is_sampled(std::size_t cut) const { return (mask()[cut / 32] >> (cut % 32) & 1) != 0; }

    // Decides which cuts are in the sample; how many are valid.
    std::size_t sample(std::uint32_t n_thresholds, Workspace& work) const {
        std::fill_n(mask(), words_[5], Word{0});
        work.ranks.clear();
        for (std::size_t cut = 0; cut < size(); ++cut)
            if (is_valid(cut)) {
                mask()[cut / 32] |= Word{1} << (cut % 32);
                work.ranks.push_back(ranks_(value(cut)));
            }
        std::size_t const n_valid = work.ranks.size();
        std::uint64_t const last_rank = last_wanted(work.ranks, n_thresholds);
        if (last_rank != kEverything)
            for (std::size_t cut = 0; cut < size(); ++cut)
                if (ranks_(value(cut)) > last_rank)
                    mask()[cut / 32] &= ~(Word{1} << (cut % 32));
        return n_valid;
    }

    [[nodiscard]] bool update(Dataset const& data, Changes const& changes, SampleSize const& sample_size,
                              Workspace& work) {
        Attribute const attribute = record_attribute(words_);
        for (ChangedRow const& row : changes.removed)
            remove(row.value(data, attribute), row.vote);
        if (record_kind(words_) == RecordKind::sample)
            return false;  // settled by the rows, which count what was added, too
        for (ChangedRow const& row : changes.added) {
            Value const its_value = row.value(data, attribute);
            if (!(are_boundaries() ? add_to_run(its_value, row.vote) : add_to_prefix(its_value, row.vote)))
                return false;
        }
        if (!may_differ_)
            return true;
        if (are_boundaries()) {
            if (!update_boundaries())
                return false;
        } else {
            if (!settle_nexts())
                return false;
            // Values without rows are no cuts.
            drop([this](std::size_t cut) { return all_zero(cut, kAt); });
        }
        return is_of_use(sample(sample_size.n_thresholds, work), sample_size);
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

    // Drops the cuts that are no candidates any more.
    void drop_invalid() {
        drop([this](std::size_t cut) { return all_zero(cut, kAt) || !is_valid(cut); });
    }

    [[nodiscard]] std::uint64_t rank(Value its_value) const { return ranks_(its_value); }

    // Makes the record a sample, if that is shorter.
    void shorten(std::uint32_t n_wanted, std::uint32_t n_thresholds, Workspace& work) {
        work.ranks.clear();
        for (std::size_t cut = 0; cut < size(); ++cut)
            if (is_valid(cut))
                work.ranks.push_back(ranks_(value(cut)));
        if (work.ranks.size() < n_wanted || size() == n_wanted)
            return;
        set_bound(nth_lowest(work.ranks, n_wanted));
        drop([this](std::size_t cut) { return !is_valid(cut) || ranks_(value(cut)) > bound(); });
        words_[0] = record_tag(RecordKind::sample, record_attribute(words_)) | (words_[0] & kNarrow);
        Word const* const cuts = at(0);
        words_[5] = static_cast<Word>((size() + 31) / 32);
        std::copy_n(cuts, size() * words_per_cut(n_classes_), at(0));
        words_[1] = static_cast<Word>(at(size()) - words_);
        sample(n_thresholds, work);
    }

private:
    [[nodiscard]] Word* mask() const { return words_ + kValidHeader; }
    [[nodiscard]] Word* at(std::size_t cut) const {
        return words_ + kValidHeader + words_[5] + cut * words_per_cut(n_classes_);
    }

    [[nodiscard]] bool all_zero(std::size_t cut, Part part) const {
        Count any = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            any |= get(cut, part, y);
        return any == 0;
    }

    void remove(Value row_value, Vote vote) {
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

    Count lower(std::size_t cut, Part part, Vote vote) const {
        Count const count = get(cut, part, vote.label) - vote.weight;
        set(cut, part, vote.label, count);
        return count;
    }

    // Counts a row at a value whose first cut not below it is `cut`; false if there is no room for it.
    [[nodiscard]] bool count(std::size_t cut, Value row_value, Vote vote) {
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

    // False if the value is a new one within the bound: its bucket cannot be told from the others'.
    [[nodiscard]] bool add_to_prefix(Value row_value, Vote vote) {
        std::size_t const cut = first_cut_from(row_value);
        bool const is_known = cut < size() && value(cut) == row_value;
        if (!is_known && row_value != kMissing && ranks_(row_value) <= bound())
            return false;
        return count(cut, row_value, vote);
    }

    // False unless the row leaves its run what it is: of one class, or a single value.
    [[nodiscard]] bool add_to_run(Value row_value, Vote vote) {
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
    // which makes neighbours of others.
    [[nodiscard]] bool update_boundaries() {
        for (std::size_t cut = 0; cut < size(); ++cut)
            if (all_zero(cut, kAt) || all_zero(cut, kAtNext))
                return false;
        drop([this](std::size_t cut) { return !is_valid(cut); });
        return true;
    }

    // A prefix that ran dry does not know the sample; one that has grown too long wastes memory and time.
    [[nodiscard]] bool is_of_use(std::size_t n_valid, SampleSize const& sample_size) const {
        if (are_boundaries())
            return n_valid > 0;
        std::size_t const n_too_many = 4 * (std::size_t{sample_size.n_thresholds} + sample_size.reserve) + 16;
        return n_valid >= sample_size.n_thresholds && n_valid <= n_too_many;
    }

    // Finds the next value of cuts whose next value lost its last row. It is known if that value was a cut itself: then
    // it is the next value of that one. False if it is not known.
    [[nodiscard]] bool settle_nexts() const {
        for (std::size_t cut = size(); cut-- > 0;) {
            auto const is_lost = [this](std::size_t i) { return next(i) != kNoValue && all_zero(i, kAtNext); };
            if (is_lost(cut) && cut + 1 < size() && value(cut + 1) == next(cut)) {
                next(cut) = next(cut + 1);
                for (std::size_t y = 0; y < n_classes_; ++y)
                    set(cut, kAtNext, y, get(cut + 1, kAtNext, y));
            }
            // A cut that goes away itself needs no next value, unless the cut below asks for it.
            if (is_lost(cut) && !all_zero(cut, kAt))
                return false;
        }
        return true;
    }

    // Drops the cuts for which `is_dropped`; their buckets go to the next cut.
    template <typename Predicate>
    void drop(Predicate const& is_dropped) {
        std::size_t n_kept = 0;
        for (std::size_t cut = 0; cut < size(); ++cut) {
            if (is_dropped(cut)) {
                if (cut + 1 < size())
                    for (std::size_t y = 0; y < n_classes_; ++y)
                        set(cut + 1, kBucket, y, get(cut + 1, kBucket, y) + get(cut, kBucket, y));
                continue;
            }
            if (n_kept < cut)
                std::copy_n(at(cut), words_per_cut(n_classes_), at(n_kept));
            ++n_kept;
        }
        std::fill(at(n_kept), at(size()), Word{0});
        words_[2] = static_cast<Word>(n_kept);
    }

    NClasses n_classes_;
    Word* words_;
    Ranks ranks_;
    bool may_differ_ = false;
};

// Calls the function with the cuts of a record.
template <typename NClasses, typename Function>
decltype(auto) with_cuts(NClasses n_classes, Word* record, Key node, Function&& function) {
    Ranks const ranks(node, record_attribute(record));
    if (is_narrow(record))
        return function(Cuts<NClasses, Narrow>(n_classes, record, ranks));
    return function(Cuts<NClasses, Wide>(n_classes, record, ranks));
}

template <typename A, typename B>
bool are_equal(std::size_t n_classes, A const& a, B const& b) {
    if (a.size() != b.size())
        return false;
    for (std::size_t cut = 0; cut < a.size(); ++cut) {
        if (a.value(cut) != b.value(cut) || a.next(cut) != b.next(cut) || a.is_sampled(cut) != b.is_sampled(cut))
            return false;
        for (Part const part : {kBucket, kAt, kAtNext})
            for (std::size_t y = 0; y < n_classes; ++y)
                if (a.get(cut, part, y) != b.get(cut, part, y))
                    return false;
    }
    return true;
}

}  // namespace deciduous
