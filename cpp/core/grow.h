// From rows to subtrees: the only code that makes splits (docs/algorithm.md, 2.4).
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "candidates.h"
#include "dataset.h"
#include "handful.h"
#include "params.h"
#include "rank_order.h"
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
    [[nodiscard]] bool is_active(Attribute attribute) const { return position_[attribute] < n_active_; }
    [[nodiscard]] std::span<Attribute const> retired() const { return std::span(order_).subspan(n_active_); }
    void retire(Attribute attribute);

private:
    std::vector<Attribute> order_;  // active ones first
    std::vector<std::uint32_t> position_;
    std::size_t n_active_;
};

// The active attributes of a node in the node's attribute order.
class AttributeOrder {
public:
    void start(std::span<Attribute const> active, Key node, std::size_t n_wanted);

    // The next one, or nothing.
    [[nodiscard]] std::optional<Attribute> next() {
        std::size_t const place = order_.next();
        return place == RankOrder::kNone ? std::nullopt : std::optional(attributes_[place]);
    }

private:
    std::vector<Attribute> attributes_;
    std::vector<std::uint64_t> ranks_;
    RankOrder order_;
};

// Things lent out and taken back, so that walking a tree again does not make them again. They come as they were left.
template <typename Thing>
class Stock {
public:
    class Loan {
    public:
        explicit Loan(Stock& owner) : owner_(&owner) {
            if (owner.free_.empty())
                owner.free_.push_back(std::make_unique<Thing>());
            thing_ = std::move(owner.free_.back());
            owner.free_.pop_back();
        }
        ~Loan() { owner_->free_.push_back(std::move(thing_)); }
        Loan(Loan const&) = delete;
        Loan& operator=(Loan const&) = delete;

        Thing& operator*() const { return *thing_; }
        Thing* operator->() const { return thing_.get(); }

    private:
        Stock* owner_;
        std::unique_ptr<Thing> thing_;
    };

private:
    std::vector<std::unique_ptr<Thing>> free_;
};

struct SlotLoan : Stock<std::vector<Slot>>::Loan {
    explicit SlotLoan(Stock<std::vector<Slot>>& owner) : Loan(owner) { (*this)->clear(); }
};

using HandfulLoan = Stock<Handful>::Loan;

// The rows of a node while trees grow and change: many of them, ascending, or a few.
struct ManyRows {
    std::span<Slot> slots;
    [[nodiscard]] std::size_t size() const { return slots.size(); }
};

struct FewRows {
    Handful* handful;
    RowSet set;
    AttributeList list;  // of the attributes that may vary
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(std::popcount(set)); }
};

// All that one thread needs to work on trees of a forest.
struct Worker {
    explicit Worker(std::size_t n_attributes) : active(n_attributes) {}

    Workspace work;
    ActiveAttributes active;
    Stock<std::vector<Slot>> buffers;
    Stock<Handful> handfuls;
    std::vector<Slot> slots;  // of few rows
    std::vector<Slot> by_class;
    std::vector<std::size_t> class_ends;
    std::vector<Attribute> others;
    std::vector<Label> labels;
    std::vector<Count> weights;
    std::vector<RowBits::Bits> bits;
    std::vector<RowBits::Bits> varying;
    std::vector<std::uint8_t> is_present;  // per attribute: whether some rows are of that category
    std::vector<Count> totals;
    std::vector<Slot> partition;
    AttributeOrder order;
    TreeScratch tree_scratch;
    std::vector<ChangedRow> removed;  // of the walk over a tree
    std::vector<ChangedRow> added;
    std::vector<ChangedRow> right;
    std::vector<bool> is_stale;  // records of a node that must be made again
    SplitStats found;            // statistics of a node whose split was searched
    SplitStats shortened;
    SplitStats planned;  // statistics of a node as they would be after a change

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        work.wipe_values();
        found.wipe();
        shortened.wipe();
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
    template <typename Rows>
    void grow_children(Tree& tree, NodeIndex node, Split const& split, SplitStats const* stats, Rows const& rows,
                       Place place, bool leave_unbuilt);

