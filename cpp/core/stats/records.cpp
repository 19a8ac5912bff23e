#include "stats/records.h"

#include <algorithm>

#include "split/n_classes.h"
#include "stats/cut_record.h"
#include "stats/pair_record.h"
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
    with_cuts(n_classes, start_record(tag, n_words, records), node.key, [&](auto cuts) { cuts.write(found); });
    return true;
}

template <typename NClasses>
bool append_thresholds(NClasses n_classes, Attribute attribute, std::size_t max_words, FoundThresholds const& found,
                       WipedVector<Word>& records) {
    std::size_t const n_words = ThresholdRecord<NClasses>::length(n_classes, found.size());
    if (n_words > max_words)
        return false;
    Word* const record = start_record(record_tag(RecordKind::thresholds, attribute), n_words, records);
    ThresholdRecord(n_classes, record).write(found);
    return true;
}

}  // namespace

bool append_record(Attribute attribute, Finding finding, Sampling const& sampling, NodeRows const& node,
                   std::size_t max_words, ScanScratch const& scratch, WipedVector<Word>& records) {
    if (finding == Finding::pair) {
        if (PairRecord::length(node.n_classes()) > max_words)
            return false;
        PairRecord::append(attribute, scratch.pair, records);
        return true;
    }
    return with_classes(node.n_classes(), [&](auto n_classes) {
        if (sampling.scheme == CandidateScheme::uniform)
            return append_thresholds(n_classes, attribute, max_words, scratch.thresholds, records);
        return append_cuts(n_classes, attribute, node, max_words, scratch.cuts, records);
    });
}

bool update_record(Word* record, Key node, std::span<Count const> totals, Dataset const& data, Changes const& changes,
                   Sampling const& sampling, Tuning const& tuning, ScanScratch& scratch) {
    if (record_kind(record) == RecordKind::pair)
        return PairRecord::update(record, totals, data, changes);
    return with_classes(totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::thresholds)
            return ThresholdRecord(n_classes, record).update(data, changes);
        return with_cuts(n_classes, record, node, [&](auto cuts) {
            return cuts.update(data, changes, sampling.n_thresholds, tuning.reserve, scratch);
        });
    });
}

void offer_record(Word const* record, Key node, std::span<Count const> totals, Sampling const& sampling,
                  Candidates& candidates, ScanScratch& scratch) {
    if (record_kind(record) == RecordKind::pair) {
        PairRecord const pair(record);
        if (sampling.scheme == CandidateScheme::uniform)
            append_uniform_pair(record_attribute(record), pair.values(), pair.at_high(), totals, sampling.uniform(),
                                candidates);
        else
            append_valid_pair(node, record_attribute(record), pair.values(), pair.at_high(), totals, candidates);
        return;
    }
    auto* const words = const_cast<Word*>(record);
    with_classes(totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::thresholds)
            ThresholdRecord(n_classes, words).offer(candidates);
        else
            with_cuts(n_classes, words, node, [&](auto cuts) { cuts.offer(candidates, scratch.left); });
    });
}

bool equals_recount(Word const* record, NodeRows const& node, Sampling const& sampling, Tuning const& tuning,
                    ScanScratch& scratch) {
    Attribute const attribute = record_attribute(record);
    RecordKind const kind = record_kind(record);
    if (kind == RecordKind::pair)
        return find_pair_again(node, attribute, tuning, scratch) && PairRecord(record).equals(scratch.pair);
    if (kind == RecordKind::thresholds) {
        find_thresholds_again(node, attribute, sampling.uniform(true), scratch);
        WipedVector<Word> recount;
        return append_record(attribute, Finding::cuts, sampling, node, record_length(record), scratch, recount) &&
               std::equal(record, record + record_length(record), recount.begin(), recount.end());
    }
    WipedVector<Word> copy(record, record + record_length(record));
    return with_cuts(node.n_classes(), copy.data(), node.key, [&](auto cuts) {
        find_cuts_again(node, attribute, kind == RecordKind::boundaries, cuts.bound(), tuning, scratch);
        bool const knows_sample = cuts.sample(sampling.n_thresholds, scratch) >= sampling.n_thresholds;
        return cuts.equals(scratch.cuts) && std::equal(copy.begin(), copy.end(), record) &&
               (knows_sample || kind == RecordKind::boundaries);
    });
}

std::size_t least_record_length(NodeRows const& node, Attribute attribute, Sampling const& sampling,
                                Tuning const& tuning) {
    Column const* const column = node.data.numeric_column(attribute);
    if (column == nullptr || column->is_coded())
        return PairRecord::length(node.n_classes());
    if (sampling.scheme == CandidateScheme::uniform)
        return ThresholdRecord<std::size_t>::length(node.n_classes(), sampling.n_thresholds);
    std::size_t const n_cuts =
        sampling.n_thresholds == kAllThresholds ? 1 : std::size_t{sampling.n_thresholds} + tuning.reserve;
    return CutRecord<std::size_t, NarrowCounts>::length(node.n_classes(), std::min(n_cuts, node.size() / 4));
}

}  // namespace deciduous
