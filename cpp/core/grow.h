// From rows to subtrees: the only code that makes splits (docs/algorithm.md, 2.4).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "candidates.h"
#include "dataset.h"
#include "params.h"
#include "stats.h"
#include "tree.h"
#include "types.h"
#include "uniform_candidates.h"
#include "valid_candidates.h"

namespace deciduous {

// The attributes not known to be constant. What is constant at a node is constant below it, so a descent retires
// attributes and a return restores them: whoever visits a node opens a scope.
class ActiveAttributes {
public:
    explicit ActiveAttributes(std::size_t n_attributes);

    // Restores, at its end, what was active at its beginning.
    class Scope {
    public:
        explicit Scope(ActiveAttributes& attributes) : attributes_(attributes), n_active_(attributes.n_active_) {}
        ~Scope() { attributes_.n_active_ = n_active_; }
        Scope(Scope const&) = delete;
        Scope& operator=(Scope const&) = delete;

    private:
        ActiveAttributes& attributes_;
        std::size_t n_active_;
    };

    [[nodiscard]] std::span<Attribute const> active() const { return {order_.data(), n_active_}; }
    [[nodiscard]] std::span<Attribute const> retired() const { return std::span(order_).subspan(n_active_); }
    void retire(Attribute attribute);

private:
    std::vector<Attribute> order_;  // active ones first
    std::vector<std::uint32_t> position_;
    std::size_t n_active_;
};

// The active attributes of a node in the node's attribute order, as far as they are asked for: the first few of many
// are found without sorting all of them.
class AttributeOrder {
public:
    void start(std::span<Attribute const> active, Key node, std::size_t n_wanted);

    // The next one, or nothing.
    [[nodiscard]] std::optional<Attribute> next();

private:
    void take_below(std::uint64_t bound);

    struct Ranked {
        std::uint64_t rank;
        Attribute attribute;
    };

    std::vector<Attribute> attributes_;
    std::vector<std::uint64_t> ranks_;
    std::uint64_t bound_ = 0;     // those below it are in `sorted_`, or were
    std::uint64_t step_ = 0;      // by which it is raised
    std::vector<Ranked> sorted_;  // the first n_sorted_, ascending
    std::size_t n_sorted_ = 0;
    std::size_t place_ = 0;
};

// Vectors lent out and taken back, so that walking a tree again does not allocate them again.
class SlotBuffers {
public:
    class Loan {
    public:
        explicit Loan(SlotBuffers& owner) : owner_(&owner) {
            if (!owner.free_.empty()) {
                slots = std::move(owner.free_.back());
                owner.free_.pop_back();
                slots.clear();
            }
        }
        ~Loan() { owner_->free_.push_back(std::move(slots)); }
        Loan(Loan const&) = delete;
        Loan& operator=(Loan const&) = delete;

        std::vector<Slot> slots;

    private:
        SlotBuffers* owner_;
    };

private:
    std::vector<std::vector<Slot>> free_;
};

// All that one thread needs to work on trees of a forest.
struct Worker {
    explicit Worker(std::size_t n_attributes) : active(n_attributes) {}

    Workspace work;
    ActiveAttributes active;
    SlotBuffers buffers;
    std::vector<Label> labels;
    std::vector<Count> weights;
    std::vector<RowBits::Bits> bits;
    std::vector<RowBits::Bits> varying;
    std::vector<std::uint8_t> is_present;  // per attribute: whether some rows are of that category
    std::vector<Count> totals;
    std::vector<Slot> partition;
    AttributeOrder order;
    std::vector<ChangedRow> removed;  // of the walk over a tree
    std::vector<ChangedRow> added;
    std::vector<ChangedRow> right;
    std::vector<bool> is_stale;  // records of a node that must be made again
    SplitStats found;            // statistics of a node whose split was searched
    SplitStats planned;          // statistics of a node as they would be after a change

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        work.wipe_values();
        found.wipe();
        planned.wipe();
    }
};

