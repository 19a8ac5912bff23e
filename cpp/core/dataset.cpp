#include "dataset.h"

#include <algorithm>
#include <numeric>

#include "error.h"
#include "parallel.h"

namespace deciduous {

namespace {

constexpr RowId kClearedId = 0;
constexpr Label kClearedLabel = 0;
constexpr std::size_t kRowsWorthThreads = 256;

}  // namespace

void Dataset::require_insertable(std::span<RowId const> ids, std::span<Vote const> votes, std::size_t n_classes) const {
    std::vector<RowId> sorted(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    if (auto const twin = std::ranges::adjacent_find(sorted); twin != sorted.end())
        throw InvalidArgument("Row " + std::to_string(*twin) + " comes twice.");
    for (RowId const id : ids)
        if (find(id))
            throw InvalidArgument("Row " + std::to_string(id) + " is in the forest already.");
    std::uint64_t total = total_weight_;
    for (Vote const vote : votes) {
        if (vote.label >= n_classes)
            throw InvalidArgument("There is no class " + std::to_string(vote.label) + ".");
        if (vote.weight == 0)
            throw InvalidArgument("A row must have a positive weight.");
        total += vote.weight;
    }
    if (total >= kMaxRows)
        throw InvalidArgument(
            "A forest holds fewer than 2^30 rows, a row of weight w counting as w rows; these would be " +
            std::to_string(total) + ".");
}

std::vector<Slot> Dataset::insert(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes,
                                  std::size_t n_threads) {
    for (Vote const vote : votes)
        total_weight_ += vote.weight;
    std::vector<Slot> slots = take_slots(ids.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        ids_[slots[i]] = ids[i];
        labels_[slots[i]] = votes[i].label;
        index_.insert(slots[i], ids_);
    }
    set_weights(slots, votes);
    std::size_t const n_useful = slots.size() < kRowsWorthThreads ? 1 : n_threads;
    parallel_for(columns_.size(), n_useful, [&](std::size_t column, std::size_t) {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            Value const value = to_value(rows.row(i)[column]);
            if (columns_[column].set(slots[i], value))
                continue;
            columns_[column].become_plain(free_slots_);
            (void)columns_[column].set(slots[i], value);
        }
    });
    if (!row_bits_.is_chosen())
        row_bits_.choose(schema_, columns_);
    row_bits_.forget_widened(schema_, columns_);
    row_bits_.resize(n_slots());
    parallel_for(n_useful, n_useful, [&](std::size_t part, std::size_t) {
        for (std::size_t i = part * slots.size() / n_useful; i < (part + 1) * slots.size() / n_useful; ++i)
            row_bits_.set(slots[i], schema_, columns_);
    });
    return slots;
}

void Dataset::erase(std::span<Slot const> slots) {
    for (Column& column : columns_)
        for (Slot const slot : slots)
            column.clear(slot);
    for (Slot const slot : slots) {
        total_weight_ -= vote(slot).weight;
        index_.erase(slot, ids_);
        ids_[slot] = kClearedId;
        labels_[slot] = kClearedLabel;
        row_bits_.clear(slot);
        if (!weights_.empty())
            weights_[slot] = 1;
        free_slots_.push_back(slot);
    }
}

void Dataset::set_weights(std::span<Slot const> slots, std::span<Vote const> votes) {
    bool const are_all_one = std::ranges::all_of(votes, [](Vote vote) { return vote.weight == 1; });
    if (weights_.empty() && are_all_one)
        return;
    weights_.resize(n_slots(), 1);
    for (std::size_t i = 0; i < slots.size(); ++i)
        weights_[slots[i]] = votes[i].weight;
}

// Free slots first, then new ones at the end.
std::vector<Slot> Dataset::take_slots(std::size_t n) {
    std::size_t const n_reused = std::min(n, free_slots_.size());
    std::vector<Slot> slots(free_slots_.end() - static_cast<std::ptrdiff_t>(n_reused), free_slots_.end());
    free_slots_.resize(free_slots_.size() - n_reused);
    slots.resize(n);
    std::iota(slots.begin() + static_cast<std::ptrdiff_t>(n_reused), slots.end(), static_cast<Slot>(n_slots()));

    std::size_t const n_slots_needed = n_slots() + n - n_reused;
    ids_.resize(n_slots_needed, kClearedId);
    labels_.resize(n_slots_needed, kClearedLabel);
    for (Column& column : columns_)
        column.resize(n_slots_needed);
    return slots;
}

std::vector<Slot> Dataset::slots() const {
    std::vector<bool> is_free(n_slots(), false);
    for (Slot const slot : free_slots_)
        is_free[slot] = true;
    std::vector<Slot> used;
    used.reserve(n_rows());
    for (Slot slot = 0; slot < n_slots(); ++slot)
        if (!is_free[slot])
            used.push_back(slot);
    return used;
}

std::size_t Dataset::memory() const {
    std::size_t bytes = labels_.capacity() * sizeof(Label) + weights_.capacity() * sizeof(Count) +
                        ids_.capacity() * sizeof(RowId) + row_bits_.memory() + index_.memory() +
                        free_slots_.capacity() * sizeof(Slot);
    for (Column const& column : columns_)
        bytes += column.memory();
    return bytes;
}

std::optional<std::string> Dataset::find_inconsistency() const {
    std::vector<Slot> const used = slots();
    if (used.size() != n_rows())
        return "The id index counts " + std::to_string(n_rows()) + " rows, but " + std::to_string(used.size()) +
               " slots are in use.";
    for (Slot const slot : used)
        if (find(ids_[slot]) != slot)
            return "The id index does not find row " + std::to_string(ids_[slot]) + ".";
    for (std::size_t column = 0; column < columns_.size(); ++column)
        if (auto const reason = columns_[column].find_inconsistency(used))
            return "Column " + std::to_string(column) + ": " + *reason + ".";
    for (Attribute a = 0; a < n_attributes(); ++a)
        if (auto const bit = bit_of(a))
            for (Slot const slot : used) {
                Column const* const column = numeric_column(a);
                bool const is_on = column != nullptr ? column->code(slot) == 1 : value(slot, a) == kIndicatorOn;
                if (row_bits_.is_set(slot, *bit) != is_on)
                    return "The bit of attribute " + std::to_string(a) + " differs from its value.";
            }
    return std::nullopt;
}

std::vector<std::uint8_t> Dataset::raw_bytes() const {
    std::vector<std::uint8_t> bytes;
    for (Column const& column : columns_)
        column.append_raw_bytes(bytes);
    auto const* begin = reinterpret_cast<std::uint8_t const*>(ids_.data());
    bytes.insert(bytes.end(), begin, begin + ids_.size() * sizeof(RowId));
    auto const* bits = reinterpret_cast<std::uint8_t const*>(row_bits_.all().data());
    bytes.insert(bytes.end(), bits, bits + row_bits_.all().size_bytes());
    return bytes;
}

}  // namespace deciduous
