#include "tree/decide.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/kernels.h"
#include "stats/records.h"

namespace deciduous {

bool Decider::must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const {
    return depth >= context_.params.max_depth || sum(totals) < context_.params.min_samples_split || is_pure(totals);
}

bool Decider::are_few(std::size_t n_rows) const {
    return n_rows > 0 && n_rows <= std::min<std::size_t>(context_.tuning.max_small_rows, SmallNode::kMaxRows) &&
           context_.n_classes <= context_.tuning.max_small_classes && context_.data.weights().empty();
}

Rows Decider::as_small(Rows const& rows, SmallNode& small) {
    scratch_.others.clear();
    for (Attribute const attribute : context_.data.row_bits().numeric_without())
        if (scratch_.active.is_active(attribute))
            scratch_.others.push_back(attribute);
    AttributeList const list = small.take(context_.data, rows.slots, rows.ends, scratch_.others, rows.bits);
    return {{}, {}, {}, &small, small.all(), list};
}

NodeRows Decider::look_at(Rows const& rows, Key key) {
    NodeRows node{context_.data, key, rows.slots, rows.ends, scratch_.totals};
    std::size_t const n_classes = context_.n_classes;
    scratch_.totals.resize(n_classes);
    node.totals = scratch_.totals;
    if (rows.small != nullptr) {
        kernels::chosen->count_common(&rows.set, 1, rows.small->classes().data(), n_classes, scratch_.totals.data());
        scratch_.ends.resize(n_classes);
        std::inclusive_scan(scratch_.totals.begin(), scratch_.totals.end(), scratch_.ends.begin());
        rows.small->list(rows.set, scratch_.slots);
        node.slots = scratch_.slots;
        node.ends = scratch_.ends;
        node.small = rows.small;
        node.set = rows.set;
        node.dominant = dominant_class(key, node.totals);
        return node;
    }
    auto const weights = context_.data.weights();
    scratch_.weights.resize(weights.empty() ? 0 : rows.slots.size());
    for (std::size_t i = 0; i < scratch_.weights.size(); ++i)
        scratch_.weights[i] = weights[rows.slots[i]];
    node.weights = scratch_.weights;
    node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
        scratch_.totals[y] =
            weights.empty() ? static_cast<Count>(end - begin) : sum(node.weights.subspan(begin, end - begin));
    });
    node.dominant = dominant_class(key, node.totals);
    return node;
}

bool Decider::wants_bits(Rows const& rows) const {
    return rows.small == nullptr && rows.bits.empty() && rows.size() > 0 && context_.data.row_bits().n_words() > 0 &&
           rows.size() <= context_.tuning.max_rows_with_bits;
}

Rows Decider::with_bits(Rows const& rows, ScratchBuffer<RowBits::Bits>& bits) const {
    RowBits const& all = context_.data.row_bits();
    std::size_t const n_rows = rows.size();
    Rows result = rows;
    result.bits = {bits.take(n_rows * all.n_words()), n_rows};
    for (std::size_t word = 0; word < all.n_words(); ++word)
        for (std::size_t i = 0; i < n_rows; ++i)
            result.bits.word(word)[i] = all.row(rows.slots[i])[word];
    return result;
}

// Retires those of the attributes with a bit that do not vary.
void Decider::retire_constant_bits(BitColumns bits, std::size_t n_rows) {
    scratch_.varying.resize(context_.data.row_bits().n_words());
    for (std::size_t word = 0; word < scratch_.varying.size(); ++word)
        scratch_.varying[word] = kernels::chosen->find_varying(bits.word(word), n_rows);
    scratch_.active.retire_if([&](Attribute attribute) {
        auto const bit = context_.data.bit_of(attribute);
        return bit && (scratch_.varying[*bit / RowBits::kBitsPerWord] >> (*bit % RowBits::kBitsPerWord) & 1) == 0;
    });
}

// Retires the indicators of categories that no row, or all rows, are of, in columns of many categories.
void Decider::retire_indicators(NodeRows const& node) {
    Dataset const& data = context_.data;
    if (node.size() > context_.tuning.max_rows_with_bits)
        return;
    for (std::size_t const column : data.row_bits().columns_without()) {
        auto const [first, n_categories] = data.schema().columns()[column];
        Column const& its = data.columns()[column];
        Value const held_first = its[node.slots.front()];
        bool const is_constant = std::ranges::all_of(node.slots, [&](Slot slot) { return its[slot] == held_first; });
        scratch_.is_present.resize(data.n_attributes(), 0);
        auto const mark = [&](std::uint8_t is_present) {
            for (Slot const slot : node.slots)
                if (auto const indicator = data.schema().indicator(column, its[slot]))
                    scratch_.is_present[*indicator] = is_present;
        };
        mark(is_constant ? 0 : 1);
        scratch_.active.retire_if(
            [&, begin = first, n = n_categories](Attribute a) { return a - begin < n && scratch_.is_present[a] == 0; });
        mark(0);
    }
}

