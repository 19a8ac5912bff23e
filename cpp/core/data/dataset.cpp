#include "data/dataset.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <type_traits>

#include "base/error.h"
#include "base/kernels.h"
#include "base/parallel.h"
#include "base/room.h"

namespace deciduous {

namespace {

constexpr RowId kClearedId = 0;
constexpr Label kClearedLabel = 0;

}  // namespace

void Dataset::require_insertable(std::span<RowId const> ids, std::span<WeightedLabel const> votes,
                                 std::size_t n_classes, std::span<Slot const> leaving) const {
    std::vector<RowId> sorted(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    if (auto const twin = std::ranges::adjacent_find(sorted); twin != sorted.end())
        throw InvalidArgument("Row " + std::to_string(*twin) + " comes twice.");
    for (RowId const id : ids)
        if (auto const slot = find(id); slot && !std::ranges::binary_search(leaving, *slot))
            throw InvalidArgument("Row " + std::to_string(id) + " is in the forest already.");
    std::uint64_t total = total_weight_;
    for (Slot const slot : leaving)
        total -= vote(slot).weight;
    for (WeightedLabel const vote : votes) {
        if (vote.label >= n_classes)
            throw InvalidArgument("There is no class " + std::to_string(vote.label) + ".");
        if (vote.weight == 0)
            throw InvalidArgument("A row must have a positive weight.");
        if (vote.target < -kMaxTarget || vote.target > kMaxTarget)
            throw InvalidArgument("The target " + std::to_string(vote.target) + " in fixed point is beyond 2^40.");
        total += vote.weight;
    }
    if (total >= kMaxRows)
        throw InvalidArgument(
            "A forest holds fewer than 2^30 rows, a row of weight w counting as w rows, or as w / `weight_unit` where "
            "that is not 1; these would be " +
            std::to_string(total) + ".");
}

std::vector<Slot> Dataset::insert(std::span<RowId const> ids, Matrix const& rows, std::span<WeightedLabel const> votes,
                                  std::size_t n_threads) {
    if (ids.empty() && row_bits_.is_chosen())  // a deletion
        return {};
    reserve(ids.size(), votes);
    std::vector<std::size_t> n_given(columns_.size(), 0);
    std::vector<Slot> slots = take_slots(ids.size());
    std::size_t const n_useful = slots.size() < tuning_.min_rows_for_threads ? 1 : n_threads;
    try {
        fill(slots, rows, n_given, n_useful);
        fill_bits(slots, n_useful);
    } catch (...) {
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            for (Slot const slot : std::span(slots).first(n_given[column]))
                columns_[column].clear(slot);
            for (Slot const slot : std::span(slots).subspan(n_given[column]))
                columns_[column].clear_ungiven(slot);
        }
        row_bits_.forget_widened(schema_, columns_);  // a column may be plain now
        free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
        throw;
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
        total_weight_ += votes[i].weight;
        ids_[slots[i]] = ids[i];
        labels_[slots[i]] = votes[i].label;
        if (has_targets_)
            targets_[slots[i]] = votes[i].target;
        index_.insert(slots[i], ids_);
    }
    set_weights(slots, votes);
    return slots;
}

// Gives the slots their values; `n_given` tells how many of them have one, column by column.
void Dataset::fill(std::span<Slot const> slots, Matrix const& rows, std::span<std::size_t> n_given,
                   std::size_t n_threads) {
    // Some rows of neighbouring columns at a time: together they are the same lines of the caches.
    constexpr std::size_t kMostColumns = 64 / sizeof(float);
    constexpr std::size_t kRows = 128;
    std::size_t const n_columns = std::clamp<std::size_t>(columns_.size() / n_threads, 1, kMostColumns);
    std::size_t const n_groups = (columns_.size() + n_columns - 1) / n_columns;
    parallel_for(n_groups, n_threads, [&](std::size_t group, std::size_t) {
        std::size_t const first = group * n_columns;
        std::size_t const last = std::min(first + n_columns, columns_.size());
        WipedVector<Value> values(kRows * (last - first));
        std::vector<CodeGuesses> guesses(last - first);
        for (std::size_t begin = 0; begin < slots.size(); begin += kRows) {
            auto const some = slots.subspan(begin, std::min(kRows, slots.size() - begin));
            for (std::size_t i = 0; i < some.size(); ++i)
                kernels::chosen->to_values(rows.row(begin + i) + first, last - first, &values[i * (last - first)]);
            for (std::size_t column = first; column < last; ++column)
                fill_column(columns_[column], some, &values[column - first], last - first, guesses[column - first],
                            n_given[column]);
        }
    });
}

// Gives some slots their values in a column, which are one in so many of these. Counts how many have got one.
void Dataset::fill_column(Column& column, std::span<Slot const> slots, Value const* values, std::size_t step,
                          CodeGuesses& guesses, std::size_t& n_given) {
    for (std::size_t i = 0; i < slots.size();) {
        auto const value_of = [its = values + i * step, step](std::size_t j) { return its[j * step]; };
        std::size_t const n_known = column.give_known(slots.subspan(i), value_of, guesses);
        n_given += n_known;
        i += n_known;
        if (i < slots.size()) {
            column.give(slots[i], values[i * step], free_slots_);
            ++n_given;
            ++i;
        }
    }
}

void Dataset::fill_bits(std::span<Slot const> slots, std::size_t n_threads) {
    if (!row_bits_.is_chosen()) {
        RowBits chosen(schema_, tuning_.max_categories_with_bits);
        chosen.choose(schema_, columns_);
        row_bits_ = std::move(chosen);
    }
    row_bits_.resize(n_slots());
    row_bits_.forget_widened(schema_, columns_);
    parallel_for(n_threads, n_threads, [&](std::size_t part, std::size_t) {
        std::size_t const begin = part * slots.size() / n_threads;
        row_bits_.set(slots.subspan(begin, (part + 1) * slots.size() / n_threads - begin), schema_, columns_);
    });
}

void Dataset::prepare_to_erase(std::size_t n_rows) {
    make_room(free_slots_, free_slots_.size() + n_rows);
}

void Dataset::forget_preparations() noexcept {
    if (free_slots_.empty())
        give_back(free_slots_);
}

void Dataset::erase(std::span<Slot const> slots) noexcept {
    for (Column& column : columns_)
        for (Slot const slot : slots)
            column.clear(slot);
    for (Slot const slot : slots) {
        total_weight_ -= vote(slot).weight;
        index_.erase(slot, ids_);
        ids_[slot] = kClearedId;
        labels_[slot] = kClearedLabel;
        if (has_targets_)
            targets_[slot] = 0;
        row_bits_.clear(slot);
        if (!weights_.empty())
            weights_[slot] = 1;
        free_slots_.push_back(slot);
    }
}

Dataset Dataset::compacted() const {
    std::vector<Slot> const used = slots();
    Dataset compact(schema_, tuning_, has_targets_);
    for (std::size_t column = 0; column < columns_.size(); ++column)
        compact.columns_[column] = columns_[column].picked(used);
    auto const pick = [&used](auto const& all) {
        std::remove_cvref_t<decltype(all)> some(all.empty() ? 0 : used.size());
        std::ranges::transform(used | std::views::take(some.size()), some.begin(),
                               [&](Slot slot) { return all[slot]; });
        return some;
    };
    compact.ids_ = pick(ids_);
    compact.labels_ = pick(labels_);
    compact.targets_ = pick(targets_);
    if (std::ranges::any_of(used, [this](Slot slot) { return vote(slot).weight != 1; }))
        compact.weights_ = pick(weights_);
    compact.index_.reserve(used.size(), compact.ids_);
    std::vector<Slot> all(used.size());
    std::iota(all.begin(), all.end(), Slot{0});
    for (Slot const slot : all)
        compact.index_.insert(slot, compact.ids_);
    if (row_bits_.is_chosen())
        compact.fill_bits(all, 1);
    compact.total_weight_ = total_weight_;
    return compact;
}

void Dataset::set_weights(std::span<Slot const> slots, std::span<WeightedLabel const> votes) {
    bool const are_all_one = std::ranges::all_of(votes, [](WeightedLabel vote) { return vote.weight == 1; });
    if (weights_.empty() && are_all_one)
        return;
    weights_.resize(n_slots(), 1);
    for (std::size_t i = 0; i < slots.size(); ++i)
        weights_[slots[i]] = votes[i].weight;
}

// Memory for so many more rows, and for the case that they have to go again.
void Dataset::reserve(std::size_t n_rows, std::span<WeightedLabel const> votes) {
    std::size_t const n_slots_needed = n_slots() + n_rows - std::min(n_rows, free_slots_.size());
    make_room(ids_, n_slots_needed);
    make_room(labels_, n_slots_needed);
    if (has_targets_)
        make_room(targets_, n_slots_needed);
    if (!weights_.empty() || std::ranges::any_of(votes, [](WeightedLabel vote) { return vote.weight != 1; }))
        make_room(weights_, n_slots_needed);
    for (Column& column : columns_)
        column.reserve(n_slots_needed);
    index_.reserve(n_rows, ids_);
    prepare_to_erase(n_rows);
}

// Free slots first, then new ones at the end.
std::vector<Slot> Dataset::take_slots(std::size_t n) {
    std::size_t const n_reused = std::min(n, free_slots_.size());
    std::vector<Slot> slots(n);
    std::copy(free_slots_.end() - static_cast<std::ptrdiff_t>(n_reused), free_slots_.end(), slots.begin());
    free_slots_.resize(free_slots_.size() - n_reused);
    std::iota(slots.begin() + static_cast<std::ptrdiff_t>(n_reused), slots.end(), static_cast<Slot>(n_slots()));

    std::size_t const n_slots_needed = n_slots() + n - n_reused;
    ids_.resize(n_slots_needed, kClearedId);
    labels_.resize(n_slots_needed, kClearedLabel);
    if (has_targets_)
        targets_.resize(n_slots_needed, 0);
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
                        targets_.capacity() * sizeof(Target) + ids_.capacity() * sizeof(RowId) + row_bits_.memory() +
                        index_.memory() + free_slots_.capacity() * sizeof(Slot);
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
    auto const* targets = reinterpret_cast<std::uint8_t const*>(targets_.data());
    bytes.insert(bytes.end(), targets, targets + targets_.size() * sizeof(Target));
    auto const* bits = reinterpret_cast<std::uint8_t const*>(row_bits_.all().data());
    bytes.insert(bytes.end(), bits, bits + row_bits_.all().size_bytes());
    return bytes;
}

}  // namespace deciduous
