// The structure of one tree: nodes, the rows of its leaves, and the statistics of its large splits. Knows how a tree is
// stored, not how it is grown or changed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "alternates.h"
#include "candidates.h"
#include "hash.h"
#include "stats.h"
#include "types.h"
#include "word_blocks.h"

namespace deciduous {

enum class NodeKind : std::uint32_t { leaf, random, greedy, unbuilt };
enum class Side : std::uint32_t { left = kLeft, right = kRight };

// 16 bytes. Children are allocated in pairs, so one link leads to both.
struct Node {
    NodeKind kind : 2 = NodeKind::leaf;
    std::uint32_t has_alternates : 1 = 0;  // split
    Attribute attribute : 29 = 0;          // split
    std::uint32_t threshold_or_n = 0;      // split: threshold; leaf and unbuilt: number of rows
    std::uint32_t link = kNone;  // split: left child, the right one follows; leaf and unbuilt: block of counts and rows
    std::uint32_t stats = kNone;  // split: its statistics, if any

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    [[nodiscard]] bool is_split() const { return kind == NodeKind::random || kind == NodeKind::greedy; }
    [[nodiscard]] Value threshold() const { return threshold_or_n; }
    [[nodiscard]] Count n_rows() const { return threshold_or_n; }
    [[nodiscard]] NodeIndex child(Side side) const { return link + static_cast<NodeIndex>(side); }
};
static_assert(sizeof(Node) == 16);

// Where a node stands: all that its subtree depends on beside its rows.
struct Place {
    std::uint32_t depth;
    Key key;
    [[nodiscard]] Place child(Side side) const { return {depth + 1, hash(key, static_cast<std::uint64_t>(side))}; }
};

struct TreeMemory {
    std::size_t structure = 0;
    std::size_t decision_stats = 0;
    std::size_t leaf_stats = 0;
};

// What walking a tree needs, kept from one walk to the next.
struct TreeScratch {
    std::vector<NodeIndex> pending;
    std::vector<std::uint64_t> bitmap;
};

class Tree {
public:
    static constexpr NodeIndex kRoot = 0;

    // A single leaf without rows.
    Tree(Key root, std::size_t n_classes);

    [[nodiscard]] Place root() const { return {0, root_key_}; }
    [[nodiscard]] Node const& node(NodeIndex index) const { return nodes_[index]; }
    [[nodiscard]] std::size_t n_nodes() const { return nodes_.size() - 2 * free_pairs_.size(); }
    [[nodiscard]] std::size_t n_unbuilt() const { return n_unbuilt_; }

    // Of a leaf or an unbuilt node.
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

    // The slots of all rows below a node, with the changes made, ascending.
    void gather(NodeIndex index, Changes const& changes, std::vector<Slot>& slots, TreeScratch& scratch) const;

    // Each of these replaces what the node was; its former subtree is released.
    void make_leaf(NodeIndex index, std::span<Count const> counts, std::span<Slot const> rows);
    void make_unbuilt(NodeIndex index, std::span<Count const> counts, std::span<Slot const> rows);
    void make_split(NodeIndex index, NodeKind kind, Split const& split);

    // Some row below a node, which holds rows, that is not among these (ascending), or nothing.
    [[nodiscard]] std::optional<Slot> any_row(NodeIndex index, std::span<ChangedRow const> excluded,
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
    void change_rows(NodeIndex index, Changes const& changes);

    void set_threshold(NodeIndex index, Value threshold) { nodes_[index].threshold_or_n = threshold; }
    void set_stats(NodeIndex index, SplitStats const& stats);
    void drop_stats(NodeIndex index);

    void widen(std::size_t n_classes);

    // Gives back the memory that growing reserved in vain.
    void trim();
    [[nodiscard]] TreeMemory memory() const;

private:
    // Calls the function with the rows of each leaf and unbuilt node below a node until it says that it is enough.
    template <typename Function>
    void visit_leaves(NodeIndex index, std::vector<NodeIndex>& pending, Function const& is_enough) const;

    void release(NodeIndex index);
    void release(Alternate const& alternate);
    void fill(NodeIndex index, NodeKind kind, std::span<Count const> counts, std::span<Slot const> rows);
    [[nodiscard]] NodeIndex allocate_pair();
    [[nodiscard]] std::size_t n_words(Count n_rows) const { return n_classes_ + n_rows; }

    Key root_key_;
    std::size_t n_classes_;
    WipedVector<Node> nodes_;  // a threshold may be the value of a row
    std::vector<NodeIndex> free_pairs_;
    WordBlocks blocks_;  // of leaves and unbuilt nodes: rows per class, then slots ascending
    std::vector<SplitStats> stats_;
    std::vector<std::uint32_t> free_stats_;
    std::size_t n_unbuilt_ = 0;
    Alternates alternates_;
};

}  // namespace deciduous
