// The decision of a node (docs/algorithm.md, 2.4): the only code that chooses splits, whether trees grow, change, or
// are asked what a change would cost.
#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "base/params.h"
#include "base/tuning.h"
#include "data/dataset.h"
#include "split/impurity.h"
#include "split/node_rows.h"
#include "split/sampling.h"
#include "stats/records.h"
#include "stats/split_stats.h"
#include "tree/node.h"
#include "tree/thread_scratch.h"

namespace deciduous {

// What growing and changing trees depends on.
struct TreeContext {
    Params const& params;
    Tuning const& tuning;
    Dataset const& data;
    std::size_t n_classes;
    ClassWeights class_weights;
};

// Rows on the way down a tree: class after class, or as a set if they are few.
struct Rows {
    std::span<Slot> slots;
    std::span<std::uint32_t const> ends;  // of the classes
    BitColumns bits = {};                 // of the slots, if they were gathered
    SmallNode* small = nullptr;           // if they are few: what they are of
    RowSet set = 0;
    AttributeList list = {};  // of the attributes that may vary among the few
    [[nodiscard]] std::size_t size() const {
        return small == nullptr ? slots.size() : static_cast<std::size_t>(std::popcount(set));
    }
};

// What was decided: a split, or a leaf.
struct Decision {
    std::optional<Split> split;
    SplitStats const* stats = nullptr;  // of the node, if they are worth keeping; until the next decision
};

class Decider {
public:
    Decider(TreeContext const& context, ThreadScratch& scratch) : context_(context), scratch_(scratch) {}

    // Whether rows are a leaf before any split is considered. Whether all targets are equal shows when it is.
    [[nodiscard]] bool must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const;

    // The rows as those of a leaf; valid until the next call, as is what follows. The slots of few rows are not listed
    // yet.
    [[nodiscard]] LeafRows count(Rows const& rows);
    [[nodiscard]] LeafRows as_leaf(Rows const& rows) { return listed(rows, count(rows)); }
    [[nodiscard]] LeafRows listed(Rows const& rows, LeafRows leaf);

    // What a decision needs to know of the rows.
    [[nodiscard]] NodeRows look_at(Rows const& rows, Key key);
    [[nodiscard]] NodeRows look_at(RowGroup& rows, Key key) { return look_at(Rows{rows.slots, rows.ends}, key); }

    // Decides from the rows of a node. Attributes found constant are retired.
    [[nodiscard]] Decision decide(Rows& rows, NodePath path);

    // Decides from statistics that are up to date.
    [[nodiscard]] std::optional<Split> decide(SplitStats const& stats, NodePath path);

    // The first of the candidates of an attribute, which has a record, for which this holds.
    template <typename Predicate>
    [[nodiscard]] std::optional<Split> find_split(SplitStats const& stats, Word const* record, NodePath path,
                                                  Predicate const& is_wanted) {
        Sampling const sampling = sampling_at(path.depth, context_.params);
        scratch_.candidates.start(stats.totals().size());
        offer_record(record, NodeCounts(path.key, stats.totals(), context_.data.has_targets()), sampling,
                     scratch_.candidates, scratch_.scan);
        for (std::size_t i = 0; i < scratch_.candidates.size(); ++i) {
            Split const split = split_of(scratch_.candidates[i], scratch_.candidates.n_left(i), path.key, sampling);
            if (is_wanted(split))
                return split;
        }
        return std::nullopt;
    }

    // Makes some records of a node again from its rows; false if an attribute turned out to be constant, so that
    // another one takes its place.
    [[nodiscard]] bool renew(SplitStats& stats, std::vector<bool> const& is_stale, NodeRows const& node, NodePath path);

    // Whether statistics of a node are worth their memory.
    [[nodiscard]] bool is_worth_keeping(std::size_t n_words, std::size_t n_rows) const {
        return n_rows >= context_.tuning.min_cached_rows && n_words <= max_words(n_rows);
    }

    // The rows as a set if they are few, else as they are. The small node is kept by the loan.
    [[nodiscard]] bool are_few(std::size_t n_rows) const;
    [[nodiscard]] Rows as_small(Rows const& rows, SmallNode& small);

    // Whether the bits of the rows are worth gathering, and the rows with them.
    [[nodiscard]] bool wants_bits(Rows const& rows) const;
    [[nodiscard]] Rows with_bits(Rows const& rows, ScratchBuffer<RowBits::Bits>& bits) const;

    [[nodiscard]] Params const& params() const { return context_.params; }
    [[nodiscard]] Tuning const& tuning() const { return context_.tuning; }

private:
    [[nodiscard]] std::size_t max_words(std::size_t n_rows) const {
        Tuning const& tuning = context_.tuning;
        std::size_t const n_bytes =
            context_.data.has_targets() ? tuning.max_bytes_per_row_with_target : tuning.max_bytes_per_row;
        return n_bytes * n_rows / sizeof(Word);
    }
    [[nodiscard]] Scoring scoring(std::span<Count const> totals) const {
        return {context_.params.criterion, context_.params.min_samples_leaf, totals, context_.class_weights,
                scratch_.scan.targets_of_node.sum};
    }
    [[nodiscard]] std::span<Target const> list_targets(Rows const& rows, std::size_t n_rows);
    [[nodiscard]] std::optional<Split> decide_few_targets(Rows& rows, NodePath path, Sampling const& sampling);
    void scan_few(Rows& rows, NodeRows const& node, Sampling const& sampling);
    template <typename TakePairs, typename Take>
    void take_few(Rows& rows, Sampling const& sampling, TakePairs const& take_pairs, Take const& take);
    [[nodiscard]] bool scan_many(NodeRows const& node, Sampling const& sampling);
    template <typename Complete>
    [[nodiscard]] std::optional<Split> choose(std::span<Count const> totals, Label dominant, Key key,
                                              Sampling const& sampling, Complete const& complete);
    [[nodiscard]] bool start_recording(NodeRows const& node, Sampling const& sampling);
    void append_active(std::span<Attribute const> attributes, std::vector<Attribute>& list) const;
    [[nodiscard]] std::span<Attribute const> list_varying(BitColumns bits, std::size_t n_rows);
    void retire_indicators(NodeRows const& node);
    [[nodiscard]] std::span<Attribute const> varying_attributes(Rows& rows, NodeRows& node);
    [[nodiscard]] static std::span<Attribute const> varying_few(Rows& rows);

    TreeContext context_;
    ThreadScratch& scratch_;
};

}  // namespace deciduous
