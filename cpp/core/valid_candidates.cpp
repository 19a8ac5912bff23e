#include "valid_candidates.h"

#include <algorithm>
#include <array>

#include "cuts.h"
#include "impurity.h"
#include "kernels.h"
#include "pairs.h"
#include "table.h"

namespace deciduous {

namespace {

// Looking up this many candidates takes about as long as sorting the rows: some, and one more for so many rows.
constexpr std::size_t kLookUps = 48;
constexpr std::size_t kRowsPerLookUp = 8;

// Whether rows with these class counts, taken together, have more than one class.
template <typename NClasses>
bool are_mixed(NClasses n_classes, Count const* a, Count const* b) {
    int n_present = 0;
    for (std::size_t y = 0; y < n_classes; ++y)
        n_present += a[y] + b[y] > 0 ? 1 : 0;
    return n_present > 1;
}

template <typename NClasses>
void accumulate(NClasses n_classes, Count* sums, Count const* counts) {
    for (std::size_t y = 0; y < n_classes; ++y)
        sums[y] += counts[y];
}

// Whether all valid candidates are fewer than the values in a prefix with n_wanted of them, which is that share of all
// values.
bool are_boundaries_shorter(double n_valid, std::uint32_t n_wanted, double n_values) {
    return n_valid * n_valid < n_wanted * n_values;
}

template <typename NClasses>
void offer_valid_pair(NClasses n_classes, Attribute attribute, TwoValued values, Count const* at_high,
                      Ranks const& ranks, BestSplit& best, Workspace& work) {
    offer_pair(
        n_classes, attribute, at_high, best, work, [&] { return ranks(values.low); },
        [&] { return threshold_between(values.low, values.high); });
}

template <typename NClasses>
class Scan {
    using WideCuts = Cuts<NClasses, Wide>;

public:
    Scan(NClasses n_classes, NodeView const& node, Attribute attribute, Workspace& work)
        : n_classes_(n_classes), node_(node), attribute_(attribute), work_(work), ranks_(node.key, attribute) {}

    bool run(SampleSize const& size, BestSplit& best, WipedVector<Word>* records) {
        if (auto const values = count_two_valued(node_, attribute_, work_))
            return take_pair(*values, best, records);
        Column const* const column = node_.data.numeric_column(attribute_);
        bool const may_sample = size.n_thresholds != kAllThresholds && !column->is_coded() && !node_.by_class.empty();
        if (may_sample && sample(wanted(size, records != nullptr), records != nullptr)) {
            offer_found(size.n_thresholds, best);
            if (records != nullptr)
                append_found(size, *records);
            return true;
        }
        tabulate(node_, attribute_, work_);
        return take_table(size, best, records);
    }

    // Whether the cuts of a sample, from which removed rows were taken, are known without a scan.
    template <typename Counts>
    bool settle(Cuts<NClasses, Counts> cuts, Changes const& changes, SampleSize const& size) {
        constexpr std::size_t kMostChanges = 8;
        if (node_.by_class.empty() || changes.removed.size() + changes.added.size() > kMostChanges)
            return false;
        gather_by_class();
        for (ChangedRow const& row : changes.added) {
            std::size_t const cut = cuts.first_cut_from(row.value(node_.data, attribute_));
            if (cut < cuts.size() && !cuts.raise(cut, kBucket, row.vote))
                return false;
        }
        for (std::span<ChangedRow const> const rows :
             {std::span<ChangedRow const>(changes.removed), std::span<ChangedRow const>(changes.added)})
            for (ChangedRow const& row : rows)
                if (!settle_around(cuts, row.value(node_.data, attribute_)))
                    return false;
        cuts.drop_invalid();
        return cuts.sample(size.n_thresholds, work_) >= size.n_thresholds;
    }

    // A record of this kind and bound from the rows of the node.
    void record_again(RecordKind kind, std::uint64_t bound) {
        tabulate(node_, attribute_, work_);
        work_.record.clear();
        append_cuts(kind, bound, work_.values.size(), work_.record);
    }

private:
    static std::uint32_t wanted(SampleSize const& size, bool is_recorded) {
        if (size.n_thresholds == kAllThresholds)
            return kAllThresholds;
        return size.n_thresholds + (is_recorded ? size.reserve : 0);
    }

