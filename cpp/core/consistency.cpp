#include "consistency.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "hash.h"
#include "impurity.h"

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

bool is_constant(NodeView const& node, Attribute attribute) {
    Value const first = node.data.value(node.slots.front(), attribute);
    return std::ranges::all_of(node.slots, [&](Slot slot) { return node.data.value(slot, attribute) == first; });
}

// The attributes that the node should have chosen, in their order.
std::vector<Attribute> choose_attributes(NodeView const& node, Sampling const& sampling) {
    std::vector<Attribute> order(node.data.n_attributes());
    for (Attribute a = 0; a < order.size(); ++a)
        order[a] = a;
    std::ranges::sort(order, {}, [&](Attribute a) { return hash(node.key, kAttribute, a); });
    std::vector<Attribute> chosen;
    for (Attribute const a : order)
        if (chosen.size() < sampling.n_attributes && !is_constant(node, a))
            chosen.push_back(a);
    return chosen;
}

bool equals_recount(Word const* record, NodeView const& node, Sampling const& sampling, Workspace& work) {
    if (record_kind(record) != RecordKind::uniform)
        return valid_equals_recount(record, node, sampling.n_thresholds, work);
    return uniform_equals_recount(record, node, {sampling.n_thresholds, sampling.kind == NodeKind::random}, work);
}

class TreeChecker {
public:
    TreeChecker(Tree const& tree, Params const& params, Grower& grower, Worker& worker)
        : tree_(tree), params_(params), grower_(grower), worker_(worker) {}

    std::optional<std::string> check(NodeIndex index, Place place, std::span<Slot> rows, std::string const& path) {
        Node const& node = tree_.node(index);
        if (auto reason = node.is_split() ? check_split(node, place, rows) : check_rows(node, rows))
            return path_text(path) + ": " + *reason;
        if (!node.is_split())
            return std::nullopt;
        if (auto reason = check_alternates(index, place, rows, path))
            return reason;
        std::size_t const n_left = grower_.partition(rows, node.attribute, node.threshold());
        if (auto reason = check(node.child(Side::left), place.child(Side::left), rows.first(n_left), path + 'L'))
            return reason;
        return check(node.child(Side::right), place.child(Side::right), rows.subspan(n_left), path + 'R');
    }

private:
    std::optional<std::string> check_alternates(NodeIndex index, Place place, std::span<Slot const> rows,
                                                std::string const& path) {
        bool has_some = false;
        for (Alternate const& its : tree_.alternates().all()) {
            if (its.node != index)
                continue;
            has_some = true;
            std::vector<Slot> left(rows.begin(), rows.end());
            std::size_t const n_left = grower_.partition(left, its.attribute, its.threshold);
            std::vector<Slot> right(left.begin() + static_cast<std::ptrdiff_t>(n_left), left.end());
            left.resize(n_left);
            if (its.n_rows != rows.size() || its.n_left != sum(grower_.count_classes(left)))
                return path_text(path) + ": it counts wrongly what is set aside";
            if (auto reason = check(its.pair, place.child(Side::left), left, path + "(L)"))
                return reason;
            if (auto reason = check(its.pair + 1, place.child(Side::right), right, path + "(R)"))
                return reason;
        }
        if (has_some != (tree_.node(index).has_alternates != 0))
            return path_text(path) + ": it does not know whether something is set aside";
        return std::nullopt;
    }

    std::optional<std::string> check_rows(Node const& node, std::span<Slot const> rows) {
        if (!std::ranges::equal(tree_.rows(node), rows))
            return "it holds other rows than those that reach it";
        if (!std::ranges::equal(tree_.counts(node), grower_.count_classes(rows)))
            return "its class counts differ from a recount";
        return std::nullopt;
    }

    std::optional<std::string> check_split(Node const& node, Place place, std::span<Slot const> rows) {
        SplitStats const* const stats = tree_.stats(node);
        if (stats == nullptr)
            return std::nullopt;
        if (auto reason = find_inconsistency(*stats, grower_.view(rows, place.key), place, params_, worker_.work))
            return reason;
        auto const best = grower_.best_split(*stats, place.key, sampling_at(place.depth, params_));
        if (!best || best->attribute != node.attribute || best->threshold != node.threshold() ||
            best->n_left != stats->n_left())
            return "its split is not the best of its candidates";
        return std::nullopt;
    }

    Tree const& tree_;
    Params const& params_;
    Grower& grower_;
    Worker& worker_;
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

std::optional<std::string> find_inconsistency(SplitStats const& stats, NodeView const& node, Place place,
                                              Params const& params, Workspace& work) {
    if (!std::ranges::equal(stats.totals(), node.totals))
        return "its class counts differ from a recount";
    Sampling const sampling = sampling_at(place.depth, params);
    std::vector<Attribute> const chosen = choose_attributes(node, sampling);
    if (stats.n_records() != chosen.size())
        return "it considers another number of attributes than its rows call for";
    Word const* record = stats.first_record();
    for (Attribute const attribute : chosen) {
        if (record_attribute(record) != attribute)
            return "it considers other attributes than its rows call for";
        if (!equals_recount(record, node, sampling, work))
            return "its candidates of attribute " + std::to_string(attribute) + " differ from a recount";
        record += record_length(record);
    }
    return std::nullopt;
}

void require_consistent(SplitStats const& stats, NodeView const& node, Place place, Params const& params,
                        Workspace& work) {
    if (auto const reason = find_inconsistency(stats, node, place, params, work)) {
        std::fprintf(stderr, "deciduous: after an update, a node at depth %u is inconsistent: %s\n", place.depth,
                     reason->c_str());
        std::abort();
    }
}

std::optional<std::string> find_inconsistency(Tree const& tree, std::span<Slot const> rows, Params const& params,
                                              Grower& grower, Worker& worker) {
    std::vector<Slot> gathered;
    tree.gather(Tree::kRoot, {}, gathered, worker.tree_scratch);
    if (!std::ranges::equal(gathered, rows))
        return "its leaves hold other rows than the tree should";
    return TreeChecker(tree, params, grower, worker).check(Tree::kRoot, tree.root(), gathered, "");
}

std::optional<std::string> find_difference(Tree const& stored, Tree const& retrained) {
    return find_difference(stored, Tree::kRoot, retrained, Tree::kRoot, "");
}

}  // namespace deciduous
