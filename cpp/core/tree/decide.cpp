#include "tree/decide.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/kernels.h"
#include "split/few_targets.h"
#include "stats/records.h"

namespace deciduous {

bool Decider::must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const {
    return depth >= context_.params.max_depth || sum(totals) < context_.params.min_samples_split ||
           (!context_.data.has_targets() && is_pure(totals));
}

bool Decider::are_few(std::size_t n_rows) const {
    return n_rows > 0 && n_rows <= std::min<std::size_t>(context_.tuning.max_small_rows, SmallNode::kMaxRows) &&
           context_.n_classes <= std::min<std::size_t>(context_.tuning.max_small_classes, kernels::kMaxWordClasses) &&
           context_.data.weights().empty();
}

Rows Decider::as_small(Rows const& rows, SmallNode& small) {
    scratch_.others.clear();
    append_active(context_.data.row_bits().numeric_without(), scratch_.others);
    AttributeList const list = small.take(context_.data, rows.slots, rows.ends, scratch_.others, rows.bits);
    return {{}, {}, {}, &small, small.all(), list};
}

LeafRows Decider::count(Rows const& rows) {
    std::size_t const n_classes = context_.n_classes;
    auto& totals = scratch_.totals;
    totals.resize(n_classes);
    if (rows.small != nullptr) {
        if (n_classes == 1)
            totals[0] = static_cast<Count>(std::popcount(rows.set));
        else
            kernels::chosen->count_common(&rows.set, 1, rows.small->classes().data(), n_classes, totals.data());
        scratch_.ends.resize(n_classes);
        std::inclusive_scan(totals.begin(), totals.end(), scratch_.ends.begin());
        return {totals, {}, scratch_.ends};
    }
    auto const weights = context_.data.weights();
    for (std::size_t y = 0, begin = 0; y < n_classes; begin = rows.ends[y++]) {
        totals[y] = static_cast<Count>(rows.ends[y] - begin);
        if (!weights.empty()) {
            totals[y] = 0;
            for (Slot const slot : rows.slots.subspan(begin, rows.ends[y] - begin))
                totals[y] += weights[slot];
        }
    }
    return {totals, rows.slots, rows.ends};
}

LeafRows Decider::listed(Rows const& rows, LeafRows leaf) {
    if (rows.small != nullptr)
        leaf.slots = rows.small->list(rows.set, scratch_.slots);
    return leaf;
}

NodeRows Decider::look_at(Rows const& rows, Key key) {
    LeafRows const counted = count(rows);
    NodeRows node{context_.data, key, counted.slots, counted.ends, counted.counts};
    node.small = rows.small;
    node.set = rows.set;
    node.dominant = dominant_class(key, node.totals);
    auto const weights = context_.data.weights();
    scratch_.weights.resize(weights.empty() ? 0 : rows.slots.size());
    for (std::size_t i = 0; i < scratch_.weights.size(); ++i)
        scratch_.weights[i] = weights[rows.slots[i]];
    node.weights = scratch_.weights;
    if (context_.data.has_targets()) {
        node.dominant = kNoClass;
        node.targets = list_targets(rows, node.size());
    }
    return node;
}

std::span<Target const> Decider::list_targets(Rows const& rows, std::size_t n_rows) {
    Target* const targets = scratch_.targets.take(n_rows);
    if (rows.small != nullptr)
        rows.small->list_targets(rows.set, targets);
    else
        std::ranges::transform(rows.slots, targets, [&](Slot slot) { return context_.data.targets()[slot]; });
    return {targets, n_rows};
}

bool Decider::wants_bits(Rows const& rows) const {
    return rows.small == nullptr && rows.bits.empty() && rows.size() > 0 && context_.data.row_bits().n_words() > 0 &&
           rows.size() <= context_.tuning.max_rows_with_bits;
}

Rows Decider::with_bits(Rows const& rows, ScratchBuffer<RowBits::Bits>& bits) const {
    RowBits const& all = context_.data.row_bits();
    std::size_t const n_rows = rows.size();
    Rows result = rows;
    result.bits = {bits.take(n_rows * all.n_words() + kernels::kLanes), n_rows};
    for (std::size_t word = 0; word < all.n_words(); ++word)
        for (std::size_t i = 0; i < n_rows; ++i)
            result.bits.word(word)[i] = all.row(rows.slots[i])[word];
    return result;
}

// Appends those of the attributes that are not known to be constant.
void Decider::append_active(std::span<Attribute const> attributes, std::vector<Attribute>& list) const {
    for (Attribute const attribute : attributes)
        if (scratch_.active.is_active(attribute))
            list.push_back(attribute);
}

// Lists the attributes with a bit that vary, and those of the others that may.
std::span<Attribute const> Decider::list_varying(BitColumns bits, std::size_t n_rows) {
    RowBits const& all = context_.data.row_bits();
    auto& list = scratch_.listed;
    list.resize(all.n_words() * RowBits::kBitsPerWord + kernels::kLanes);
    scratch_.varying.resize(all.n_words());
    for (std::size_t word = 0; word < all.n_words(); ++word)
        scratch_.varying[word] = kernels::chosen->find_varying(bits.word(word), n_rows) & all.in_use(word);
    list.resize(all.list(scratch_.varying, list.data()));
    if (all.columns_without().empty())
        append_active(all.numeric_without(), list);
    else
        std::ranges::copy_if(scratch_.active.active(), std::back_inserter(list),
                             [&](Attribute attribute) { return !all.place(attribute); });
    std::size_t const n_listed = list.size();
    list.resize(n_listed + kernels::kLanes);
    return std::span(list).first(n_listed);
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

std::span<Attribute const> Decider::varying_few(Rows& rows) {
    rows.list = rows.small->narrowed(rows.list, rows.set);
    return rows.small->attributes(rows.list);
}

std::span<Attribute const> Decider::varying_attributes(Rows& rows, NodeRows& node) {
    if (rows.small != nullptr)
        return varying_few(rows);
    node.bits = wants_bits(rows) ? with_bits(rows, scratch_.bits).bits : rows.bits;
    retire_indicators(node);
    return node.bits.empty() ? scratch_.active.active() : list_varying(node.bits, node.size());
}

namespace {

// Whether the length of any record of this node fits into a word: there is a cut for each row or arrival at most.
bool have_lengths(NodeRows const& node, Sampling const& sampling) {
    std::uint64_t const n_cuts = std::max<std::uint64_t>(node.size(), std::uint64_t{sampling.n_thresholds} + 1);
    std::uint64_t const words_per_cut =  // more than a cut of any record takes
        std::max<std::uint64_t>(4 + 3 * node.n_classes(), sizeof(TargetCut) / sizeof(Word));
    return n_cuts * words_per_cut <= std::numeric_limits<Word>::max() - 64;
}

}  // namespace

Decision Decider::decide(Rows& rows, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    if (context_.data.has_targets() && rows.small != nullptr && FewTargets::suits(rows.size(), sampling))
        return {decide_few_targets(rows, path, sampling)};
    NodeRows node = look_at(rows, path.key);
    if (!node.targets.empty()) {
        if (std::ranges::all_of(node.targets, [&](Target target) { return target == node.targets[0]; }))
            return {};
        scratch_.scan.targets_of_node.sum = sum_of_targets(node);
    }
    scratch_.order.start(varying_attributes(rows, node), path.key, sampling.n_attributes);
    scratch_.candidates.start(node.n_classes());
    bool is_recorded = false;
    if (rows.small != nullptr)
        scan_few(rows, node, sampling);
    else
        is_recorded = scan_many(node, sampling);
    auto const complete = [&](Candidate& its, Count* left) {
        complete_pair(node, its, left);
        its.rank = noted_rank({its.value, its.next}, {left, node.n_classes()}, node.dominant, sampling);
    };
    auto const split = choose(node.totals, node.dominant, path.key, sampling, complete);
    if (!split)
        return {};
    if (!is_recorded)
        return {split};
    scratch_.found.set_n_left(split->n_left);
    return {split, &scratch_.found};
}

// The split of few rows of a regression forest, if all their candidates are in the sample.
std::optional<Split> Decider::decide_few_targets(Rows& rows, NodePath path, Sampling const& sampling) {
    FewTargets few(context_.data, *rows.small, rows.set, path.key, context_.params.min_samples_leaf,
                   scratch_.scan.few_targets);
    if (few.have_one_target())
        return std::nullopt;
    scratch_.order.start(varying_few(rows), path.key, sampling.n_attributes);
    take_few(
        rows, sampling, [&](std::span<Attribute const> attributes) { few.take_pairs(attributes); },
        [&](Attribute attribute) { return few.take(attribute); });
    return few.best(sampling);
}

// Finds the candidates of few rows. Statistics are not kept: deciding again is as fast.
void Decider::scan_few(Rows& rows, NodeRows const& node, Sampling const& sampling) {
    take_few(
        rows, sampling,
        [&](std::span<Attribute const> attributes) {
            append_pairs(node, attributes, scratch_.scan.set_rows, scratch_.candidates);
        },
        [&](Attribute attribute) {
            return scan_attribute(node, attribute, sampling, false, context_.tuning, scratch_.candidates,
                                  scratch_.scan) != Finding::constant;
        });
}

// Takes the attributes that few rows consider: those of two values, which are known to vary, together, and the others
// one by one, unless `take` finds that one is constant.
template <typename TakePairs, typename Take>
void Decider::take_few(Rows& rows, Sampling const& sampling, TakePairs const& take_pairs, Take const& take) {
    auto& pairs = scratch_.pairs;
    auto& others = scratch_.others;
    for (std::size_t n_found = 0; n_found < sampling.n_attributes;) {
        auto const attributes = scratch_.order.next(sampling.n_attributes - n_found);
        if (attributes.empty())
            break;
        pairs.resize(std::max(pairs.size(), attributes.size()));
        others.resize(std::max(others.size(), attributes.size()));
        std::size_t n_pairs = 0;
        std::size_t n_others = 0;
        for (Attribute const attribute : attributes) {  // without branches, as their outcomes would be random
            bool const is_pair = context_.data.row_bits().is_binary(attribute);
            pairs[n_pairs] = others[n_others] = attribute;
            n_pairs += is_pair ? 1 : 0;
            n_others += is_pair ? 0 : 1;
        }
        take_pairs(std::span(pairs).first(n_pairs));
        n_found += n_pairs;
        for (Attribute const attribute : std::span(others).first(n_others)) {
            if (take(attribute))
                ++n_found;
            else
                rows.small->retire(rows.list, attribute);
        }
    }
}

// Finds the candidates of rows that are not few, and records what it finds if that is worth its memory; whether it was.
bool Decider::scan_many(NodeRows const& node, Sampling const& sampling) {
    bool is_recorded = start_recording(node, sampling);
    SplitStats& found = scratch_.found;
    std::size_t const n_most = max_words(node.size());
    for (std::uint32_t n_found = 0; n_found < sampling.n_attributes;) {
        auto const next = scratch_.order.next(1);
        if (next.empty())
            break;
        Attribute const attribute = next[0];
        Finding const finding =
            scan_attribute(node, attribute, sampling, is_recorded, context_.tuning, scratch_.candidates, scratch_.scan);
        if (finding == Finding::constant) {
            scratch_.active.retire(attribute);
            continue;
        }
        ++n_found;
        is_recorded = is_recorded && append_record(attribute, finding, sampling, node, n_most - found.n_words(),
                                                   scratch_.scan, found.words());
        if (is_recorded)
            found.note_record();
    }
    return is_recorded;
}

// Whether what is found at a node is likely to be worth its memory; begins statistics without records if so.
bool Decider::start_recording(NodeRows const& node, Sampling const& sampling) {
    bool const has_targets = !node.targets.empty();
    std::size_t const n_head = SplitStats::head_length(node.n_classes(), has_targets);
    if (has_targets && sampling.scheme == CandidateScheme::uniform && !sampling.is_random)
        return false;  // thresholds are not recorded with sums
    if (!is_worth_keeping(n_head, node.size()) || !have_lengths(node, sampling))
        return false;
    auto const likely = scratch_.order.first(sampling.n_attributes);
    if (n_head + likely_length(node, likely, sampling, context_.tuning) > max_words(node.size()))
        return false;
    if (has_targets)
        scratch_.scan.targets_of_node.two = two_targets_of(node);
    scratch_.found.start(node.totals, has_targets ? &scratch_.scan.targets_of_node : nullptr);
    return true;
}

template <typename Complete>
std::optional<Split> Decider::choose(std::span<Count const> totals, Label dominant, Key key, Sampling const& sampling,
                                     Complete const& complete) {
    Candidates& candidates = scratch_.candidates;
    CandidateKeys const keys(key);
    auto const its_rank = [&](Candidate const& its) { return rank_of(its, keys, dominant, sampling); };
    Noise const noise(context_.params, key, totals, context_.class_weights);
    auto const choice = candidates.choose(scoring(totals), noise, complete, its_rank);
    if (!choice)
        return std::nullopt;
    return split_of(candidates[*choice], candidates.n_left(*choice), key, sampling);
}

std::optional<Split> Decider::decide(SplitStats const& stats, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    scratch_.candidates.start(stats.totals().size());
    scratch_.scan.targets_of_node = stats.has_targets() ? stats.targets() : TargetSummary{};
    NodeCounts const counts(path.key, stats.totals(), context_.data.has_targets());
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record))
        offer_record(record, counts, sampling, scratch_.candidates, scratch_.scan);
    auto const nothing = [](Candidate&, Count*) {};  // all are complete
    return choose(stats.totals(), counts.dominant, path.key, sampling, nothing);
}

bool Decider::renew(SplitStats& stats, std::vector<bool> const& is_stale, NodeRows const& node, NodePath path) {
    Sampling const sampling = sampling_at(path.depth, context_.params);
    SplitStats& fresh = scratch_.found;
    if (stats.has_targets())
        scratch_.scan.targets_of_node = stats.targets();
    fresh.start(stats.totals(), stats.has_targets() ? &scratch_.scan.targets_of_node : nullptr);
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