    // The rows at the higher value are in work.at_high.
    bool take_pair(TwoValued values, BestSplit& best, WipedVector<Word>* records) {
        Count n_high = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            n_high += work_.at_high[y];
        if (n_high == 0 || n_high == best.scoring().n_rows)
            return false;
        offer_valid_pair(n_classes_, attribute_, values, work_.at_high.data(), ranks_, best, work_);
        if (records != nullptr)
            append_pair(attribute_, values, work_.at_high, *records);
        return true;
    }

    bool take_table(SampleSize const& size, BestSplit& best, WipedVector<Word>* records) {
        std::size_t const n_values = work_.values.size();
        if (n_values < 2)
            return false;
        if (n_values == 2) {
            work_.at_high.assign(table(1), table(1) + n_classes_);
            return take_pair({work_.values[0], work_.values[1]}, best, records);
        }
        offer_table(size.n_thresholds, best);
        if (records != nullptr)
            append_table(size, *records);
        return true;
    }

    [[nodiscard]] Count const* table(std::size_t i) const { return work_.value_counts.data() + i * n_classes_; }
    [[nodiscard]] bool is_valid(std::size_t i) const { return are_mixed(n_classes_, table(i), table(i + 1)); }

    // The ranks of the values in the table, and those of the valid candidates once more.
    void rank_table() {
        auto const ranks = ranks_.of(work_.values, work_.hashes);
        work_.ranks.resize(ranks.size());
        std::size_t n = 0;
        for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
            work_.ranks[n] = ranks[i];
            n += is_valid(i) ? 1 : 0;
        }
        work_.ranks.resize(n);
    }

    void offer_table(std::uint32_t n_thresholds, BestSplit& best) {
        std::uint64_t last_rank = kEverything;
        if (n_thresholds != kAllThresholds && work_.values.size() > n_thresholds + 1) {
            rank_table();
            last_rank = last_wanted(work_.ranks, n_thresholds);
        }
        work_.left.assign(n_classes_, 0);
        for (std::size_t i = 0; i + 1 < work_.values.size(); ++i) {
            accumulate(n_classes_, work_.left.data(), table(i));
            if ((last_rank == kEverything || work_.hashes[i] <= last_rank) && is_valid(i))
                best.offer(
                    n_classes_, attribute_, work_.left.data(), [&] { return ranks_(work_.values[i]); },
                    [&] { return threshold_between(work_.values[i], work_.values[i + 1]); });
        }
    }

    void append_table(SampleSize const& size, WipedVector<Word>& records) {
        std::uint32_t const n_wanted = wanted(size, true);
        rank_table();
        std::size_t const n_valid = work_.ranks.size();
        auto const n_values = static_cast<double>(work_.values.size());
        bool const are_boundaries = n_wanted == kAllThresholds || n_valid < n_wanted ||
                                    are_boundaries_shorter(static_cast<double>(n_valid), n_wanted, n_values);
        work_.record.clear();
        if (size.is_short && n_valid > n_wanted && !node_.by_class.empty())
            append_cuts(RecordKind::sample, nth_lowest(work_.ranks, n_wanted), n_wanted, work_.record);
        else if (are_boundaries)
            append_cuts(RecordKind::boundaries, kEverything, n_valid, work_.record);
        else
            append_cuts(RecordKind::prefix, nth_lowest(work_.ranks, n_wanted), work_.values.size(), work_.record);
        work_.record.note_size();
        WideCuts(n_classes_, work_.record.data(), ranks_).sample(size.n_thresholds, work_);
        append_record(records);
    }