// How a node at some depth chooses its split.
struct Sampling {
    NodeKind kind;
    CandidateScheme scheme;
    std::uint32_t n_attributes;
    std::uint32_t n_thresholds;
};

[[nodiscard]] Sampling sampling_at(std::uint32_t depth, Params const& params);

// What growing and changing trees depends on.
struct TreeContext {
    Params const& params;
    Tuning const& tuning;
    Dataset const& data;
    std::size_t n_classes;
    ClassWeights class_weights;
};

class Grower {
public:
    Grower(TreeContext const& context, Worker& worker)
        : params_(context.params),
          tuning_(context.tuning),
          data_(context.data),
          n_classes_(context.n_classes),
          class_weights_(context.class_weights),
          worker_(worker) {}

    // Turns the node into the subtree of these rows (ascending). The rows are permuted.
    void grow(Tree& tree, NodeIndex node, std::span<Slot> rows, Place place);

    // Turns an unbuilt node into a leaf or a split, with unbuilt children if `only_one_level`.
    void expand(Tree& tree, NodeIndex node, Place place, bool only_one_level);

    // Turns the node into a split of the rows with these statistics, if any, and makes its children: grown, or left
    // unbuilt.
    void grow_children(Tree& tree, NodeIndex node, Split const& split, SplitStats const* stats, std::span<Slot> rows,
                       Place place, bool leave_unbuilt);

    // Whether the rows are a leaf before any split is considered.
    [[nodiscard]] bool must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const;

    // Gathers what scanning needs to know about rows; valid until the next call.
    [[nodiscard]] NodeView view(std::span<Slot const> rows, Key key);
    // Gathers the bits of the rows, and retires the attributes among them that do not vary.
    void gather_bits(NodeView& node);

    // Retires the indicators of categories that no row, or all rows, are of, in columns of many categories.
    void retire_indicators(NodeView const& node);
    [[nodiscard]] std::span<Count const> count_classes(std::span<Slot const> rows);

    // What a search found.
    struct Found {
        std::optional<Split> split;
        SplitStats const* stats;  // of the node, if they are worth keeping; until the next search
    };

    // The node's split, searched among the active attributes; those found constant are retired.
    [[nodiscard]] Found find_split(NodeView node, Sampling const& sampling);

    // The best split that known candidates offer.
    [[nodiscard]] std::optional<Split> best_split(SplitStats const& stats, Key key, Sampling const& sampling);

    // Offers the candidates of an attribute and records them if asked to; false if it is constant.
    [[nodiscard]] bool scan(NodeView const& node, Attribute attribute, Sampling const& sampling, BestSplit& best,
                            WipedVector<Word>* records);

    // Whether statistics of a node are worth their memory.
    [[nodiscard]] bool is_worth_keeping(std::size_t n_words, std::size_t n_rows) const {
        return n_rows >= tuning_.min_cached_rows && n_words * sizeof(Word) <= tuning_.max_bytes_per_row * n_rows;
    }

    // Moves the rows left of the split to the front, keeping their order on both sides; how many they are.
    std::size_t partition(std::span<Slot> rows, Attribute attribute, Value threshold);

    [[nodiscard]] static UniformShape uniform_shape(Sampling const& sampling) {
        return {sampling.n_thresholds, sampling.kind == NodeKind::random};
    }
    [[nodiscard]] SampleSize sample_size(Sampling const& sampling) const {
        return {sampling.n_thresholds, tuning_.reserve, tuning_.min_sampled_rows};
    }

    [[nodiscard]] Scoring scoring(std::span<Count const> totals) const {
        return {params_.criterion, params_.min_samples_leaf, totals, sum(totals), class_weights_};
    }

private:
    Params const& params_;
    Tuning const& tuning_;
    Dataset const& data_;
    std::size_t n_classes_;
    ClassWeights class_weights_;
    Worker& worker_;
};

}  // namespace deciduous
