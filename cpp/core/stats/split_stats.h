// What a split node remembers beside its split, so that rows can come and go without a look at the other rows. A cache:
// it never changes a forest, and nodes for which it would take too much memory have none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/blake2b.h"
#include "base/room.h"
#include "base/types.h"
#include "base/wiped.h"
#include "split/two_targets.h"
#include "stats/record.h"

namespace deciduous {

// One block of words: rows left of the split · rows of the node per class · in a regression forest, what is known of
// their targets · records of the chosen attributes, in the node's attribute order.
class SplitStats {
public:
    SplitStats() = default;

    // No records yet. In a regression forest something is known of the targets.
    void start(std::span<Count const> totals, TargetSummary const* targets) {
        words_.assign(1, 0);
        words_.insert(words_.end(), totals.begin(), totals.end());
        n_classes_ = static_cast<std::uint32_t>(totals.size());
        n_target_words_ = targets == nullptr ? 0 : kTargetWords;
        words_.resize(words_.size() + n_target_words_, 0);
        if (targets != nullptr)
            set_targets(*targets);
        n_records_ = 0;
        is_undecided_ = false;
    }

    // A copy that takes no more memory than it needs.
    [[nodiscard]] SplitStats packed() const {
        SplitStats copy;
        copy.words_.reserve(words_.size());
        copy.assign(*this);
        return copy;
    }
    // Everything but the digest.
    void assign(SplitStats const& other) {
        if (other.words_.size() < words_.size())  // what is cut off may hold values of rows
            std::fill(words_.begin() + static_cast<std::ptrdiff_t>(other.words_.size()), words_.end(), Word{0});
        words_.assign(other.words_.begin(), other.words_.end());
        n_classes_ = other.n_classes_;
        n_target_words_ = other.n_target_words_;
        n_records_ = other.n_records_;
        is_undecided_ = other.is_undecided_;
    }

    [[nodiscard]] Count n_left() const { return words_[0]; }
    void set_n_left(Count n_left) { words_[0] = n_left; }
    [[nodiscard]] std::span<Count> totals() { return {words_.data() + 1, n_classes_}; }
    [[nodiscard]] std::span<Count const> totals() const { return {words_.data() + 1, n_classes_}; }

    // Of the targets, in a regression forest.
    [[nodiscard]] bool has_targets() const { return n_target_words_ > 0; }
    [[nodiscard]] TargetSummary targets() const {
        TargetSummary its;
        std::memcpy(static_cast<void*>(&its), words_.data() + 1 + n_classes_, sizeof its);
        return its;
    }
    void set_targets(TargetSummary const& targets) {
        std::memcpy(words_.data() + 1 + n_classes_, &targets, sizeof targets);
    }

    // So many words come before the records.
    [[nodiscard]] static std::size_t head_length(std::size_t n_classes, bool has_targets) {
        return 1 + n_classes + (has_targets ? kTargetWords : 0);
    }

    [[nodiscard]] std::uint32_t n_records() const { return n_records_; }
    [[nodiscard]] Word* first_record() { return words_.data() + 1 + n_classes_ + n_target_words_; }
    [[nodiscard]] Word const* first_record() const { return words_.data() + 1 + n_classes_ + n_target_words_; }
    [[nodiscard]] Word const* last_record() const {
        Word const* record = first_record();
        for (std::uint32_t i = 1; i < n_records_; ++i)
            record += record_length(record);
        return record;
    }

    // Where a record may be appended; `note_record` tells that it was.
    [[nodiscard]] WipedVector<Word>& words() { return words_; }
    void note_record() { ++n_records_; }
    void append(Word const* record) {
        words_.insert(words_.end(), record, record + record_length(record));
        ++n_records_;
    }

    // Whether somebody has to look whether the split is still the best one.
    [[nodiscard]] bool is_undecided() const { return is_undecided_; }
    void note_decided() { is_undecided_ = false; }

    // Leaves it to a later look, which tells what some records should be: nothing is left of what they were.
    void leave_undecided(std::vector<bool> const& is_forgotten) {
        is_undecided_ = true;
        if (std::ranges::find(is_forgotten, true) == is_forgotten.end())
            return;
        Word const* record = first_record();
        Word* place = first_record();
        for (std::uint32_t i = 0; i < n_records_; ++i) {
            std::size_t const length = record_length(record);
            std::size_t const n_kept = is_forgotten[i] ? kRecordHead : length;
            Word const tag = is_forgotten[i] ? record_attribute(record) : record[0];
            std::copy_n(record, n_kept, place);
            place[0] = tag;
            place[1] = static_cast<Word>(n_kept);
            record += length;
            place += n_kept;
        }
        std::fill(place, words_.data() + words_.size(), Word{0});
        words_.resize(static_cast<std::size_t>(place - words_.data()));
    }

    void prefetch() const {
        constexpr std::size_t kLine = 64 / sizeof(Word);
        for (std::size_t i = 0; i < std::min<std::size_t>(words_.size(), 12 * kLine); i += kLine)
            __builtin_prefetch(words_.data() + i);
    }

    [[nodiscard]] std::size_t n_words() const { return words_.size(); }
    [[nodiscard]] std::size_t memory() const {
        return words_.capacity() * sizeof(Word) + (digest ? sizeof(Digest) : 0);
    }

    void trim() { deciduous::trim(words_); }

    // Overwrites what is left of former records.
    void wipe() { wipe_and_clear(words_); }

    std::unique_ptr<Digest> digest;  // of the subtree, if nothing changed since it was computed

private:
    static constexpr std::uint32_t kTargetWords = sizeof(TargetSummary) / sizeof(Word);

    WipedVector<Word> words_;
    std::uint32_t n_classes_ = 0;
    std::uint32_t n_target_words_ = 0;
    std::uint32_t n_records_ = 0;
    bool is_undecided_ = false;
};

}  // namespace deciduous