    // Appends the record that was made, narrow if its counts allow it.
    void append_record(WipedVector<Word>& records) const {
        WideCuts const wide(n_classes_, work_.record.data(), ranks_);
        if (!fits_narrow(wide)) {
            records.insert(records.end(), work_.record.begin(), work_.record.end());
            return;
        }
        using NarrowCuts = Cuts<NClasses, Narrow>;
        std::size_t const begin = records.size();
        std::size_t const header = kValidHeader + work_.record[5];
        std::size_t const n_words = header + wide.size() * NarrowCuts::words_per_cut(n_classes_);
        records.insert(records.end(), work_.record.begin(), work_.record.begin() + static_cast<std::ptrdiff_t>(header));
        records.resize(begin + n_words, 0);
        records[begin] |= kNarrow;
        records[begin + 1] = static_cast<Word>(n_words);
        NarrowCuts const narrow(n_classes_, records.data() + begin, ranks_);
        for (std::size_t cut = 0; cut < wide.size(); ++cut) {
            narrow.value(cut) = wide.value(cut);
            narrow.next(cut) = wide.next(cut);
            for (Part const part : {kBucket, kAt, kAtNext})
                for (std::size_t y = 0; y < n_classes_; ++y)
                    narrow.set(cut, part, y, wide.get(cut, part, y));
        }
    }

    [[nodiscard]] bool fits_narrow(WideCuts const& cuts) const {
        if (sum(node_.totals) > Narrow::kMost[kBucket])
            return false;
        for (std::size_t cut = 0; cut < cuts.size(); ++cut)
            for (std::size_t y = 0; y < n_classes_; ++y)
                if (std::max(cuts.get(cut, kAt, y), cuts.get(cut, kAtNext, y)) > Narrow::kMost[kAt])
                    return false;
        return true;
    }

    // Whether the i-th value of the table is a cut of such a record.
    [[nodiscard]] bool is_cut(RecordKind kind, std::uint64_t bound, std::size_t i) const {
        bool const is_inside = bound == kEverything || ranks_(work_.values[i]) <= bound;
        if (kind == RecordKind::prefix)
            return is_inside && work_.values[i] != kMissing;
        return is_inside && i + 1 < work_.values.size() && is_valid(i);
    }

    // All cuts of such a record, of which there are not more than n_most.
    template <typename Vector>
    void append_cuts(RecordKind kind, std::uint64_t bound, std::size_t n_most, Vector& records) {
        std::size_t const begin = records.size();
        append_header(kind, n_most, records);
        work_.left.assign(n_classes_, 0);  // rows since the last cut
        std::size_t n_cuts = 0;
        for (std::size_t i = 0; i < work_.values.size(); ++i) {
            accumulate(n_classes_, work_.left.data(), table(i));
            if (!is_cut(kind, bound, i))
                continue;
            bool const is_last = i + 1 == work_.values.size();
            records.push_back(work_.values[i]);
            records.push_back(is_last ? kNoValue : work_.values[i + 1]);
            records.insert(records.end(), work_.left.begin(), work_.left.end());
            records.insert(records.end(), table(i), table(i) + n_classes_);
            if (is_last)
                records.resize(records.size() + n_classes_, 0);
            else
                records.insert(records.end(), table(i + 1), table(i + 1) + n_classes_);
            std::ranges::fill(work_.left, Count{0});
            ++n_cuts;
        }
        finish(records, begin, n_cuts, bound);
    }

    template <typename Vector>
    void append_header(RecordKind kind, std::size_t n_most, Vector& records) const {
        std::size_t const begin = records.size();
        std::size_t const n_mask_words = (n_most + 31) / 32;
        records.resize(begin + kValidHeader + n_mask_words, 0);
        records[begin] = record_tag(kind, attribute_);
        records[begin + 5] = static_cast<Word>(n_mask_words);
    }

    template <typename Vector>
    void finish(Vector& records, std::size_t begin, std::size_t n_cuts, std::uint64_t bound) const {
        records[begin + 1] = static_cast<Word>(records.size() - begin);
        records[begin + 2] = static_cast<Word>(n_cuts);
        WideCuts(n_classes_, records.data() + begin, ranks_).set_bound(bound);
    }

