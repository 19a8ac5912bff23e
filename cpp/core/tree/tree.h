// The structure of one tree: nodes, the rows of its leaves, and the statistics of its large splits. Knows how a tree is
// stored, not how it is grown or changed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/changes.h"
#include "split/candidates.h"
#include "stats/split_stats.h"
#include "tree/alternates.h"
#include "tree/node.h"
#include "tree/word_blocks.h"

namespace deciduous {

struct TreeMemory {
    std::size_t structure = 0;
    std::size_t decision_stats = 0;
    std::size_t leaf_stats = 0;
};

// Rows of a node, class after class.
struct RowGroup {
    std::vector<Slot> slots;
    std::vector<std::uint32_t> ends;  // of the classes
};

// What a leaf or an unbuilt node is made of: rows class after class, and how many there are of each, by weight.
struct LeafRows {
    std::span<Count const> counts;
    std::span<Slot const> slots;
    std::span<std::uint32_t const> ends;  // of the classes among the slots
};

// What walking a tree needs, kept from one walk to the next.
struct TreeScratch {
    std::vector<NodeIndex> pending;
    std::vector<NodeIndex> leaves;
    std::vector<std::uint32_t> places;
};

class Tree {
public:
    static constexpr NodeIndex kRoot = 0;

    // A single leaf without rows.
    Tree(Key root, std::size_t n_classes);

    [[nodiscard]] NodePath root() const { return {0, root_key_}; }
    [[nodiscard]] Node const& node(NodeIndex index) const { return nodes_[index]; }
    [[nodiscard]] std::size_t n_nodes() const { return nodes_.size() - 2 * free_pairs_.size(); }

    // Nodes that were postponed: those that are unbuilt, and splits that are undecided.
    [[nodiscard]] std::size_t n_postponed() const { return n_unbuilt_ + n_undecided_; }
    [[nodiscard]] bool is_undecided(Node const& node) const {
        return node.leads_to_postponed && stats(node) != nullptr && stats(node)->is_undecided();
    }
    [[nodiscard]] bool is_postponed(NodeIndex index) const {
        return nodes_[index].kind == NodeKind::unbuilt || is_undecided(nodes_[index]);
    }
    [[nodiscard]] bool leads_to_postponed(NodeIndex index) const {
        Node const& its = nodes_[index];
        return its.kind == NodeKind::unbuilt || its.leads_to_postponed;
    }

    // Notes whether a split leads to something postponed, which its children know already.
    void note_postponed(NodeIndex index);

    // Leaves a split undecided: makes some of its records unknown.
    void leave_undecided(NodeIndex index, std::vector<bool> const& is_unknown);
    void note_decided(SplitStats& stats) {
        n_undecided_ -= stats.is_undecided() ? 1 : 0;
        stats.note_decided();
    }

    // Of a leaf or an unbuilt node: rows per class, and the rows themselves, class after class; those of a leaf ascend
    // in each.
    [[nodiscard]] std::span<Count const> counts(Node const& node) const;
    [[nodiscard]] std::span<Slot const> rows(Node const& node) const;

    // Of a split that has them, else null.
    [[nodiscard]] SplitStats const* stats(Node const& node) const;
    [[nodiscard]] SplitStats* stats(NodeIndex index);

    // Ask the memory for a node, for its statistics, and for what is in them: each is found through the one before.
    void prefetch(NodeIndex index) const { __builtin_prefetch(&nodes_[index]); }
    void prefetch_stats(NodeIndex index) const {
        if (SplitStats const* const its = stats(nodes_[index]))
            __builtin_prefetch(its);
    }
    void prefetch_records(NodeIndex index) const {
        if (SplitStats const* const its = stats(nodes_[index]))
            its->prefetch();
    }

    // All rows below a node with the changes made.
    void gather(NodeIndex index, Changes const& changes, Dataset const& data, RowGroup& rows,
                TreeScratch& scratch) const;