std::span<Attribute const> Decider::varying_attributes(Rows& rows, NodeRows& node) {
    if (rows.small != nullptr) {
        rows.list = rows.small->narrowed(rows.list, rows.set);
        return rows.small->attributes(rows.list);
    }
    node.bits = wants_bits(rows) ? with_bits(rows, scratch_.bits).bits : rows.bits;
    if (!node.bits.empty())
        retire_constant_bits(node.bits, node.size());
    retire_indicators(node);
    return scratch_.active.active();
}

namespace {

// Whether the length of any record of this node fits into a word: there is a cut for each row or arrival at most.
bool have_lengths(NodeRows const& node, Sampling const& sampling) {
    std::uint64_t const n_cuts = std::max<std::uint64_t>(node.size(), std::uint64_t{sampling.n_thresholds} + 1);
    std::uint64_t const words_per_cut = 4 + 3 * node.n_classes();  // more than a cut of any record takes
    return n_cuts * words_per_cut <= std::numeric_limits<Word>::max() - 64;
}

}  // namespace

Decision Decider::decide(Rows& rows, NodeRows node, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    scratch_.order.start(varying_attributes(rows, node), path.key, sampling.n_attributes);
    scratch_.candidates.start(node.n_classes());
    SplitStats& found = scratch_.found;
    std::size_t const n_most = max_words(node.size());
    bool is_recorded = start_recording(node, sampling);
    scratch_.pairs.clear();
    for (std::uint32_t n_found = 0; n_found < sampling.n_attributes;) {
        auto const attribute = scratch_.order.next();
        if (!attribute)
            break;
        if (rows.small != nullptr && !is_recorded && context_.data.is_binary(*attribute)) {
            scratch_.pairs.push_back(*attribute);  // it is in the list of the few rows, so it varies
            ++n_found;
            continue;
        }
        Finding const finding = scan_attribute(node, *attribute, sampling, is_recorded, context_.tuning,
                                               scratch_.candidates, scratch_.scan);
        if (finding == Finding::constant) {
            if (rows.small != nullptr)
                rows.small->retire(rows.list, *attribute);
            else
                scratch_.active.retire(*attribute);
            continue;
        }
        ++n_found;
        is_recorded = is_recorded && append_record(*attribute, finding, sampling, node, n_most - found.n_words(),
                                                   scratch_.scan, found.words());
        if (is_recorded)
            found.note_record();
    }
    if (!scratch_.pairs.empty())
        scan_pairs(node, scratch_.pairs, sampling, scratch_.candidates, scratch_.scan);
    auto const split = choose(node.totals, node.dominant, path.key, sampling);
    if (!split)
        return {};
    if (!is_recorded)
        return {split};
    found.set_n_left(split->n_left);
    return {split, &found};
}

// Whether what is found at a node is likely to be worth its memory; begins statistics without records if so.
bool Decider::start_recording(NodeRows const& node, Sampling const& sampling) {
    std::size_t const n_head = 1 + node.n_classes();
    if (!is_worth_keeping(n_head, node.size()) || !have_lengths(node, sampling))
        return false;
    auto const likely = scratch_.order.first(sampling.n_attributes);
    if (n_head + likely_length(node, likely, sampling, context_.tuning) > max_words(node.size()))
        return false;
    scratch_.found.start(node.totals);
    return true;
}

std::optional<Split> Decider::choose(std::span<Count const> totals, Label dominant, Key key, Sampling const& sampling) {
    Candidates& candidates = scratch_.candidates;
    CandidateKeys const keys(key);
    auto const choice = candidates.choose(scoring(totals),
                                          [&](Candidate const& its) { return rank_of(its, keys, dominant, sampling); });
    if (!choice)
        return std::nullopt;
    return split_of(candidates[*choice], candidates.n_left(*choice), key, sampling);
}

std::optional<Split> Decider::decide(SplitStats const& stats, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    scratch_.candidates.start(stats.totals().size());
    NodeCounts const counts(path.key, stats.totals());
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record))
        offer_record(record, counts, sampling, scratch_.candidates, scratch_.scan);
    return choose(stats.totals(), counts.dominant, path.key, sampling);
}

bool Decider::renew(SplitStats& stats, std::vector<bool> const& is_stale, NodeRows const& node, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    SplitStats& fresh = scratch_.found;
    fresh.start(stats.totals());
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record)) {
        if (!is_stale[i]) {
            fresh.append(record);
            continue;
        }
        Attribute const attribute = record_attribute(record);
        scratch_.candidates.start(node.n_classes());
        Finding const finding =
            scan_attribute(node, attribute, sampling, true, context_.tuning, scratch_.candidates, scratch_.scan);
        if (finding == Finding::constant)
            return false;
        (void)append_record(attribute, finding, sampling, node, std::numeric_limits<std::size_t>::max(), scratch_.scan,
                            fresh.words());
        fresh.note_record();
    }
    stats.assign(fresh);
    return true;
}

}  // namespace deciduous