    // Looks candidates up in the rows, in the order of their ranks, until enough of them are valid: no sorting. False
    // if that is likely to take longer than sorting, or if all valid candidates are a shorter record.
    bool sample(std::uint32_t n_wanted, bool is_recorded) {
        auto const n = static_cast<double>(node_.slots.size());
        double same_class = 0;  // the chance that two rows agree, were values and labels independent
        for (Count const n_y : node_.totals) {
            double const share = static_cast<double>(n_y) / n;
            same_class += share * share;
        }
        double const n_expected = n_wanted / (1 - same_class);
        std::size_t const n_most = kLookUps + node_.slots.size() / kRowsPerLookUp;
        if (n_expected > static_cast<double>(n_most) ||
            (is_recorded && are_boundaries_shorter((1 - same_class) * n, n_wanted, n)))
            return false;
        gather_by_class();
        work_.order.start(ranks_.of(work_.gathered, work_.hashes), n_expected);
        work_.found.clear();
        work_.found_counts.clear();
        std::uint32_t n_valid = 0;
        for (std::size_t n_looked = 0; n_valid < n_wanted; ++n_looked) {
            std::size_t const place = work_.order.next();
            if (place == RankOrder::kNone || n_looked == n_most)
                return false;
            Value const value = work_.gathered[place];
            if (value >= kMissing)
                continue;
            n_valid += look_up(value, work_.hashes[place]) ? 1 : 0;
        }
        work_.found.note_size();
        return true;
    }

    // The values of each class, and behind them as many that are none as make vectors full.
    void gather_by_class() {
        constexpr std::size_t kLanes = 16;
        work_.gathered_ends.resize(n_classes_);
        std::size_t n_places = 0;
        for (std::size_t y = 0, begin = 0; y < n_classes_; begin = node_.class_ends[y++]) {
            n_places += (node_.class_ends[y] - begin + kLanes - 1) / kLanes * kLanes;
            work_.gathered_ends[y] = n_places;
        }
        work_.gathered.resize(n_places);
        work_.gathered.note_size();
        node_.data.visit(attribute_, [&](auto view) {
            std::size_t place = 0;
            for (std::size_t y = 0, i = 0; y < n_classes_; ++y) {
                for (; i < node_.class_ends[y]; ++i)
                    work_.gathered[place++] = view(node_.by_class[i]);
                for (; place < work_.gathered_ends[y]; ++place)
                    work_.gathered[place] = kNoValue;
            }
        });
    }

    // The gathered values of a class.
    [[nodiscard]] std::span<Value const> values_of(std::size_t y) const {
        std::size_t const begin = y == 0 ? 0 : work_.gathered_ends[y - 1];
        return std::span(work_.gathered).subspan(begin, work_.gathered_ends[y] - begin);
    }

    // Whether the candidate is valid.
    bool look_up(Value value, std::uint64_t rank) {
        FoundCut cut{value, kNoValue, rank, work_.found_counts.size(), false};
        work_.found_counts.resize(cut.counts + 2 * n_classes_);
        Count* const left = work_.found_counts.data() + cut.counts;
        std::array<Value, Handful::kMaxClasses> nexts;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = values_of(y);
            auto const its = kernels::look_around(value, values.data(), values.size());
            left[y] = its.n_below_or_at;
            left[n_classes_ + y] = its.n_at;
            nexts[y] = its.next;
            cut.next = std::min(cut.next, its.next);
        }
        int n_present = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            n_present += left[n_classes_ + y] > 0 || nexts[y] == cut.next ? 1 : 0;
        cut.is_valid = cut.next != kNoValue && n_present > 1;
        work_.found.push_back(cut);
        return cut.is_valid;
    }

    void offer_found(std::uint32_t n_thresholds, BestSplit& best) const {
        std::uint32_t n_offered = 0;
        for (FoundCut const& cut : work_.found) {
            if (!cut.is_valid)
                continue;
            if (n_offered++ == n_thresholds)
                return;
            best.offer(
                n_classes_, attribute_, work_.found_counts.data() + cut.counts, [&] { return cut.rank; },
                [&] { return threshold_between(cut.value, cut.next); });
        }
    }

