#include "tree/consistency.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "split/attributes.h"
#include "split/impurity.h"
#include "stats/records.h"

namespace deciduous {

namespace {

std::string path_text(std::string const& path) {
    return path.empty() ? "the root" : "node " + path;
}

std::string describe(Tree const& tree, Node const& node) {
    if (node.is_split())
        return std::string(node.kind == NodeKind::random ? "a random" : "a greedy") + " split of attribute " +
               std::to_string(node.attribute) + " at " + std::to_string(to_float(node.threshold()));
    std::string text = "a leaf with class counts";
    for (Count const n : tree.counts(node))
        text += ' ' + std::to_string(n);
    return text;
}

bool is_constant(NodeRows const& node, Attribute attribute) {
    Value const first = node.data.value(node.slots.front(), attribute);
    return std::ranges::all_of(node.slots, [&](Slot slot) { return node.data.value(slot, attribute) == first; });
}

// The attributes that the node should have chosen, in their order.
std::vector<Attribute> choose_attributes(NodeRows const& node, Sampling const& sampling) {
    std::vector<Attribute> order(node.data.n_attributes());
    for (Attribute a = 0; a < order.size(); ++a)
        order[a] = a;
    std::ranges::sort(order, {}, [&](Attribute a) { return AttributeOrder::rank_of(node.key, a); });
    std::vector<Attribute> chosen;
    for (Attribute const a : order)
        if (chosen.size() < sampling.n_attributes && !is_constant(node, a))
            chosen.push_back(a);
    return chosen;
}

// Whether a split knows two targets of its rows, and how many rows have each.
bool are_counted(TwoTargets const& two, NodeRows const& node) {
    Count n_first = 0;
    Count n_second = 0;
    for (std::size_t i = 0; i < node.targets.size(); ++i) {
        n_first += node.targets[i] == two.first ? node.weight(i) : 0;
        n_second += node.targets[i] == two.second ? node.weight(i) : 0;
    }
    return two.first != two.second && two.differ() && two.n_first == n_first && two.n_second == n_second;
}

class TreeChecker {
public:
    TreeChecker(Tree const& tree, TreeContext const& context, ThreadScratch& scratch)
        : tree_(tree), context_(context), scratch_(scratch), grower_(context, scratch) {}

    std::optional<std::string> check(NodeIndex index, NodePath path, Rows const& rows, std::string const& way) {
        Node const& node = tree_.node(index);
        if (auto reason = node.is_split() ? check_split(node, path, rows) : check_rows(node, rows))
            return path_text(way) + ": " + *reason;
        n_postponed_ += tree_.is_postponed(index) ? 1 : 0;
        if (!node.is_split())
            return std::nullopt;
        if (!node.leads_to_postponed &&
            (tree_.leads_to_postponed(node.child(Side::left)) || tree_.leads_to_postponed(node.child(Side::right))))
            return path_text(way) + ": it does not know what was postponed below it";
        if (auto reason = check_alternates(index, path, rows, way))
            return reason;
        auto const [left, right] = grower_.divide(rows, node.attribute, node.threshold(), path.depth);
        if (auto reason = check(node.child(Side::left), path.child(Side::left), left, way + 'L'))
            return reason;
        return check(node.child(Side::right), path.child(Side::right), right, way + 'R');
    }

    [[nodiscard]] std::size_t n_postponed() const { return n_postponed_; }

private:
    std::optional<std::string> check_alternates(NodeIndex index, NodePath path, Rows const& rows,
                                                std::string const& way) {
        bool has_some = false;
        for (Alternate const& its : tree_.alternates().all()) {
            if (its.node != index)
                continue;
            has_some = true;
            RowGroup copy{{rows.slots.begin(), rows.slots.end()}, {rows.ends.begin(), rows.ends.end()}};
            auto const [left, right] =
                grower_.divide({copy.slots, copy.ends}, its.attribute, its.threshold, path.depth);
            if (its.n_rows != rows.size() || its.n_left != sum(grower_.decider().count(left).counts))
                return path_text(way) + ": it counts wrongly what is set aside";
            if (auto reason = check(its.pair, path.child(Side::left), left, way + "(L)"))
                return reason;
            if (auto reason = check(its.pair + 1, path.child(Side::right), right, way + "(R)"))
                return reason;
        }
        if (has_some != (tree_.node(index).has_alternates != 0))
            return path_text(way) + ": it does not know whether something is set aside";
        return std::nullopt;
    }

    // Those of an unbuilt node may be in any order in their class.
    static bool is_same_by_class(std::span<Slot const> held, Rows const& rows) {
        std::vector<Slot> sorted(held.begin(), held.end());
        if (sorted.size() != rows.slots.size())
            return false;
        auto begin = sorted.begin();
        for (std::uint32_t const end : rows.ends) {
            std::sort(begin, sorted.begin() + end);
            begin = sorted.begin() + end;
        }
        return std::ranges::equal(sorted, rows.slots);
    }

    std::optional<std::string> check_rows(Node const& node, Rows const& rows) {
        auto const held = tree_.rows(node);
        bool const is_same =
            node.kind == NodeKind::unbuilt ? is_same_by_class(held, rows) : std::ranges::equal(held, rows.slots);
        if (!is_same)
            return "it holds other rows than those that reach it";
        if (!std::ranges::equal(tree_.counts(node), grower_.decider().count(rows).counts))
            return "its class counts differ from a recount";
        return std::nullopt;
    }

