// The record of an attribute in a regression forest: all cuts above values whose rank is within a bound, valid or not,
// as docs/algorithm.md, 3.1, has them for classes. Whatever a cut does not tell makes the node look at its rows.
//
// Words: head · bound · number of cuts · cuts, by ascending value, and zeros in place of those that are gone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/params.h"
#include "base/wiped.h"
#include "data/changes.h"
#include "split/scan.h"
#include "split/target_scan.h"
#include "stats/record.h"

namespace deciduous {

class TargetRecord {
public:
    TargetRecord(Word* record, Ranks const& ranks) : words_(record), ranks_(ranks) {}

    [[nodiscard]] static std::size_t length(std::size_t n_cuts) { return kHead + n_cuts * kWordsPerCut; }

    static void append(Attribute attribute, FoundTargets const& found, WipedVector<Word>& records) {
        std::size_t const begin = records.size();
        records.resize(begin + length(found.cuts.size()), 0);
        Word* const record = records.data() + begin;
        record[0] = record_tag(RecordKind::prefix, attribute);
        record[1] = static_cast<Word>(records.size() - begin);
        record[kBound] = found.bound;
        record[kSize] = static_cast<Word>(found.cuts.size());
        std::memcpy(record + kHead, found.cuts.data(), found.cuts.size() * sizeof(TargetCut));
    }

    // Whether the candidates are known after the changes, and the attribute is not constant. A record of everything has
    // a cut above each value, and a valid candidate has two.
    [[nodiscard]] bool update(Dataset const& data, Changes const& changes, std::uint32_t n_thresholds) {
        Attribute const attribute = record_attribute(words_);
        for (ChangedRow const& row : changes.removed)
            if (!remove(row.value(data, attribute), row.vote))
                return false;
        for (ChangedRow const& row : changes.added)
            if (!add(row.value(data, attribute), row.vote))
                return false;
        return bound() == kEverything ? size() > 1 : n_valid() >= n_thresholds;
    }

    void offer(std::uint32_t n_thresholds, Candidates& candidates, ScanScratch& scratch) const {
        Rank const last = last_sampled(n_thresholds, scratch);
        offer_cuts(
            record_attribute(words_), size(), [&](std::size_t i) { return cut(i); },
            [&](TargetCut const& its) { return ranks_.above(its.value) <= last; }, candidates);
    }

    [[nodiscard]] Rank bound() const { return words_[kBound]; }

    // Whether it says what was found within the same bound. Which two targets a cut knows depends on its history:
    // `count(cut, target)` tells how many rows at its values have one.
    template <typename CountOf>
    [[nodiscard]] bool equals(FoundTargets const& found, CountOf const& count) const {
        if (size() != found.cuts.size())
            return false;
        for (std::size_t i = 0; i < size(); ++i) {
            TargetCut its = cut(i);
            if (its.beside.n_first != count(its, its.beside.first) ||
                (its.beside.differ() && its.beside.n_second != count(its, its.beside.second)) ||
                its.beside.differ() != found.cuts[i].beside.differ())
                return false;
            its.beside = found.cuts[i].beside;
            if (!its.equals(found.cuts[i]))
                return false;
        }
        return true;
    }

private:
    static constexpr std::size_t kBound = kRecordHead;
    static constexpr std::size_t kSize = kRecordHead + 1;
    static constexpr std::size_t kHead = kRecordHead + 2;
    static constexpr std::size_t kWordsPerCut = sizeof(TargetCut) / sizeof(Word);
    static_assert(sizeof(TargetCut) % sizeof(Word) == 0);

    [[nodiscard]] std::size_t size() const { return words_[kSize]; }
    [[nodiscard]] Value value(std::size_t i) const { return words_[kHead + i * kWordsPerCut]; }
    [[nodiscard]] TargetCut cut(std::size_t i) const {
        TargetCut its;
        std::memcpy(static_cast<void*>(&its), words_ + kHead + i * kWordsPerCut, sizeof its);
        return its;
    }
    void store(std::size_t i, TargetCut const& its) {
        std::memcpy(words_ + kHead + i * kWordsPerCut, &its, sizeof its);
    }

    // The first cut at or above a value.
    [[nodiscard]] std::size_t find(Value wanted) const {
        std::size_t begin = 0;
        for (std::size_t n = size(); n > 0;) {
            std::size_t const half = n / 2;
            bool const is_below = value(begin + half) < wanted;
            begin = is_below ? begin + half + 1 : begin;
            n = is_below ? n - half - 1 : half;
        }
        return begin;
    }

    [[nodiscard]] bool remove(Value value, WeightedLabel const& row) {
        std::size_t const i = find(value);
        bool is_known = true;
        if (i < size()) {
            TargetCut its = cut(i);
            its.n_rows -= row.weight;
            its.sum -= row.weighted_target();
            bool const is_at = its.value == value;
            its.n_at -= is_at ? row.weight : 0;
            if (is_at && its.n_at > 0)
                is_known = its.beside.remove(row.target, row.weight);
            store(i, its);
            if (its.n_at == 0)
                drop(i);
        }
        if (i > 0) {
            TargetCut below = cut(i - 1);
            if (below.next == value) {
                below.n_next -= row.weight;
                is_known = below.beside.remove(row.target, row.weight) && below.n_next > 0 && is_known;
                store(i - 1, below);
            }
        }
        return is_known;
    }

    // Drops the cut above a value that no row has any more; its rows are counted with those of the next one.
    void drop(std::size_t i) {
        TargetCut const gone = cut(i);
        std::size_t const last = size() - 1;
        if (i < last) {
            TargetCut above = cut(i + 1);
            above.n_rows += gone.n_rows;
            above.sum += gone.sum;
            store(i + 1, above);
        }
        Word* const place = words_ + kHead + i * kWordsPerCut;
        std::copy(place + kWordsPerCut, words_ + kHead + size() * kWordsPerCut, place);
        std::fill_n(words_ + kHead + last * kWordsPerCut, kWordsPerCut, Word{0});
        words_[kSize] = static_cast<Word>(last);
    }

    [[nodiscard]] bool add(Value value, WeightedLabel const& row) {
        std::size_t const i = find(value);
        bool is_cut = false;
        if (i < size()) {
            TargetCut its = cut(i);
            its.n_rows += row.weight;
            its.sum += row.weighted_target();
            is_cut = its.value == value;
            if (is_cut) {
                its.n_at += row.weight;
                its.beside.add(row.target, row.weight);
            }
            store(i, its);
        }
        if (i > 0) {
            TargetCut below = cut(i - 1);
            if (value < below.next)
                return false;  // it has another value beside it
            if (below.next == value) {
                below.n_next += row.weight;
                below.beside.add(row.target, row.weight);
                store(i - 1, below);
            }
        }
        return is_cut || ranks_.above(value) > bound();
    }

    [[nodiscard]] std::size_t n_valid() const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < size(); ++i)
            n += cut(i).is_candidate() ? 1 : 0;
        return n;
    }

    [[nodiscard]] Rank last_sampled(std::uint32_t n_thresholds, ScanScratch& scratch) const {
        if (n_thresholds == kAllThresholds)
            return kEverything;
        scratch.valid_ranks.clear();
        for (std::size_t i = 0; i < size(); ++i)
            if (cut(i).is_candidate())
                scratch.valid_ranks.push_back(to_ordered(ranks_.above(value(i))));
        return last_wanted(scratch.valid_ranks, n_thresholds);
    }

    Word* words_;
    Ranks ranks_;
};

}  // namespace deciduous