    // Appends a record of what was found.
    void append_found(SampleSize const& size, WipedVector<Word>& records) {
        std::uint64_t const bound = work_.found.back().rank;
        if (size.is_short)
            std::erase_if(work_.found, [](FoundCut const& cut) { return !cut.is_valid; });
        std::ranges::sort(work_.found, {}, &FoundCut::value);
        work_.record.clear();
        append_header(size.is_short ? RecordKind::sample : RecordKind::prefix, work_.found.size(), work_.record);
        std::size_t const header = work_.record.size();
        work_.record.resize(header + work_.found.size() * WideCuts::words_per_cut(n_classes_), 0);
        work_.record.note_size();
        finish(work_.record, 0, work_.found.size(), bound);
        WideCuts const cuts(n_classes_, work_.record.data(), ranks_);
        work_.left.assign(n_classes_, 0);
        for (std::size_t i = 0; i < work_.found.size(); ++i) {
            FoundCut const& cut = work_.found[i];
            Count const* const counts = work_.found_counts.data() + cut.counts;
            cuts.value(i) = cut.value;
            cuts.next(i) = cut.next;
            (void)count_at(cut.next, cuts, i, kAtNext);
            for (std::size_t y = 0; y < n_classes_; ++y) {
                cuts.set(i, kBucket, y, counts[y] - work_.left[y]);
                cuts.set(i, kAt, y, counts[n_classes_ + y]);
            }
            work_.left.assign(counts, counts + n_classes_);
        }
        cuts.sample(size.n_thresholds, work_);
        append_record(records);
    }

    // Counts the rows at a value in a part of a cut; false if there is no room for so many.
    template <typename Counts>
    bool count_at(Value value, Cuts<NClasses, Counts> const& cuts, std::size_t cut, Part part) const {
        bool has_room = true;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = values_of(y);
            Count const n = value == kNoValue ? 0 : kernels::count_equal(value, values.data(), values.size());
            cuts.set(cut, part, y, n);
            has_room = has_room && n <= Counts::kMost[part];
        }
        return has_room;
    }

    // Which candidates there are can only differ where rows came or went: at their values, and just below.
    template <typename Counts>
    bool settle_around(Cuts<NClasses, Counts> const& cuts, Value value) const {
        kernels::Surroundings its{0, 0, kNoValue};
        Value previous = kNoValue;
        std::array<kernels::Surroundings, Handful::kMaxClasses> by_class;
        std::array<Value, Handful::kMaxClasses> previous_by_class;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            auto const values = values_of(y);
            by_class[y] = kernels::look_around(value, values.data(), values.size());
            its.n_at += by_class[y].n_at;
            its.next = std::min(its.next, by_class[y].next);
            Value const below = previous_by_class[y] = kernels::find_previous(value, values.data(), values.size());
            if (below != kNoValue && (previous == kNoValue || below > previous))
                previous = below;
        }
        int n_present = 0;  // classes at the value and the next one
        int n_present_below = 0;
        for (std::size_t y = 0; y < n_classes_; ++y) {
            bool const is_at = by_class[y].n_at > 0;
            bool const is_next = its.next != kNoValue && by_class[y].next == its.next;
            n_present += is_at || is_next ? 1 : 0;
            n_present_below += (its.n_at > 0 ? is_at : is_next) || previous_by_class[y] == previous ? 1 : 0;
        }
        bool const is_valid = its.n_at > 0 && value != kMissing && its.next != kNoValue && n_present > 1;
        Value const next_of_previous = its.n_at > 0 ? value : its.next;
        bool const is_valid_below = previous != kNoValue && next_of_previous != kNoValue && n_present_below > 1;
        return settle_cut(cuts, value, its.next, is_valid) &&
               (previous == kNoValue || settle_cut(cuts, previous, next_of_previous, is_valid_below));
    }

    // False if the candidate should be a cut and is none.
    template <typename Counts>
    bool settle_cut(Cuts<NClasses, Counts> const& cuts, Value value, Value next, bool is_valid) const {
        std::size_t const cut = cuts.first_cut_from(value);
        if (cut < cuts.size() && cuts.value(cut) == value) {
            cuts.next(cut) = next;
            return count_at(value, cuts, cut, kAt) && count_at(next, cuts, cut, kAtNext);
        }
        return !is_valid || cuts.rank(value) > cuts.bound();
    }

    NClasses n_classes_;
    NodeView const& node_;
    Attribute attribute_;
    Workspace& work_;
    Ranks ranks_;
};

}  // namespace

