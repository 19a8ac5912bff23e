#include "stats/records.h"

#include <algorithm>

#include "split/n_classes.h"
#include "stats/cut_record.h"
#include "stats/pair_record.h"
#include "stats/target_record.h"
#include "stats/threshold_record.h"

namespace deciduous {

namespace {

// Whether counts fit into the bits that a narrow record has for them.
template <typename NClasses>
bool fit_narrow(NClasses n_classes, FoundCuts const& found, std::span<Count const> totals) {
    if (sum(totals) > NarrowCounts::kMost[kBucket])
        return false;
    for (std::size_t cut = 0; cut < found.size(); ++cut)
        for (std::size_t y = 0; y < n_classes; ++y)
            if (std::max(found.at(cut)[y], found.at_next(cut)[y]) > NarrowCounts::kMost[kAt])
                return false;
    return true;
}

// Makes room for a record; where it begins.
Word* start_record(Word tag, std::size_t n_words, WipedVector<Word>& records) {
    std::size_t const begin = records.size();
    records.resize(begin + n_words, 0);
    records[begin] = tag;
    records[begin + 1] = static_cast<Word>(n_words);
    return records.data() + begin;
}

template <typename NClasses>
bool append_cuts(NClasses n_classes, Attribute attribute, NodeRows const& node, std::size_t max_words,
                 FoundCuts const& found, WipedVector<Word>& records) {
    bool const is_narrow_one = fit_narrow(n_classes, found, node.totals);
    std::size_t const n_words = is_narrow_one ? CutRecord<NClasses, NarrowCounts>::length(n_classes, found.size())
                                              : CutRecord<NClasses, WideCounts>::length(n_classes, found.size());
    if (n_words > max_words)
        return false;
    RecordKind const kind = found.are_boundaries ? RecordKind::boundaries : RecordKind::prefix;
    Word const tag = record_tag(kind, attribute) | (is_narrow_one ? kNarrow : 0);
    with_cuts(n_classes, start_record(tag, n_words, records), Ranks(node.keys, attribute, node.dominant),
              [&](auto cuts) { cuts.write(found); });
    return true;
}

template <typename NClasses>
bool append_thresholds(NClasses n_classes, Attribute attribute, std::size_t max_words, FoundThresholds const& found,
                       WipedVector<Word>& records) {
    Count most = 0;
    Rank last_rank = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        last_rank = std::max(last_rank, found.rank(i));
        for (std::size_t y = 0; y < n_classes; ++y)
            most = std::max(most, found.bucket(i, y));
    }
    return with_narrow_count(most, last_rank, [&](auto count, Word width) {
        using Record = ThresholdRecord<NClasses, decltype(count)>;
        std::size_t const n_words = Record::length(n_classes, found.size());
        if (n_words > max_words)
            return false;
        Word const tag = record_tag(RecordKind::thresholds, attribute) | width;
        Record(n_classes, start_record(tag, n_words, records)).write(found);
        return true;
    });
}

}  // namespace

bool append_record(Attribute attribute, Finding finding, Sampling const& sampling, NodeRows const& node,
                   std::size_t max_words, ScanScratch const& scratch, WipedVector<Word>& records) {
    bool const has_sums = !node.targets.empty() && sampling.needs_sums();
    if (finding == Finding::pair) {
        if (PairRecord::length(node.n_classes(), has_sums) > max_words)
            return false;
        PairRecord::append(attribute, scratch.pair, has_sums, records);
        return true;
    }
    if (has_sums) {
        if (TargetRecord::length(scratch.targets.cuts.size()) > max_words)
            return false;
        TargetRecord::append(attribute, scratch.targets, records);
        return true;
    }
    return with_classes(node.n_classes(), [&](auto n_classes) {
        if (sampling.scheme == CandidateScheme::uniform)
            return append_thresholds(n_classes, attribute, max_words, scratch.thresholds, records);
        return append_cuts(n_classes, attribute, node, max_words, scratch.cuts, records);
    });
}

