#include "tree.h"

#include <algorithm>
#include <bit>

#include "room.h"

namespace deciduous {

namespace {

// Sorts distinct slots.
void sort_slots(std::vector<Slot>& slots, std::vector<std::uint64_t>& bitmap) {
    // Setting bits and reading them back in order takes one pass each; a word without bits takes little.
    constexpr std::size_t kMaxWordsPerSlot = 16;
    if (slots.empty())
        return;
    auto const [least, greatest] = std::ranges::minmax(slots);
    Slot const base = least;
    std::size_t const n_words = (greatest - base) / 64 + 1;
    if (n_words > kMaxWordsPerSlot * slots.size()) {
        std::ranges::sort(slots);
        return;
    }
    bitmap.assign(n_words, 0);
    for (Slot const slot : slots)
        bitmap[(slot - base) / 64] |= std::uint64_t{1} << ((slot - base) % 64);
    auto place = slots.begin();
    for (std::size_t i = 0; i < n_words; ++i)
        for (std::uint64_t word = bitmap[i]; word != 0; word &= word - 1)
            *place++ = base + static_cast<Slot>(64 * i) + static_cast<Slot>(std::countr_zero(word));
}

// Takes some of the ascending slots out, in place; how many are left.
std::size_t remove_sorted(std::span<Slot> slots, std::span<ChangedRow const> removed) {
    if (removed.empty())
        return slots.size();
    auto kept = std::ranges::lower_bound(slots, removed.front().slot);
    auto gone = removed.begin();
    for (auto slot = kept; slot != slots.end(); ++slot) {
        while (gone != removed.end() && gone->slot < *slot)
            ++gone;
        if (gone == removed.end() || gone->slot != *slot)
            *kept++ = *slot;
    }
    return static_cast<std::size_t>(kept - slots.begin());
}

// Merges ascending slots into the first n_held of `slots`, in place from behind; there is room for all.
void insert_sorted(std::span<Slot> slots, std::size_t n_held, std::span<ChangedRow const> added) {
    std::size_t place = slots.size();
    for (std::size_t n_left = added.size(); n_left > 0;) {
        bool const takes_held = n_held > 0 && slots[n_held - 1] > added[n_left - 1].slot;
        slots[--place] = takes_held ? slots[--n_held] : added[--n_left].slot;
    }
}

}  // namespace

Tree::Tree(Key root, std::size_t n_classes) : root_key_(root), n_classes_(n_classes), nodes_(1) {
    make_leaf(kRoot, std::vector<Count>(n_classes, 0), {});
}

std::span<Count const> Tree::counts(Node const& node) const {
    return blocks_.block(node.link, n_classes_);
}

std::span<Slot const> Tree::rows(Node const& node) const {
    return blocks_.block(node.link, n_words(node.n_rows())).subspan(n_classes_);
}

SplitStats const* Tree::stats(Node const& node) const {
    return node.is_split() && node.stats != Node::kNone ? &stats_[node.stats] : nullptr;
}

SplitStats* Tree::stats(NodeIndex index) {
    return const_cast<SplitStats*>(std::as_const(*this).stats(nodes_[index]));
}

template <typename Function>
void Tree::visit_leaves(NodeIndex index, std::vector<NodeIndex>& pending, Function const& is_enough) const {
    pending.assign(1, index);
    while (!pending.empty()) {
        Node const& its = nodes_[pending.back()];
        pending.pop_back();
        if (its.is_split()) {
            pending.push_back(its.child(Side::right));
            pending.push_back(its.child(Side::left));
        } else if (is_enough(rows(its))) {
            return;
        }
    }
}

void Tree::gather(NodeIndex index, Changes const& changes, std::vector<Slot>& slots, TreeScratch& scratch) const {
    slots.clear();
    visit_leaves(index, scratch.pending, [&](std::span<Slot const> rows) {
        slots.insert(slots.end(), rows.begin(), rows.end());
        return false;
    });
    sort_slots(slots, scratch.bitmap);
    std::size_t const n_kept = remove_sorted(slots, changes.removed);
    slots.resize(n_kept + changes.added.size());
    insert_sorted(slots, n_kept, changes.added);
}

// Gives back everything the node owns; what it is itself is up to the caller.
void Tree::release(NodeIndex index) {
    if (!nodes_[index].is_split() && nodes_[index].link == Node::kNone)
        return;  // a new node
    std::vector<NodeIndex> pending{index};
    while (!pending.empty()) {
        NodeIndex const current = pending.back();
        Node const its = nodes_[current];
        pending.pop_back();
        if (!its.is_split()) {
            if (its.link != Node::kNone)
                blocks_.free(its.link, n_words(its.n_rows()));
            n_unbuilt_ -= its.kind == NodeKind::unbuilt ? 1 : 0;
            continue;
        }
        drop_stats(current);
        pending.push_back(its.child(Side::left));
        pending.push_back(its.child(Side::right));
        if (its.has_alternates)
            for (Alternate const& alternate : alternates_.take(current)) {
                pending.push_back(alternate.pair);
                pending.push_back(alternate.pair + 1);
                free_pairs_.push_back(alternate.pair);
            }
        nodes_[current].threshold_or_n = 0;  // a threshold may be the value of a row
        free_pairs_.push_back(its.link);
    }
}

// Gives back children that were set aside and are in no list any more.
void Tree::release(Alternate const& alternate) {
    release(alternate.pair);
    release(alternate.pair + 1);
    nodes_[alternate.pair] = nodes_[alternate.pair + 1] = Node{};
    free_pairs_.push_back(alternate.pair);
}

void Tree::set_aside(NodeIndex index, Split const& split, Count n_left, Count n_rows) {
    NodeIndex const fresh = allocate_pair();
    make_leaf(fresh, std::vector<Count>(n_classes_, 0), {});
    make_leaf(fresh + 1, std::vector<Count>(n_classes_, 0), {});
    Node& its = nodes_[index];
    alternates_.add({index, its.attribute, its.threshold(), its.link, n_left, n_rows, 0});
    its.has_alternates = 1;
    its.attribute = split.attribute;
    its.threshold_or_n = split.threshold;
    its.link = fresh;
}

void Tree::bring_back(NodeIndex index, Alternate& alternate, Count n_left) {
    Node& its = nodes_[index];
    Alternate const former{index, its.attribute, its.threshold(), its.link, n_left, alternate.n_rows, 0};
    its.attribute = alternate.attribute;
    its.threshold_or_n = alternate.threshold;
    its.link = alternate.pair;
    alternate = former;
    alternates_.note_use(alternate);
}

void Tree::drop_alternates() {
    limit_alternates(0);
}

void Tree::drop_alternates_of(NodeIndex index) {
    if (!nodes_[index].has_alternates)
        return;
    nodes_[index].has_alternates = 0;
    for (Alternate const& alternate : alternates_.take(index))
        release(alternate);
}

void Tree::limit_alternates(std::size_t n_rows) {
    while (!alternates_.empty() && alternates_.n_rows() > n_rows) {
        Alternate const oldest = alternates_.take_oldest();
        auto const is_sibling = [&](Alternate const& its) { return its.node == oldest.node; };
        nodes_[oldest.node].has_alternates = std::ranges::any_of(alternates_.all(), is_sibling) ? 1 : 0;
        release(oldest);
    }
}

void Tree::fill(NodeIndex index, NodeKind kind, std::span<Count const> counts, std::span<Slot const> rows) {
    release(index);
    auto const n_rows = static_cast<Count>(rows.size());
    Node its;
    its.kind = kind;
    its.threshold_or_n = n_rows;
    its.link = blocks_.allocate(n_words(n_rows));
    auto const block = blocks_.block(its.link, n_words(n_rows));
    std::ranges::copy(counts, block.begin());
    std::ranges::copy(rows, block.begin() + static_cast<std::ptrdiff_t>(n_classes_));
    nodes_[index] = its;
}

void Tree::make_leaf(NodeIndex index, std::span<Count const> counts, std::span<Slot const> rows) {
    fill(index, NodeKind::leaf, counts, rows);
}

void Tree::make_unbuilt(NodeIndex index, std::span<Count const> counts, std::span<Slot const> rows) {
    fill(index, NodeKind::unbuilt, counts, rows);
    ++n_unbuilt_;
}

void Tree::make_split(NodeIndex index, NodeKind kind, Split const& split) {
    release(index);
    Node its;
    its.kind = kind;
    its.attribute = split.attribute;
    its.threshold_or_n = split.threshold;
    its.link = allocate_pair();
    nodes_[index] = its;
}

NodeIndex Tree::allocate_pair() {
    NodeIndex pair = 0;
    if (free_pairs_.empty()) {
        pair = static_cast<NodeIndex>(nodes_.size());
        lengthen(nodes_, 2);
    } else {
        pair = free_pairs_.back();
        free_pairs_.pop_back();
    }
    nodes_[pair] = nodes_[pair + 1] = Node{};
    return pair;
}

void Tree::change_rows(NodeIndex index, Changes const& changes) {
    Node& its = nodes_[index];
    Count const n_before = its.n_rows();
    auto const block = blocks_.block(its.link, n_words(n_before));
    apply_to_counts(block.first(n_classes_), changes);
    std::size_t const n_kept = remove_sorted(block.subspan(n_classes_), changes.removed);
    auto const n_after = static_cast<Count>(n_kept + changes.added.size());
    if (!WordBlocks::fit_alike(n_words(n_before), n_words(n_after))) {
        auto const moved = blocks_.allocate(n_words(n_after));  // may move all blocks
        std::size_t const n_copied = n_classes_ + n_kept;
        std::ranges::copy(blocks_.block(its.link, n_copied), blocks_.block(moved, n_copied).begin());
        blocks_.free(its.link, n_words(n_before));
        its.link = moved;
    }
    its.threshold_or_n = n_after;
    insert_sorted(blocks_.block(its.link, n_words(n_after)).subspan(n_classes_), n_kept, changes.added);
}

std::optional<Slot> Tree::any_row(NodeIndex index, std::span<ChangedRow const> excluded, TreeScratch& scratch) const {
    std::optional<Slot> found;
    visit_leaves(index, scratch.pending, [&](std::span<Slot const> rows) {
        for (Slot const slot : rows)
            if (!std::ranges::binary_search(excluded, slot, {}, &ChangedRow::slot)) {
                found = slot;
                return true;
            }
        return false;
    });
    return found;
}

void Tree::set_stats(NodeIndex index, SplitStats const& stats) {
    drop_stats(index);
    std::uint32_t place = 0;
    if (free_stats_.empty()) {
        place = static_cast<std::uint32_t>(stats_.size());
        lengthen(stats_, 1);
    } else {
        place = free_stats_.back();
        free_stats_.pop_back();
    }
    stats_[place] = stats.packed();
    nodes_[index].stats = place;
}

void Tree::drop_stats(NodeIndex index) {
    Node& its = nodes_[index];
    if (its.stats == Node::kNone)
        return;
    stats_[its.stats] = {};
    free_stats_.push_back(its.stats);
    its.stats = Node::kNone;
}

void Tree::widen(std::size_t n_classes) {
    WordBlocks wide;
    auto const is_in_use = [this] {
        std::vector<bool> used(nodes_.size(), true);
        for (NodeIndex const pair : free_pairs_)
            used[pair] = used[pair + 1] = false;
        return used;
    }();
    for (NodeIndex index = 0; index < nodes_.size(); ++index) {
        Node& its = nodes_[index];
        if (!is_in_use[index] || its.is_split())
            continue;
        auto const offset = wide.allocate(n_classes + its.n_rows());
        auto const block = wide.block(offset, n_classes + its.n_rows());
        std::ranges::fill(block, 0U);
        std::ranges::copy(counts(its), block.begin());
        std::ranges::copy(rows(its), block.begin() + static_cast<std::ptrdiff_t>(n_classes));
        its.link = offset;
    }
    // Statistics are made anew when they are needed.
    for (NodeIndex index = 0; index < nodes_.size(); ++index)
        if (is_in_use[index] && nodes_[index].is_split())
            drop_stats(index);
    blocks_ = std::move(wide);
    n_classes_ = n_classes;
}

void Tree::trim() {
    deciduous::trim(nodes_);
    deciduous::trim(stats_);
    blocks_.trim();
}

TreeMemory Tree::memory() const {
    TreeMemory memory;
    memory.structure = nodes_.capacity() * sizeof(Node) + free_pairs_.capacity() * sizeof(NodeIndex);
    memory.leaf_stats = blocks_.memory();
    memory.decision_stats =
        stats_.capacity() * sizeof(stats_[0]) + free_stats_.capacity() * sizeof(std::uint32_t) + alternates_.memory();
    for (SplitStats const& stats : stats_)
        memory.decision_stats += stats.memory();
    return memory;
}

}  // namespace deciduous
