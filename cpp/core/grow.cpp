#include "grow.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "hash.h"
#include "impurity.h"
#include "kernels.h"

namespace deciduous {

ActiveAttributes::ActiveAttributes(std::size_t n_attributes)
    : order_(n_attributes), position_(n_attributes), n_active_(n_attributes) {
    std::iota(order_.begin(), order_.end(), Attribute{0});
    std::iota(position_.begin(), position_.end(), 0U);
}

void ActiveAttributes::retire(Attribute attribute) {
    std::uint32_t const place = position_[attribute];
    Attribute const last = order_[--n_active_];
    std::swap(order_[place], order_[n_active_]);
    position_[last] = place;
    position_[attribute] = static_cast<std::uint32_t>(n_active_);
}

void AttributeOrder::start(std::span<Attribute const> active, Key node, std::size_t n_wanted) {
    attributes_.assign(active.begin(), active.end());  // retiring moves them
    ranks_.resize(active.size());
    kernels::hash_words(attributes_.data(), attributes_.size(), hash(node, kAttribute), ranks_.data());
    order_.start(ranks_, static_cast<double>(n_wanted));
}

Sampling sampling_at(std::uint32_t depth, Params const& params) {
    if (depth < params.random_depth)
        return {NodeKind::random, CandidateScheme::uniform, 1, 1};
    return {NodeKind::greedy, params.candidates, params.max_features, params.n_thresholds};
}

bool Grower::must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const {
    return depth >= params_.max_depth || sum(totals) < params_.min_samples_split || is_pure(totals);
}

std::span<Count const> Grower::count_classes(std::span<Slot const> rows) {
    worker_.totals.assign(n_classes_, 0);
    for (Slot const slot : rows) {
        Vote const vote = data_.vote(slot);
        worker_.totals[vote.label] += vote.weight;
    }
    return worker_.totals;
}

NodeView Grower::view(std::span<Slot const> rows, Key key) {
    auto const all_labels = data_.labels();
    auto const all_weights = data_.weights();
    worker_.labels.resize(rows.size());
    std::ranges::transform(rows, worker_.labels.begin(), [&](Slot slot) { return all_labels[slot]; });
    worker_.weights.resize(all_weights.empty() ? 0 : rows.size());
    if (!all_weights.empty())
        std::ranges::transform(rows, worker_.weights.begin(), [&](Slot slot) { return all_weights[slot]; });
    worker_.totals.assign(n_classes_, 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
        worker_.totals[worker_.labels[i]] += worker_.weights.empty() ? 1 : worker_.weights[i];
    NodeView node{data_, key, rows, worker_.labels, worker_.weights, worker_.totals};
    group_by_class(node);
    return node;
}

void Grower::group_by_class(NodeView& node) {
    if (node.slots.size() < tuning_.min_sampled_rows || !node.weights.empty() || n_classes_ > Handful::kMaxClasses)
        return;
    worker_.class_ends.assign(n_classes_, 0);
    for (std::size_t y = 1; y < n_classes_; ++y)
        worker_.class_ends[y] = worker_.class_ends[y - 1] + node.totals[y - 1];
    worker_.by_class.resize(node.slots.size());
    for (std::size_t i = 0; i < node.slots.size(); ++i)
        worker_.by_class[worker_.class_ends[node.labels[i]]++] = node.slots[i];
    node.by_class = worker_.by_class;
    node.class_ends = worker_.class_ends;
}

NodeView Grower::view(FewRows const& rows, Key key) {
    std::size_t const n_rows = rows.size();
    worker_.slots.resize(n_rows);
    worker_.labels.resize(n_rows);
    std::size_t i = 0;
    for (RowSet left = rows.set; left != 0; left &= left - 1, ++i) {
        auto const place = static_cast<std::size_t>(std::countr_zero(left));
        worker_.slots[i] = rows.handful->slot(place);
        worker_.labels[i] = rows.handful->label(place);
    }
    worker_.totals.resize(n_classes_);
    kernels::count_common(rows.set, rows.handful->classes().data(), n_classes_, worker_.totals.data());
    NodeView node{data_, key, worker_.slots, worker_.labels, {}, worker_.totals, {}, rows.handful, rows.set};
    group_by_class(node);
    return node;
}

bool Grower::scan(NodeView const& node, Attribute attribute, Sampling const& sampling, BestSplit& best,
                  WipedVector<Word>* records, bool is_short) {
    if (sampling.scheme == CandidateScheme::valid)
        return scan_valid(node, attribute, sample_size(sampling, is_short), best, records, worker_.work);
    return scan_uniform(node, attribute, uniform_shape(sampling), best, records, worker_.work);
}

namespace {

// With more rows nearly all attributes vary, and it is faster to look at them one by one.
constexpr std::size_t kMaxGathered = 2048;

}  // namespace

void Grower::retire_indicators(NodeView const& node) {
    Schema const& schema = data_.schema();
    if (node.slots.size() > kMaxGathered)
        return;
    worker_.is_present.resize(data_.n_attributes(), 0);
    for (std::size_t column = 0; column < schema.n_columns(); ++column) {
        auto const [first, n_categories] = schema.columns()[column];
        if (n_categories == 0 || data_.bit_of(first))
            continue;
        Value const held_first = data_.columns()[column][node.slots.front()];
        bool const is_constant =
            std::ranges::all_of(node.slots, [&](Slot slot) { return data_.columns()[column][slot] == held_first; });
        auto const mark = [&](std::uint8_t is_present) {
            for (Slot const slot : node.slots)
                if (auto const indicator = schema.indicator(column, data_.columns()[column][slot]))
                    worker_.is_present[*indicator] = is_present;
        };
        mark(is_constant ? 0 : 1);
        auto const active = worker_.active.active();
        for (std::size_t i = active.size(); i-- > 0;)
            if (Attribute const a = active[i]; a - first < n_categories && worker_.is_present[a] == 0)
                worker_.active.retire(a);
        mark(0);
    }
}

void Grower::gather_bits(NodeView& node) {
    RowBits const& bits = data_.row_bits();
    std::size_t const n_words = bits.n_words();
    std::size_t const n_rows = node.slots.size();
    if (n_words == 0 || n_rows > kMaxGathered)
        return;
    worker_.bits.resize(n_rows * n_words);
    worker_.varying.assign(n_words, 0);
    RowBits::Bits const* const first = bits.row(node.slots.front());
    for (std::size_t i = 0; i < n_rows; ++i) {
        RowBits::Bits const* const row = bits.row(node.slots[i]);
        for (std::size_t word = 0; word < n_words; ++word) {
            worker_.bits[word * n_rows + i] = row[word];
            worker_.varying[word] |= row[word] ^ first[word];
        }
    }
    node.bits = worker_.bits;
    auto const active = worker_.active.active();
    for (std::size_t i = active.size(); i-- > 0;) {
        auto const bit = data_.bit_of(active[i]);
        if (bit && (worker_.varying[*bit / RowBits::kBitsPerWord] >> (*bit % RowBits::kBitsPerWord) & 1) == 0)
            worker_.active.retire(active[i]);
    }
}

Grower::Found Grower::find_split(ManyRows const&, NodeView node, Sampling const& sampling) {
    gather_bits(node);
    retire_indicators(node);
    return search(node, worker_.active.active(), sampling,
                  [this](Attribute attribute) { worker_.active.retire(attribute); });
}

Grower::Found Grower::find_split(FewRows& rows, NodeView const& node, Sampling const& sampling) {
    rows.list = rows.handful->narrowed(rows.list, rows.set);
    return search(node, rows.handful->attributes(rows.list), sampling,
                  [&](Attribute attribute) { rows.handful->retire(rows.list, attribute); });
}

template <typename Retire>
Grower::Found Grower::search(NodeView const& node, std::span<Attribute const> attributes, Sampling const& sampling,
                             Retire const& retire) {
    AttributeOrder& order = worker_.order;
    order.start(attributes, node.key, sampling.n_attributes);
    SplitStats& found = worker_.found;
    found.start(node.totals);
    bool is_recorded = is_worth_keeping(0, node.slots.size());
    bool is_short = false;
    Scoring const its_scoring = scoring(node.totals);
    BestSplit best(its_scoring);
    std::uint32_t n_found = 0;
    while (n_found < sampling.n_attributes) {
        auto const attribute = order.next();
        if (!attribute)
            break;
        if (!scan(node, *attribute, sampling, best, is_recorded ? &found.words() : nullptr, is_short)) {
            retire(*attribute);
            continue;
        }
        ++n_found;
        found.note_record();
        if (is_recorded && !is_worth_keeping(found.n_words(), node.slots.size())) {
            is_recorded = !is_short && shorten(found, node, sampling);
            is_short = true;
        }
    }
    Split const* const split = best.get();
    if (split == nullptr)
        return {std::nullopt, nullptr};
    found.set_n_left(split->n_left);
    return {*split, is_recorded ? &found : nullptr};
}

bool Grower::shorten(SplitStats& stats, NodeView const& node, Sampling const& sampling) {
    if (node.by_class.empty())
        return false;
    SplitStats& shortened = worker_.shortened;
    shortened.start(node.totals);
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record)) {
        append_shortened(record, node, sample_size(sampling, true), shortened.words(), worker_.work);
        shortened.note_record();
    }
    stats.assign(shortened);
    return is_worth_keeping(stats.n_words(), node.slots.size());
}