    // Each of these replaces what the node was; its former subtree is released.
    void make_leaf(NodeIndex index, LeafRows const& rows) { fill(index, NodeKind::leaf, rows); }
    void make_unbuilt(NodeIndex index, LeafRows const& rows) {
        fill(index, NodeKind::unbuilt, rows);
        ++n_unbuilt_;
    }
    void make_split(NodeIndex index, NodeKind kind, Split const& split);

    // Some row below a node, which holds rows, that is not among those that leave (ascending), or nothing. One that an
    // added row will meet, if there is one: its way is walked anyway.
    [[nodiscard]] std::optional<Slot> any_row(NodeIndex index, Changes const& changes, Dataset const& data,
                                              TreeScratch& scratch) const;

    // Gives a split new children, leaves without rows, and sets the former ones aside, n_left of n_rows rows in the
    // left one. Statistics stay.
    void set_aside(NodeIndex index, Split const& split, Count n_left, Count n_rows);

    // Swaps the children of a split with some that were set aside.
    void bring_back(NodeIndex index, Alternate& alternate, Count n_left);

    [[nodiscard]] Alternates& alternates() { return alternates_; }
    [[nodiscard]] Alternates const& alternates() const { return alternates_; }
    void drop_alternates();
    void drop_alternates_of(NodeIndex index);

    // Drops what was not used for the longest time until all that is set aside has at most this many rows.
    void limit_alternates(std::size_t n_rows);

    // Replaces the rows of a leaf or an unbuilt node by those with the changes made.
    void change_rows(NodeIndex index, Changes const& changes, Dataset const& data);

    void set_threshold(NodeIndex index, Value threshold) { nodes_[index].threshold_or_n = threshold; }
    void set_stats(NodeIndex index, SplitStats const& stats);
    void drop_stats(NodeIndex index);

    void widen(std::size_t n_classes);

    // Whether large splits may have no statistics because nobody made them yet, as after loading.
    [[nodiscard]] bool lacks_stats() const { return lacks_stats_; }
    void set_lacks_stats(bool lacks_stats) { lacks_stats_ = lacks_stats; }

    // A tree that is still to be made by others.
    [[nodiscard]] static Tree unmade() { return {}; }

    // Begins anew, in the memory that it has. The root is still to be made.
    void start(Key root, std::size_t n_classes);

    // The same tree in as much memory as it takes; this one is of no use then, until it begins anew. Without anything
    // set aside.
    [[nodiscard]] Tree packed();

    // Whether more than this share of the memory in use is held by nobody.
    [[nodiscard]] bool is_wasteful(double max_waste) const;

    // Lays the tree out anew, as if it had just been grown, without what is set aside. Rows get new slots, in the same
    // order, unless there are none. If memory runs out, nothing has changed.
    void lay_out(std::span<Slot const> new_slots);
    [[nodiscard]] TreeMemory memory() const;

private:
    Tree() = default;
    struct Packed {};
    Tree(Tree& other, Packed);

    // Calls the function with each leaf and unbuilt node below a node until it says that it is enough.
    template <typename Function>
    void visit_leaves(NodeIndex index, std::vector<NodeIndex>& pending, Function const& is_enough) const;
    void list_leaves(NodeIndex index, TreeScratch& scratch) const;
    template <typename Function>
    void for_each_class(Node const& leaf, Dataset const& data, Function const& function) const;
    void release(NodeIndex index);
    void release(Alternate const& alternate);
    void make_empty(NodeIndex index);
    void fill(NodeIndex index, NodeKind kind, LeafRows const& rows);
    [[nodiscard]] NodeIndex allocate_pair();
    [[nodiscard]] std::size_t n_words(Count n_rows) const { return n_classes_ + n_rows; }

    Key root_key_ = 0;
    std::size_t n_classes_ = 0;
    WipedVector<Node> nodes_;  // a threshold may be the value of a row
    std::vector<NodeIndex> free_pairs_;
    WordBlocks blocks_;  // of leaves and unbuilt nodes: rows per class, then slots
    std::vector<SplitStats> stats_;
    std::vector<std::uint32_t> free_stats_;
    std::size_t n_unbuilt_ = 0;
    std::size_t n_undecided_ = 0;
    bool lacks_stats_ = false;
    Alternates alternates_;
};

}  // namespace deciduous
