#include "tree/tree.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/room.h"

namespace deciduous {

namespace {

// Takes rows out of a leaf's slots, in place; how many are left.
std::size_t remove_rows(std::span<Slot> slots, std::span<ChangedRow const> removed) {
    constexpr std::size_t kFew = 4;
    if (removed.size() <= kFew) {
        auto end = slots.end();
        for (ChangedRow const& row : removed) {
            auto const place = std::find(slots.begin(), end, row.slot);
            end = place == end ? end : std::move(place + 1, end, place);
        }
        return static_cast<std::size_t>(end - slots.begin());
    }
    auto const is_removed = [&](Slot slot) { return std::ranges::binary_search(removed, slot, {}, &ChangedRow::slot); };
    auto const kept = std::remove_if(slots.begin(), slots.end(), is_removed);
    return static_cast<std::size_t>(kept - slots.begin());
}

// Merges rows into the first n_held of `slots`, which are class after class, in place from behind; there is room for
// all.
void insert_rows(std::span<Slot> slots, std::size_t n_held, std::span<ChangedRow const> added,
                 std::span<Label const> labels) {
    if (added.empty())
        return;
    auto const place_of = [&](Slot slot) { return std::pair(labels[slot], slot); };
    std::vector<Slot> incoming(added.size());
    std::ranges::transform(added, incoming.begin(), &ChangedRow::slot);
    std::ranges::sort(incoming, {}, place_of);
    std::size_t place = slots.size();
    for (std::size_t n_left = incoming.size(); n_left > 0;) {
        bool const takes_held = n_held > 0 && place_of(slots[n_held - 1]) > place_of(incoming[n_left - 1]);
        slots[--place] = takes_held ? slots[--n_held] : incoming[--n_left];
    }
}

// Takes rows out of those of a class; their order changes.
void remove_unordered(std::vector<Slot>& slots, std::size_t begin, std::uint32_t& end,
                      std::span<ChangedRow const> removed, std::size_t label) {
    constexpr std::size_t kFew = 16;
    if (removed.size() > kFew) {
        auto const rows = std::span(slots).subspan(begin, end - begin);
        end = static_cast<std::uint32_t>(begin + remove_rows(rows, removed));
        return;
    }
    for (ChangedRow const& row : removed)
        if (row.vote.label == label) {
            Slot const last = slots[--end];
            *std::find(slots.begin() + static_cast<std::ptrdiff_t>(begin), slots.begin() + end, row.slot) = last;
        }
}

}  // namespace

Tree::Tree(Key root, std::size_t n_classes) : root_key_(root), n_classes_(n_classes), nodes_(1) {
    make_empty(kRoot);
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
        NodeIndex const current = pending.back();
        Node const& its = nodes_[current];
        pending.pop_back();
        if (its.is_split()) {
            pending.push_back(its.child(Side::right));
            pending.push_back(its.child(Side::left));
        } else if (is_enough(current)) {
            return;
        }
    }
}

// Lists all leaves and unbuilt nodes below a node. Level by level, so that much can be asked of the memory before any
// of it is looked at.
void Tree::list_leaves(NodeIndex index, TreeScratch& scratch) const {
    auto& [pending, leaves, places] = scratch;
    leaves.clear();
    pending.assign(1, index);
    for (std::size_t i = 0; i < pending.size(); ++i) {
        Node const& its = nodes_[pending[i]];
        if (its.is_split()) {
            prefetch(its.link);
            pending.insert(pending.end(), {its.child(Side::left), its.child(Side::right)});
        } else {
            blocks_.prefetch(its.link);
            leaves.push_back(pending[i]);
        }
    }
}

// Calls `function(y, slots)` for each class of a leaf with its rows. Without weights the counts tell where they are.
template <typename Function>
void Tree::for_each_class(Node const& leaf, Dataset const& data, Function const& function) const {
    auto const slots = rows(leaf);
    auto const n_rows = counts(leaf);
    for (std::size_t y = 0, begin = 0; y < n_classes_; ++y) {
        std::size_t end = begin + n_rows[y];
        if (!data.weights().empty())
            for (end = begin; end < slots.size() && data.labels()[slots[end]] == y;)
                ++end;
        function(y, slots.subspan(begin, end - begin));
        begin = end;
    }
}