bool update_record(Word* record, NodeCounts const& node, Dataset const& data, Changes const& changes,
                   Sampling const& sampling, Tuning const& tuning, ScanScratch& scratch) {
    if (record_kind(record) == RecordKind::unknown)
        return false;
    if (record_kind(record) == RecordKind::pair)
        return PairRecord::update(record, node.totals, data, changes);
    if (node.has_targets && sampling.needs_sums())
        return TargetRecord(record, Ranks(node.keys, record_attribute(record), node.dominant))
            .update(data, changes, sampling.n_thresholds);
    return with_classes(node.totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::thresholds)
            return with_thresholds(n_classes, record, [&](auto its) { return its.update(data, changes); });
        if (dominant_of_cuts(record) != node.dominant)
            return false;  // all ranks are others
        Ranks const ranks(node.keys, record_attribute(record), node.dominant);
        return with_cuts(n_classes, record, ranks, [&](auto cuts) {
            return cuts.update(data, changes, sampling.n_thresholds, tuning.reserve, scratch);
        });
    });
}

void offer_record(Word const* record, NodeCounts const& node, Sampling const& sampling, Candidates& candidates,
                  ScanScratch& scratch) {
    Attribute const attribute = record_attribute(record);
    if (record_kind(record) == RecordKind::pair) {
        PairRecord const pair(record);
        append_pair(
            attribute, pair.values(), pair.at_high(), node.totals, candidates,
            [&](std::span<Count const> at_low) { return noted_rank(pair.values(), at_low, node.dominant, sampling); });
        if (pair.has_sum(node.totals.size()))
            candidates.set_target_sum(candidates.size() - 1, pair.sum_at_low(node.totals.size()));
        return;
    }
    if (node.has_targets && sampling.needs_sums()) {
        TargetRecord(const_cast<Word*>(record), Ranks(node.keys, attribute, node.dominant))
            .offer(sampling.n_thresholds, candidates, scratch);
        return;
    }
    Ranks const ranks(node.keys, attribute, node.dominant);
    auto* const words = const_cast<Word*>(record);
    with_classes(node.totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::thresholds)
            with_thresholds(n_classes, words, [&](auto its) { its.offer(candidates); });
        else
            with_cuts(n_classes, words, ranks, [&](auto cuts) { cuts.offer(candidates, scratch.left); });
    });
}

namespace {

bool equals_recount_of_targets(Word const* record, NodeRows const& node, Sampling const& sampling,
                               ScanScratch& scratch) {
    Attribute const attribute = record_attribute(record);
    WipedVector<Word> copy(record, record + record_length(record));
    TargetRecord its(copy.data(), Ranks(node.keys, attribute, node.dominant));
    find_target_cuts_again(node, attribute, its.bound(), scratch);
    auto const count = [&](TargetCut const& cut, Target target) {
        Count n = 0;
        for (std::size_t i = 0; i < node.slots.size(); ++i) {
            Value const value = node.data.value(node.slots[i], attribute);
            n += (value == cut.value || value == cut.next) && node.targets[i] == target ? node.weight(i) : 0;
        }
        return n;
    };
    return its.equals(scratch.targets, count) && its.update(node.data, {}, sampling.n_thresholds);
}

TargetSum recount_sum_at_low(NodeRows const& node, Attribute attribute, FoundPair const& pair) {
    TargetSum sum = 0;
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        if (node.data.value(node.slots[i], attribute) == pair.values.low)
            sum += node.weighted_target(i);
    return sum;
}

}  // namespace