std::optional<Split> Grower::best_split(SplitStats const& stats, Key key, Sampling const& sampling) {
    Scoring const its_scoring = scoring(stats.totals());
    BestSplit best(its_scoring);
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record)) {
        if (sampling.scheme == CandidateScheme::uniform)
            offer_uniform(record, key, uniform_shape(sampling), best, worker_.work);
        else
            offer_valid(record, key, best, worker_.work);
    }
    return best.get() != nullptr ? std::optional(*best.get()) : std::nullopt;
}

std::size_t Grower::partition(std::span<Slot> rows, Attribute attribute, Value threshold) {
    worker_.partition.clear();
    std::size_t n_left = 0;
    data_.visit(attribute, [&](auto view) {
        for (Slot const slot : rows) {
            if (view(slot) <= threshold)
                rows[n_left++] = slot;
            else
                worker_.partition.push_back(slot);
        }
    });
    std::ranges::copy(worker_.partition, rows.begin() + static_cast<std::ptrdiff_t>(n_left));
    return n_left;
}

std::pair<ManyRows, ManyRows> Grower::divide(ManyRows const& rows, Split const& split) {
    std::size_t const n_left = partition(rows.slots, split.attribute, split.threshold);
    return {{rows.slots.first(n_left)}, {rows.slots.subspan(n_left)}};
}