    std::optional<std::string> check_split(Node const& node, NodePath path, Rows const& rows) {
        SplitStats const* const stats = tree_.stats(node);
        if (stats == nullptr)
            return std::nullopt;
        NodeRows const view = grower_.decider().look_at(rows, path.key);
        if (auto reason = find_inconsistency(*stats, view, path, context_, scratch_))
            return reason;
        if (stats->is_undecided())
            return check_undecided(node, *stats, rows);
        auto const best = grower_.decider().decide(*stats, path);
        if (!best || best->attribute != node.attribute || best->threshold != node.threshold() ||
            best->n_left != stats->n_left())
            return "its split is not the best of its candidates";
        return std::nullopt;
    }

    std::optional<std::string> check_undecided(Node const& node, SplitStats const& stats, Rows const& rows) const {
        if (!node.leads_to_postponed)
            return "it does not know that it is undecided";
        Count n_left = 0;
        for (Slot const slot : rows.slots)
            if (context_.data.value(slot, node.attribute) <= node.threshold())
                n_left += context_.data.vote(slot).weight;
        if (n_left != stats.n_left())
            return "it counts the rows on its left wrongly";
        return std::nullopt;
    }

    Tree const& tree_;
    TreeContext const& context_;
    ThreadScratch& scratch_;
    Grower grower_;
    std::size_t n_postponed_ = 0;
};

std::optional<std::string> find_difference(Tree const& a, NodeIndex i, Tree const& b, NodeIndex j,
                                           std::string const& path) {
    Node const& x = a.node(i);
    Node const& y = b.node(j);
    bool const is_same =
        x.kind == y.kind &&
        (x.is_split() ? x.attribute == y.attribute && x.threshold() == y.threshold()
                      : std::ranges::equal(a.counts(x), b.counts(y)) && std::ranges::equal(a.rows(x), b.rows(y)));
    if (!is_same)
        return path_text(path) + " is " + describe(a, x) + ", retraining gives " + describe(b, y);
    if (!x.is_split())
        return std::nullopt;
    if (auto difference = find_difference(a, x.child(Side::left), b, y.child(Side::left), path + 'L'))
        return difference;
    return find_difference(a, x.child(Side::right), b, y.child(Side::right), path + 'R');
}

}  // namespace

std::optional<std::string> find_inconsistency(SplitStats const& stats, NodeRows const& node, NodePath path,
                                              TreeContext const& context, ThreadScratch& scratch) {
    if (!std::ranges::equal(stats.totals(), node.totals))
        return "its class counts differ from a recount";
    if (stats.has_targets() && stats.targets().sum != sum_of_targets(node))
        return "the sum of its targets differs from a recount";
    if (stats.has_targets() && !are_counted(stats.targets().two, node))
        return "the two targets that it knows differ from a recount";
    Sampling const sampling = sampling_at(path.depth, context.params);
    std::vector<Attribute> considered;
    Word const* record = stats.first_record();
    for (std::uint32_t i = 0; i < stats.n_records(); ++i, record += record_length(record)) {
        considered.push_back(record_attribute(record));
        if (record_kind(record) != RecordKind::unknown &&
            !equals_recount(record, node, sampling, context.tuning, scratch.scan))
            return "its candidates of attribute " + std::to_string(considered.back()) + " differ from a recount";
    }
    if (!stats.is_undecided() && considered != choose_attributes(node, sampling))
        return "it considers other attributes than its rows call for";
    return std::nullopt;
}

void require_consistent(SplitStats const& stats, NodeRows const& node, NodePath path, TreeContext const& context,
                        ThreadScratch& scratch) {
    if (auto const reason = find_inconsistency(stats, node, path, context, scratch)) {
        std::fprintf(stderr, "deciduous: after an update, a node at depth %u is inconsistent: %s\n", path.depth,
                     reason->c_str());
        std::abort();
    }
}

std::optional<std::string> find_inconsistency(Tree const& tree, std::span<Slot const> rows, TreeContext const& context,
                                              ThreadScratch& scratch) {
    RowGroup gathered;
    tree.gather(Tree::kRoot, {}, context.data, gathered, scratch.tree);
    RowGroup expected;
    group_by_class(rows, context.data.labels(), context.n_classes, expected);
    for (std::size_t y = 0, begin = 0; y < gathered.ends.size(); begin = gathered.ends[y++])
        std::ranges::sort(std::span(gathered.slots).subspan(begin, gathered.ends[y] - begin));
    if (gathered.slots != expected.slots || gathered.ends != expected.ends)
        return "its leaves hold other rows than the tree should";
    TreeChecker checker(tree, context, scratch);
    if (auto reason = checker.check(Tree::kRoot, tree.root(), {expected.slots, expected.ends}, ""))
        return reason;
    if (checker.n_postponed() != tree.n_postponed())
        return "it counts wrongly what was postponed";
    return std::nullopt;
}

std::optional<std::string> find_difference(Tree const& stored, Tree const& retrained) {
    return find_difference(stored, Tree::kRoot, retrained, Tree::kRoot, "");
}

}  // namespace deciduous