bool equals_recount(Word const* record, NodeRows const& node, Sampling const& sampling, Tuning const& tuning,
                    ScanScratch& scratch) {
    Attribute const attribute = record_attribute(record);
    RecordKind const kind = record_kind(record);
    bool const has_sums = !node.targets.empty() && sampling.needs_sums();
    if (kind == RecordKind::pair)
        return PairRecord(record).has_sum(node.n_classes()) == has_sums &&
               find_pair_again(node, attribute, tuning, scratch) && PairRecord(record).equals(scratch.pair) &&
               (!has_sums || PairRecord(record).sum_at_low(1) == recount_sum_at_low(node, attribute, scratch.pair));
    if (has_sums)
        return equals_recount_of_targets(record, node, sampling, scratch);
    if (kind == RecordKind::thresholds) {
        find_thresholds_again(node, attribute, sampling.uniform(true), scratch);
        return with_thresholds(node.n_classes(), const_cast<Word*>(record),
                               [&](auto its) { return its.equals(scratch.thresholds); });
    }
    WipedVector<Word> copy(record, record + record_length(record));
    if (dominant_of_cuts(record) != node.dominant)
        return false;
    Ranks const ranks(node.keys, attribute, node.dominant);
    return with_cuts(node.n_classes(), copy.data(), ranks, [&](auto cuts) {
        find_cuts_again(node, attribute, kind == RecordKind::boundaries, cuts.bound(), tuning, scratch);
        bool const knows_sample = cuts.sample(sampling.n_thresholds, scratch) >= sampling.n_thresholds;
        return cuts.equals(scratch.cuts) && std::equal(copy.begin(), copy.end(), record) &&
               (knows_sample || kind == RecordKind::boundaries);
    });
}

namespace {

// So many cuts the record of a column of many values is likely to have: a prefix with as many valid candidates as are
// wanted, or all valid ones, were values and labels independent.
std::size_t likely_cuts(NodeRows const& node, Sampling const& sampling, Tuning const& tuning) {
    double const share_of_values = 1 - chance_of_same_class(node.totals);
    double const n_valid = share_of_values * static_cast<double>(node.size());
    if (sampling.n_thresholds == kAllThresholds)
        return static_cast<std::size_t>(n_valid);
    double const share_valid = node.dominant == kNoClass ? share_of_values
                                                         : static_cast<double>(node.totals[node.dominant]) /
                                                               static_cast<double>(sum(node.totals));
    double const n_wanted = static_cast<double>(sampling.n_thresholds) + tuning.reserve;
    return static_cast<std::size_t>(std::min(n_valid, n_wanted / share_valid));
}

// So many words the record of a column with uniform thresholds takes if one of its counts may be that of all rows.
std::size_t likely_length_of_thresholds(NodeRows const& node, std::uint32_t n_thresholds) {
    return with_narrow_count(static_cast<Count>(node.size()), n_thresholds, [&](auto count, Word) {
        return ThresholdRecord<std::size_t, decltype(count)>::length(node.n_classes(), n_thresholds);
    });
}

}  // namespace

std::size_t likely_length(NodeRows const& node, std::span<Attribute const> attributes, Sampling const& sampling,
                          Tuning const& tuning) {
    bool const has_sums = !node.targets.empty() && sampling.needs_sums();
    std::size_t const n_wanted =
        sampling.n_thresholds == kAllThresholds ? node.size() : sampling.n_thresholds + tuning.reserve;
    std::size_t const n_classes = node.n_classes();
    std::size_t const n_cuts = sampling.scheme == CandidateScheme::valid ? likely_cuts(node, sampling, tuning) : 0;
    std::size_t n_words = 0;
    for (Attribute const attribute : attributes) {
        Column const* const column = node.data.numeric_column(attribute);
        std::size_t const n_values = column == nullptr    ? 2
                                     : column->is_coded() ? column->codes_in_order().size()
                                                          : node.size();
        if (n_values <= 2)
            n_words += PairRecord::length(n_classes, has_sums);
        else if (has_sums)
            n_words += TargetRecord::length(std::min(n_wanted, n_values));
        else if (sampling.scheme == CandidateScheme::uniform)
            n_words += likely_length_of_thresholds(node, sampling.n_thresholds);
        else
            n_words += CutRecord<std::size_t, NarrowCounts>::length(n_classes, std::min(n_cuts, n_values / 4));
    }
    return n_words;
}

}  // namespace deciduous