std::pair<FewRows, FewRows> Grower::divide(FewRows const& rows, Split const& split) {
    RowSet left = 0;
    data_.visit(split.attribute, [&](auto view) {
        for (RowSet rest = rows.set; rest != 0; rest &= rest - 1) {
            auto const place = static_cast<std::size_t>(std::countr_zero(rest));
            left |= RowSet{view(rows.handful->slot(place)) <= split.threshold} << place;
        }
    });
    return {{rows.handful, left, rows.list}, {rows.handful, rows.set & ~left, rows.list}};
}

void Grower::grow(Tree& tree, NodeIndex node, std::span<Slot> rows, Place place) {
    with_rows(rows, [&](auto its_rows) { grow_rows(tree, node, its_rows, place); });
}

template <typename Rows>
void Grower::grow_rows(Tree& tree, NodeIndex node, Rows rows, Place place) {
    NodeView const its = view(rows, place.key);
    if (must_be_leaf(its.totals, place.depth)) {
        tree.make_leaf(node, its.totals, its.slots);
        return;
    }
    ActiveAttributes::Scope const scope(worker_.active);
    auto const [split, stats] = find_split(rows, its, sampling_at(place.depth, params_));
    if (split)
        grow_children(tree, node, *split, stats, rows, place, false);
    else
        tree.make_leaf(node, its.totals, its.slots);
}

void Grower::expand(Tree& tree, NodeIndex node, Place place, bool only_one_level) {
    SlotLoan loan(worker_.buffers);
    std::vector<Slot>& rows = *loan;
    auto const held = tree.rows(tree.node(node));
    rows.assign(held.begin(), held.end());
    if (!only_one_level) {
        grow(tree, node, rows, place);
        return;
    }
    ActiveAttributes::Scope const scope(worker_.active);
    NodeView const its = view(rows, place.key);
    Found found{std::nullopt, nullptr};
    if (!must_be_leaf(its.totals, place.depth))
        found = find_split(ManyRows{rows}, its, sampling_at(place.depth, params_));
    if (found.split)
        grow_children(tree, node, *found.split, found.stats, ManyRows{rows}, place, true);
    else
        tree.make_leaf(node, its.totals, rows);
}

template <typename Rows>
void Grower::grow_children(Tree& tree, NodeIndex node, Split const& split, SplitStats const* stats, Rows const& rows,
                           Place place, bool leave_unbuilt) {
    tree.make_split(node, sampling_at(place.depth, params_).kind, split);
    if (stats != nullptr)
        tree.set_stats(node, *stats);
    auto const [left, right] = divide(rows, split);
    for (Side const side : {Side::left, Side::right}) {
        Rows const& child_rows = side == Side::left ? left : right;
        NodeIndex const child = tree.node(node).child(side);
        if (leave_unbuilt) {
            NodeView const its = view(child_rows, place.key);
            tree.make_unbuilt(child, its.totals, its.slots);
        } else if constexpr (std::is_same_v<Rows, ManyRows>) {
            grow(tree, child, child_rows.slots, place.child(side));
        } else {
            grow_rows(tree, child, child_rows, place.child(side));
        }
    }
}

template void Grower::grow_children(Tree&, NodeIndex, Split const&, SplitStats const*, ManyRows const&, Place, bool);
template void Grower::grow_children(Tree&, NodeIndex, Split const&, SplitStats const*, FewRows const&, Place, bool);

}  // namespace deciduous