    // Calls the function with the rows as what is best for so many. The rows are permuted.
    template <typename Function>
    void with_rows(std::span<Slot> rows, Function const& function) {
        if (rows.empty() || rows.size() > Handful::kMaxRows || n_classes_ > Handful::kMaxClasses ||
            !data_.weights().empty()) {
            function(ManyRows{rows});
            return;
        }
        HandfulLoan handful(worker_.handfuls);
        worker_.others.clear();
        for (Attribute const attribute : data_.row_bits().numeric_without())
            if (worker_.active.is_active(attribute))
                worker_.others.push_back(attribute);
        AttributeList const list = handful->take(data_, rows, n_classes_, worker_.others);
        function(FewRows{&*handful, handful->all(), list});
    }

    // Whether the rows are a leaf before any split is considered.
    [[nodiscard]] bool must_be_leaf(std::span<Count const> totals, std::uint32_t depth) const;

    // Gathers what scanning needs to know about rows; valid until the next call.
    [[nodiscard]] NodeView view(std::span<Slot const> rows, Key key);
    [[nodiscard]] NodeView view(ManyRows const& rows, Key key) { return view(rows.slots, key); }
    [[nodiscard]] NodeView view(FewRows const& rows, Key key);
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
    [[nodiscard]] Found find_split(ManyRows const& rows, NodeView node, Sampling const& sampling);
    [[nodiscard]] Found find_split(FewRows& rows, NodeView const& node, Sampling const& sampling);

    // The best split that known candidates offer.
    [[nodiscard]] std::optional<Split> best_split(SplitStats const& stats, Key key, Sampling const& sampling);

    // Offers the candidates of an attribute and records them if asked to, as briefly as can be if that is asked, too;
    // false if it is constant.
    [[nodiscard]] bool scan(NodeView const& node, Attribute attribute, Sampling const& sampling, BestSplit& best,
                            WipedVector<Word>* records, bool is_short);

    // Whether statistics of a node are worth their memory.
    [[nodiscard]] bool is_worth_keeping(std::size_t n_words, std::size_t n_rows) const {
        return n_rows >= tuning_.min_cached_rows && n_words * sizeof(Word) <= tuning_.max_bytes_per_row * n_rows;
    }

    // Moves the rows left of the split to the front, keeping their order on both sides; how many they are.
    std::size_t partition(std::span<Slot> rows, Attribute attribute, Value threshold);

    // The rows of both children.
    [[nodiscard]] std::pair<ManyRows, ManyRows> divide(ManyRows const& rows, Split const& split);
    [[nodiscard]] std::pair<FewRows, FewRows> divide(FewRows const& rows, Split const& split);

    [[nodiscard]] static UniformShape uniform_shape(Sampling const& sampling) {
        return {sampling.n_thresholds, sampling.kind == NodeKind::random};
    }
    [[nodiscard]] SampleSize sample_size(Sampling const& sampling, bool is_short) const {
        return {sampling.n_thresholds, tuning_.reserve, is_short};
    }

    [[nodiscard]] Scoring scoring(std::span<Count const> totals) const {
        return {params_.criterion, params_.min_samples_leaf, totals, sum(totals), class_weights_};
    }

private:
    void group_by_class(NodeView& node);

    // Makes the statistics of a node as short as can be; whether they are worth keeping then.
    [[nodiscard]] bool shorten(SplitStats& stats, NodeView const& node, Sampling const& sampling);

    template <typename Rows>
    void grow_rows(Tree& tree, NodeIndex node, Rows rows, Place place);
    // Searches among these attributes; calls `retire` with those found constant.
    template <typename Retire>
    [[nodiscard]] Found search(NodeView const& node, std::span<Attribute const> attributes, Sampling const& sampling,
                               Retire const& retire);

    Params const& params_;
    Tuning const& tuning_;
    Dataset const& data_;
    std::size_t n_classes_;
    ClassWeights class_weights_;
    Worker& worker_;
};

}  // namespace deciduous