bool scan_valid(NodeView const& node, Attribute attribute, SampleSize const& size, BestSplit& best,
                WipedVector<Word>* records, Workspace& work) {
    return with_classes(node.totals.size(), [&](auto n_classes) {
        return Scan(n_classes, node, attribute, work).run(size, best, records);
    });
}

bool update_valid(Word* record, Key node, std::span<Count const> totals, Dataset const& data, Changes const& changes,
                  SampleSize const& size, Workspace& work) {
    return with_classes(totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::pair)
            return update_pair(n_classes, record, totals.data(), data, changes);
        return with_cuts(n_classes, record, node, [&](auto cuts) { return cuts.update(data, changes, size, work); });
    });
}

bool settle_sample(Word* record, NodeView const& node, Changes const& changes, SampleSize const& size,
                   Workspace& work) {
    return with_classes(node.totals.size(), [&](auto n_classes) {
        return with_cuts(n_classes, record, node.key, [&](auto cuts) {
            return Scan(n_classes, node, record_attribute(record), work).settle(cuts, changes, size);
        });
    });
}

void append_shortened(Word const* record, NodeView const& node, SampleSize const& size, WipedVector<Word>& records,
                      Workspace& work) {
    std::size_t const begin = records.size();
    records.insert(records.end(), record, record + record_length(record));
    RecordKind const kind = record_kind(record);
    if (size.n_thresholds == kAllThresholds || (kind != RecordKind::prefix && kind != RecordKind::boundaries))
        return;
    with_classes(node.totals.size(), [&](auto n_classes) {
        with_cuts(n_classes, records.data() + begin, node.key,
                  [&](auto cuts) { cuts.shorten(size.n_thresholds + size.reserve, size.n_thresholds, work); });
    });
    records.resize(begin + record_length(records.data() + begin));
}

void offer_valid(Word const* record, Key node, BestSplit& best, Workspace& work) {
    Ranks const ranks(node, record_attribute(record));
    with_classes(best.scoring().totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::pair)
            offer_valid_pair(n_classes, record_attribute(record), pair_values(record), record + kPairHeader, ranks,
                             best, work);
        else
            with_cuts(n_classes, const_cast<Word*>(record), node, [&](auto cuts) { cuts.offer(best, work); });
    });
}

bool valid_equals_recount(Word const* record, NodeView const& node, std::uint32_t n_thresholds, Workspace& work) {
    Attribute const attribute = record_attribute(record);
    std::size_t const n_classes = node.totals.size();
    RecordKind const kind = record_kind(record);
    if (kind == RecordKind::pair) {
        tabulate(node, attribute, work);
        return work.values.size() == 2 && work.values[0] == record[2] && work.values[1] == record[3] &&
               std::equal(record + kPairHeader, record + record_length(record),
                          work.value_counts.begin() + static_cast<std::ptrdiff_t>(n_classes));
    }
    return with_cuts(n_classes, const_cast<Word*>(record), node.key, [&](auto cuts) {
        Scan(n_classes, node, attribute, work).record_again(kind, cuts.bound());
        Cuts<std::size_t, Wide> const recount(n_classes, work.record.data(), Ranks(node.key, attribute));
        std::size_t const n_valid = recount.sample(n_thresholds, work);
        return are_equal(n_classes, cuts, recount) && (kind == RecordKind::boundaries || n_valid >= n_thresholds);
    });
}

}  // namespace deciduous