void Tree::gather(NodeIndex index, Changes const& changes, Dataset const& data, RowGroup& rows,
                  TreeScratch& scratch) const {
    auto& ends = rows.ends;
    list_leaves(index, scratch);
    ends.assign(n_classes_, 0);
    for (NodeIndex const leaf : scratch.leaves)
        for_each_class(nodes_[leaf], data,
                       [&](std::size_t y, auto slots) { ends[y] += static_cast<std::uint32_t>(slots.size()); });
    for (ChangedRow const& row : changes.added)
        ++ends[row.vote.label];
    auto& places = scratch.places;
    places.resize(n_classes_);
    std::exclusive_scan(ends.begin(), ends.end(), places.begin(), 0U);
    std::inclusive_scan(ends.begin(), ends.end(), ends.begin());
    rows.slots.resize(n_classes_ == 0 ? 0 : ends.back());
    for (NodeIndex const leaf : scratch.leaves)
        for_each_class(nodes_[leaf], data, [&](std::size_t y, auto slots) {
            std::ranges::copy(slots, rows.slots.begin() + places[y]);
            places[y] += static_cast<std::uint32_t>(slots.size());
        });
    for (ChangedRow const& row : changes.added)
        rows.slots[places[row.vote.label]++] = row.slot;
    if (changes.removed.empty())
        return;
    std::uint32_t n_kept = 0;
    for (std::size_t y = 0, begin = 0; y < n_classes_; ++y) {
        std::uint32_t end = ends[y];
        remove_unordered(rows.slots, begin, end, changes.removed, y);
        std::copy(rows.slots.begin() + static_cast<std::ptrdiff_t>(begin), rows.slots.begin() + end,
                  rows.slots.begin() + n_kept);
        n_kept += end - static_cast<std::uint32_t>(begin);
        begin = ends[y];
        ends[y] = n_kept;
    }
    rows.slots.resize(n_kept);
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
    make_empty(fresh);
    make_empty(fresh + 1);
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

// Makes the node a leaf without rows.
void Tree::make_empty(NodeIndex index) {
    std::vector<std::uint32_t> const none(n_classes_, 0);
    make_leaf(index, {none, {}, none});
}

void Tree::fill(NodeIndex index, NodeKind kind, LeafRows const& rows) {
    release(index);
    auto const n_rows = static_cast<Count>(rows.slots.size());
    Node its;
    its.kind = kind;
    its.threshold_or_n = n_rows;
    its.link = blocks_.allocate(n_words(n_rows));
    auto const block = blocks_.block(its.link, n_words(n_rows));
    std::ranges::copy(rows.counts, block.begin());
    auto const slots = block.subspan(n_classes_);
    std::ranges::copy(rows.slots, slots.begin());
    // Those of an unbuilt node are left as they are: most never get to be a leaf, and sorting them would take longer
    // than all else.
    for (std::size_t y = 0, begin = 0; kind == NodeKind::leaf && y < n_classes_; begin = rows.ends[y++])
        if (auto const its_rows = slots.subspan(begin, rows.ends[y] - begin); !std::ranges::is_sorted(its_rows))
            std::ranges::sort(its_rows);
    nodes_[index] = its;
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
    if (free_pairs_.empty()) {
        lengthen(nodes_, 2);
        return static_cast<NodeIndex>(nodes_.size() - 2);
    }
    NodeIndex const pair = free_pairs_.back();
    free_pairs_.pop_back();
    nodes_[pair] = nodes_[pair + 1] = Node{};
    return pair;
}

void Tree::change_rows(NodeIndex index, Changes const& changes, Dataset const& data) {
    Node& its = nodes_[index];
    Count const n_before = its.n_rows();
    auto const block = blocks_.block(its.link, n_words(n_before));
    apply_to_counts(block.first(n_classes_), changes);
    std::size_t const n_kept = remove_rows(block.subspan(n_classes_), changes.removed);
    auto const n_after = static_cast<Count>(n_kept + changes.added.size());
    if (!WordBlocks::fit_alike(n_words(n_before), n_words(n_after))) {
        auto const moved = blocks_.allocate(n_words(n_after));  // may move all blocks
        std::size_t const n_copied = n_classes_ + n_kept;
        std::ranges::copy(blocks_.block(its.link, n_copied), blocks_.block(moved, n_copied).begin());
        blocks_.free(its.link, n_words(n_before));
        its.link = moved;
    }
    its.threshold_or_n = n_after;
    insert_rows(blocks_.block(its.link, n_words(n_after)).subspan(n_classes_), n_kept, changes.added, data.labels());
}

std::optional<Slot> Tree::any_row(NodeIndex index, Changes const& changes, Dataset const& data,
                                  TreeScratch& scratch) const {
    std::optional<Slot> found;
    auto const find_in = [&](NodeIndex leaf) {
        for (Slot const slot : rows(nodes_[leaf]))
            if (!std::ranges::binary_search(changes.removed, slot, {}, &ChangedRow::slot)) {
                found = slot;
                return true;
            }
        return false;
    };
    NodeIndex met = index;
    while (!changes.added.empty() && nodes_[met].is_split()) {
        Node const& its = nodes_[met];
        bool const goes_left = changes.added[0].value(data, its.attribute) <= its.threshold();
        met = its.child(goes_left ? Side::left : Side::right);
    }
    if (nodes_[met].is_split() || !find_in(met))
        visit_leaves(index, scratch.pending, find_in);
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
    n_undecided_ -= stats_[its.stats].is_undecided() ? 1 : 0;
    stats_[its.stats] = {};
    free_stats_.push_back(its.stats);
    its.stats = Node::kNone;
}

void Tree::leave_undecided(NodeIndex index, std::vector<bool> const& is_unknown) {
    SplitStats& its = *stats(index);
    n_undecided_ += its.is_undecided() ? 0 : 1;
    its.leave_undecided(is_unknown);
    nodes_[index].leads_to_postponed = 1;
}

void Tree::note_postponed(NodeIndex index) {
    Node& its = nodes_[index];
    if (its.is_split())
        its.leads_to_postponed = is_undecided(its) || leads_to_postponed(its.child(Side::left)) ||
                                 leads_to_postponed(its.child(Side::right));
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
    lacks_stats_ = true;
}

void Tree::start(Key root, std::size_t n_classes) {
    root_key_ = root;
    n_classes_ = n_classes;
    nodes_.assign(1, Node{});
    free_pairs_.clear();
    blocks_.clear();
    stats_.clear();
    free_stats_.clear();
    n_unbuilt_ = 0;
    n_undecided_ = 0;
    lacks_stats_ = false;
    alternates_ = {};
}

Tree Tree::packed() {
    Tree tree(*this, Packed{});
    stats_.clear();
    return tree;
}

Tree::Tree(Tree& other, Packed)
    : root_key_(other.root_key_),
      n_classes_(other.n_classes_),
      nodes_(other.nodes_),
      free_pairs_(other.free_pairs_),
      blocks_(other.blocks_),
      stats_(std::make_move_iterator(other.stats_.begin()), std::make_move_iterator(other.stats_.end())),
      free_stats_(other.free_stats_),
      n_unbuilt_(other.n_unbuilt_),
      n_undecided_(other.n_undecided_),
      lacks_stats_(other.lacks_stats_) {}

bool Tree::is_wasteful(double max_waste) const {
    std::size_t const n_stats = stats_.size() - free_stats_.size();
    auto const used =
        static_cast<double>(n_nodes() * sizeof(Node) + blocks_.n_used() * sizeof(Word) + n_stats * sizeof(SplitStats));
    auto const held = static_cast<double>(
        nodes_.capacity() * sizeof(Node) + free_pairs_.capacity() * sizeof(NodeIndex) + blocks_.memory() +
        stats_.capacity() * sizeof(SplitStats) + free_stats_.capacity() * sizeof(std::uint32_t));
    return held > (1 + max_waste) * used;
}

void Tree::lay_out(std::span<Slot const> new_slots) {
    std::size_t n_live = 0;
    std::size_t n_live_words = 0;
    std::size_t n_live_stats = 0;
    std::vector<NodeIndex> live{kRoot};
    while (!live.empty()) {
        Node const& its = nodes_[live.back()];
        live.pop_back();
        ++n_live;
        n_live_words += its.is_split() ? 0 : WordBlocks::capacity_of(n_words(its.n_rows()));
        n_live_stats += its.is_split() && its.stats != Node::kNone ? 1 : 0;
        if (its.is_split())
            live.insert(live.end(), {its.child(Side::right), its.child(Side::left)});
    }
    WipedVector<Node> nodes;
    nodes.reserve(n_live);
    WordBlocks blocks;
    blocks.reserve(n_live_words);
    std::vector<SplitStats> stats;
    stats.reserve(n_live_stats);
    std::vector<std::pair<NodeIndex, NodeIndex>> pending{{kRoot, kRoot}};  // where a node was, and where it will be
    nodes.resize(1);
    while (!pending.empty()) {
        auto const [before, after] = pending.back();
        pending.pop_back();
        Node its = nodes_[before];
        if (its.is_split()) {
            its.has_alternates = 0;
            its.link = static_cast<NodeIndex>(nodes.size());
            nodes.resize(nodes.size() + 2);
            for (NodeIndex const side : {1, 0})  // the left one first, as growing does
                pending.emplace_back(nodes_[before].link + side, its.link + side);
            if (its.stats != Node::kNone)
                stats_[its.stats].trim();
        } else {
            std::size_t const n = n_words(its.n_rows());
            its.link = blocks.allocate(n);
            std::ranges::copy(blocks_.block(nodes_[before].link, n), blocks.block(its.link, n).begin());
            if (!new_slots.empty())
                for (Slot& slot : blocks.block(its.link, n).subspan(n_classes_))
                    slot = new_slots[slot];
        }
        nodes[after] = its;
    }
    // From here on nothing can fail.
    for (Node& its : nodes)
        if (its.is_split() && its.stats != Node::kNone) {
            stats.push_back(std::move(stats_[its.stats]));
            its.stats = static_cast<std::uint32_t>(stats.size() - 1);
        }
    nodes_ = std::move(nodes);
    blocks_ = std::move(blocks);
    stats_ = std::move(stats);
    give_back(free_pairs_);
    give_back(free_stats_);
    alternates_ = {};
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
