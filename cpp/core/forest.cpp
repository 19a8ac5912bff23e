#include "forest.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "consistency.h"
#include "dense_rows.h"
#include "error.h"
#include "hash.h"
#include "routes.h"
#include "serialize.h"
#include "walk.h"

namespace deciduous {

namespace {

Slot slot_of(Slot slot) {
    return slot;
}
Slot slot_of(ChangedRow const& row) {
    return row.slot;
}

bool has_rows(Tree const& tree) {
    Node const& root = tree.node(Tree::kRoot);
    return root.is_split() || root.n_rows() > 0;
}

}  // namespace

// Marks the forest as broken while it changes: if something is thrown half way, nobody may use what is left. What was
// laid out from the trees before goes, and with it what it knew of rows.
class Forest::Mutation {
public:
    explicit Mutation(Forest& forest) : forest_(forest) {
        forest_.require_intact();
        forest_.is_broken_ = true;
        forest_.routed_ = {};
    }
    void done() { forest_.is_broken_ = false; }

private:
    Forest& forest_;
};

Forest::Forest(Params const& params, Tuning const& tuning, Schema schema, Classes classes)
    : params_(params),
      tuning_(tuning),
      data_(std::move(schema), tuning.max_codes),
      classes_(std::move(classes)),
      totals_(classes_.keys.size(), 0) {
    trees_.reserve(params.n_trees);
    for (std::uint32_t t = 0; t < params.n_trees; ++t)
        trees_.emplace_back(root_key(params.seed, t), totals_.size());
}

void Forest::require_intact() const {
    if (is_broken_)
        throw BrokenForest(
            "An earlier call failed or was stopped while it changed this forest. Fit it again, or load a saved one.");
}

std::vector<std::unique_ptr<Worker>> Forest::make_workers(std::size_t n) const {
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < n; ++i)
        workers.push_back(std::make_unique<Worker>(data_.n_attributes()));
    return workers;
}

Grower Forest::grower(Worker& worker) const {
    return {context(), worker};
}

TreeContext Forest::context() const {
    return {params_, tuning_, data_, totals_.size(), classes_.weights};
}

std::vector<std::uint32_t> Forest::trees_of(RowId id) const {
    std::vector<std::uint32_t> trees(params_.n_trees);
    std::iota(trees.begin(), trees.end(), 0U);
    Key const row_key = hash(params_.seed, kOccupancy, static_cast<std::uint64_t>(id));
    std::ranges::nth_element(trees, trees.begin() + (params_.trees_per_row - 1), {},
                             [row_key](std::uint32_t t) { return hash(row_key, t); });
    trees.resize(params_.trees_per_row);
    return trees;
}

// The rows of each tree among these; empty if every tree has all of them.
template <typename Row>
std::vector<std::vector<Row>> Forest::rows_by_tree(std::span<Row const> rows) const {
    if (params_.trees_per_row == params_.n_trees)
        return {};
    std::vector<std::vector<Row>> by_tree(params_.n_trees);
    for (Row const& row : rows)
        for (std::uint32_t const t : trees_of(data_.id(slot_of(row))))
            by_tree[t].push_back(row);
    return by_tree;
}

// ---------------------------------------------------------------------------------------------------- fit and update

void Forest::fit(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes, Execution const& how,
                 Progress const& progress) {
    std::unique_lock const lock(mutex_);
    data_.require_insertable(ids, votes, totals_.size());
    Mutation mutation(*this);
    make_trees(ids, rows, votes, how, progress, [&](std::size_t t, std::vector<Slot>& tree_rows, Grower& its_grower) {
        its_grower.grow(trees_[t], Tree::kRoot, tree_rows, trees_[t].root());
    });
    mutation.done();
}

// Takes the rows in, and calls the function with each tree's number, rows and grower.
template <typename Function>
void Forest::make_trees(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes,
                        Execution const& how, Progress const& progress, Function const& make) {
    std::vector<Slot> const slots = data_.insert(ids, rows, votes, how.n_threads);
    for (Slot const slot : slots)
        totals_[data_.vote(slot).label] += data_.vote(slot).weight;
    auto const by_tree = rows_by_tree<Slot>(slots);
    auto const workers = make_workers(n_workers(trees_.size(), how.n_threads));
    parallel_for(
        trees_.size(), how.n_threads,
        [&](std::size_t t, std::size_t worker) {
            std::vector<Slot> tree_rows = by_tree.empty() ? slots : by_tree[t];
            Grower its_grower = grower(*workers[worker]);
            make(t, tree_rows, its_grower);
            trees_[t].trim();
        },
        progress);
}

std::vector<Slot> Forest::find_slots(std::span<RowId const> ids) const {
    std::vector<Slot> slots;
    std::vector<RowId> unknown;
    for (RowId const id : ids) {
        if (auto const slot = data_.find(id))
            slots.push_back(*slot);
        else
            unknown.push_back(id);
    }
    if (!unknown.empty())
        throw UnknownRow(std::move(unknown));
    std::ranges::sort(slots);
    if (auto const twin = std::ranges::adjacent_find(slots); twin != slots.end())
        throw InvalidArgument("Row " + std::to_string(data_.id(*twin)) + " is named twice.");
    return slots;
}

UpdateCost Forest::update_trees(Changes const& changes, Execution const& how, Progress const& progress) {
    auto removed_by_tree = rows_by_tree<ChangedRow>(changes.removed);
    auto added_by_tree = rows_by_tree<ChangedRow>(changes.added);
    bool const all_in_all = params_.trees_per_row == params_.n_trees;
    std::size_t const n_needed = n_workers(trees_.size(), how.n_threads);
    if (workers_.size() < n_needed)
        workers_ = make_workers(n_needed);
    std::vector<UpdateCost> costs(n_needed);
    TreeContext const its_context = context();
    parallel_for(
        trees_.size(), how.n_threads,
        [&](std::size_t t, std::size_t worker) {
            Changes const its_changes = all_in_all ? changes : Changes{removed_by_tree[t], added_by_tree[t]};
            costs[worker].merge(apply_update(its_context, trees_[t], its_changes, how.lazy, *workers_[worker]));
        },
        progress);
    UpdateCost total;
    for (UpdateCost const& cost : costs)
        total.merge(cost);
    return total;
}

UpdateCost Forest::delete_rows(std::span<RowId const> ids, Execution const& how, Progress const& progress) {
    std::unique_lock const lock(mutex_);
    require_intact();
    std::vector<Slot> const slots = find_slots(ids);
    Mutation mutation(*this);
    ChangedRows rows(data_, slots);
    UpdateCost cost = update_trees({rows.all(), {}}, how, progress);
    apply_to_counts(totals_, {rows.all(), {}});
    data_.erase(slots);
    for (auto const& worker : workers_)
        worker->wipe_values();
    mutation.done();
    return cost;
}

UpdateCost Forest::add_rows(std::span<RowId const> ids, Matrix const& rows, std::span<Vote const> votes,
                            Classes classes, Execution const& how, Progress const& progress) {
    std::unique_lock const lock(mutex_);
    require_intact();
    data_.require_insertable(ids, votes, std::max(totals_.size(), classes.keys.size()));
    Mutation mutation(*this);
    set_classes(std::move(classes));
    std::vector<Slot> slots = data_.insert(ids, rows, votes, how.n_threads);
    std::ranges::sort(slots);
    ChangedRows added(data_, slots);
    apply_to_counts(totals_, {{}, added.all()});
    UpdateCost cost = update_trees({{}, added.all()}, how, progress);
    mutation.done();
    return cost;
}

void Forest::set_classes(Classes classes) {
    if (classes.keys.size() <= classes_.keys.size())
        return;
    classes_ = std::move(classes);
    totals_.resize(classes_.keys.size(), 0);
    for (Tree& tree : trees_)
        tree.widen(totals_.size());
}

UpdateCost Forest::deletion_cost(std::span<RowId const> ids, Execution const& how) const {
    std::shared_lock const lock(mutex_);
    require_intact();
    ChangedRows rows(data_, find_slots(ids));
    auto by_tree = rows_by_tree<ChangedRow>(rows.all());
    auto const workers = make_workers(n_workers(trees_.size(), how.n_threads));
    std::vector<UpdateCost> costs(workers.size());
    TreeContext const its_context = context();
    parallel_for(trees_.size(), how.n_threads, [&](std::size_t t, std::size_t worker) {
        Changes const changes{by_tree.empty() ? rows.all() : std::span(by_tree[t]), {}};
        costs[worker].merge(plan_update(its_context, trees_[t], changes, how.lazy, *workers[worker]));
    });
    UpdateCost total;
    for (UpdateCost const& cost : costs)
        total.merge(cost);
    return total;
}

std::vector<std::uint64_t> Forest::deletion_costs(std::span<RowId const> ids, Execution const& how) const {
    std::shared_lock const lock(mutex_);
    require_intact();
    (void)find_slots(ids);
    auto const workers = make_workers(n_workers(ids.size(), how.n_threads));
    std::vector<std::uint64_t> costs(ids.size(), 0);
    TreeContext const its_context = context();
    bool const all_in_all = params_.trees_per_row == params_.n_trees;
    parallel_for(ids.size(), how.n_threads, [&](std::size_t i, std::size_t worker) {
        Slot const slot = *data_.find(ids[i]);
        ChangedRows row(data_, {&slot, 1});
        auto const add_tree = [&](std::uint32_t t) {
            Changes const changes{row.all(), {}};
            costs[i] += plan_update(its_context, trees_[t], changes, how.lazy, *workers[worker]).total_rows_retrained();
        };
        if (all_in_all)
            for (std::uint32_t t = 0; t < params_.n_trees; ++t)
                add_tree(t);
        else
            std::ranges::for_each(trees_of(ids[i]), add_tree);
    });
    return costs;
}

// -------------------------------------------------------------------------------------------------- lazy subtrees

std::size_t Forest::count_unbuilt() const {
    std::size_t n = 0;
    for (Tree const& tree : trees_)
        n += tree.n_unbuilt();
    return n;
}

// Builds whatever was postponed.
void Forest::build_all(std::size_t n_threads) {
    require_intact();
    if (count_unbuilt() == 0)
        return;
    Mutation mutation(*this);
    auto const workers = make_workers(n_workers(trees_.size(), n_threads));
    parallel_for(trees_.size(), n_threads,
                 [&](std::size_t t, std::size_t worker) { expand_all(trees_[t], *workers[worker]); });
    mutation.done();
}

void Forest::expand_all(Tree& tree, Worker& worker) const {
    std::vector<std::pair<NodeIndex, Place>> pending{{Tree::kRoot, tree.root()}};
    while (!pending.empty()) {
        auto const [index, place] = pending.back();
        pending.pop_back();
        Node const node = tree.node(index);
        if (node.kind == NodeKind::unbuilt)
            grower(worker).expand(tree, index, place, false);
        else if (node.is_split())
            for (Side const side : {Side::left, Side::right})
                pending.emplace_back(node.child(side), place.child(side));
    }
}

// Builds as much of the tree as these rows need to find their leaves.
void Forest::expand_reached(Tree& tree, Matrix const& rows, Worker& worker) const {
    for (std::size_t i = 0; i < rows.n_rows && tree.n_unbuilt() > 0; ++i) {
        NodeIndex index = Tree::kRoot;
        Place place = tree.root();
        while (true) {
            if (tree.node(index).kind == NodeKind::unbuilt)
                grower(worker).expand(tree, index, place, true);
            Node const& node = tree.node(index);
            if (!node.is_split())
                break;
            Side const side =
                data_.schema().value(rows.row(i), node.attribute) <= node.threshold() ? Side::left : Side::right;
            index = node.child(side);
            place = place.child(side);
        }
    }
}

// -------------------------------------------------------------------------------------------------------- reading

ClassShares Forest::predict(Matrix const& rows, Execution const& how) {
    {
        std::shared_lock const lock(mutex_);
        require_intact();
        if (count_unbuilt() == 0)
            return predict_built(rows, how.n_threads);
    }
    std::unique_lock const lock(mutex_);
    auto const workers = make_workers(n_workers(trees_.size(), how.n_threads));
    Mutation mutation(*this);
    parallel_for(trees_.size(), how.n_threads,
                 [&](std::size_t t, std::size_t worker) { expand_reached(trees_[t], rows, *workers[worker]); });
    mutation.done();
    return predict_built(rows, how.n_threads);
}

ClassShares Forest::predict_built(Matrix const& rows, std::size_t n_threads) const {
    if (data_.n_rows() == 0)
        throw EmptyForest("The forest holds no rows.");
    std::size_t const n_classes = totals_.size();
    ClassShares result{std::vector<double>(rows.n_rows * n_classes, 0.0), n_classes};
    if (auto const trees = routes_for(rows.n_rows, n_threads); !trees.empty())
        add_leaf_shares(trees, rows, data_.schema(), n_classes, n_threads, result.shares);
    else
        for_dense_chunks(rows, data_.schema(), 1, n_threads, [&](DenseRows const& dense, std::size_t begin) {
            add_shares_of_few(dense, std::span(result.shares).subspan(begin * n_classes));
        });
    auto const n_trees_with_rows = static_cast<double>(std::ranges::count_if(trees_, has_rows));
    for (double& share : result.shares)
        share /= n_trees_with_rows;
    return result;
}

// The trees with rows, laid out, if that was done since the last change or pays for so many rows; else nothing. Laying
// out four nodes takes about as long as a row gains by it in one tree.
std::vector<Routes> Forest::routes_for(std::size_t n_rows, std::size_t n_threads) const {
    std::scoped_lock const lock(routing_mutex_);  // of several predictions, one lays out
    if (routed_.empty()) {
        std::vector<Tree const*> trees;
        std::size_t n_nodes = 0;
        for (Tree const& tree : trees_)
            if (has_rows(tree)) {
                trees.push_back(&tree);
                n_nodes += tree.n_nodes();
            }
        if (4 * n_rows * trees.size() < n_nodes)
            return {};
        std::vector<RoutedTree> routed(trees.size());
        parallel_for(trees.size(), n_threads, [&](std::size_t t, std::size_t) {
            routed[t] =
                RoutedTree(*trees[t], totals_.size(), [this](auto counts, auto shares) { add_shares(counts, shares); });
        });
        routed_ = std::move(routed);
    }
    std::vector<Routes> routes;
    routes.reserve(routed_.size());
    std::ranges::transform(routed_, std::back_inserter(routes), &RoutedTree::routes);
    return routes;
}

// Walks down the trees as they are.
void Forest::add_shares_of_few(DenseRows const& rows, std::span<double> shares) const {
    std::size_t const n_classes = totals_.size();
    std::size_t const n_attributes = data_.n_attributes();
    Value const* const values = rows.block(0);
    for (Tree const& tree : trees_) {
        if (!has_rows(tree))
            continue;
        Node const* const nodes = &tree.node(Tree::kRoot);
        walk_side_by_side(
            rows.n_rows(), Tree::kRoot,
            [&](std::size_t i, NodeIndex& index) {
                Node const node = nodes[index];
                if (!node.is_split())
                    return false;
                index = node.link + (values[i * n_attributes + node.attribute] > node.threshold() ? 1 : 0);
                return true;
            },
            [&](std::size_t i, NodeIndex index) {
                add_shares(tree.counts(nodes[index]), shares.subspan(i * n_classes, n_classes));
            });
    }
}

// Adds the shares of the classes among the rows of a leaf.
void Forest::add_shares(std::span<Count const> counts, std::span<double> shares) const {
    auto const weighted = [&](std::size_t y) {
        return std::uint64_t{counts[y]} * (classes_.weights.empty() ? 1 : classes_.weights[y]);
    };
    std::uint64_t total = 0;
    for (std::size_t y = 0; y < counts.size(); ++y)
        total += weighted(y);
    for (std::size_t y = 0; y < counts.size(); ++y)
        shares[y] += static_cast<double>(weighted(y)) / static_cast<double>(total);
}

Digest Forest::fingerprint(Execution const& how) {
    std::unique_lock const lock(mutex_);
    build_all(how.n_threads);
    std::vector<Digest> digests(trees_.size());
    std::atomic<std::size_t> n_nodes_hashed{0};
    parallel_for(trees_.size(), how.n_threads, [&](std::size_t t, std::size_t) {
        TreeDigest const its = tree_digest(trees_[t], data_, classes_.keys);
        digests[t] = its.digest;
        n_nodes_hashed += its.n_nodes_hashed;
    });
    n_nodes_hashed_ = n_nodes_hashed;
    return forest_digest(data_, totals_, classes_.keys, digests);
}

std::optional<std::string> Forest::verify(Execution const& how, Progress const& progress) {
    std::unique_lock const lock(mutex_);
    build_all(how.n_threads);
    std::vector<Slot> const slots = data_.slots();
    auto const by_tree = rows_by_tree<Slot>(slots);
    auto const workers = make_workers(n_workers(trees_.size(), how.n_threads));
    std::vector<std::optional<std::string>> differences(trees_.size());
    parallel_for(
        trees_.size(), how.n_threads,
        [&](std::size_t t, std::size_t worker) {
            std::vector<Slot> rows = by_tree.empty() ? slots : by_tree[t];
            Tree retrained(root_key(params_.seed, static_cast<std::uint32_t>(t)), totals_.size());
            grower(*workers[worker]).grow(retrained, Tree::kRoot, rows, retrained.root());
            differences[t] = find_difference(trees_[t], retrained);
        },
        progress);
    for (std::size_t t = 0; t < trees_.size(); ++t)
        if (differences[t])
            return "tree " + std::to_string(t) + ": " + *differences[t];
    return std::nullopt;
}

std::optional<std::string> Forest::check(Execution const& how) const {
    std::shared_lock const lock(mutex_);
    require_intact();
    if (auto reason = data_.find_inconsistency())
        return reason;
    std::vector<Slot> const slots = data_.slots();
    auto const by_tree = rows_by_tree<Slot>(slots);
    auto const workers = make_workers(n_workers(trees_.size(), how.n_threads));
    std::vector<std::optional<std::string>> reasons(trees_.size());
    parallel_for(trees_.size(), how.n_threads, [&](std::size_t t, std::size_t worker) {
        Grower its_grower = grower(*workers[worker]);
        reasons[t] =
            find_inconsistency(trees_[t], by_tree.empty() ? slots : by_tree[t], params_, its_grower, *workers[worker]);
    });
    for (std::size_t t = 0; t < trees_.size(); ++t)
        if (reasons[t])
            return "tree " + std::to_string(t) + ", " + *reasons[t];
    return std::nullopt;
}

// --------------------------------------------------------------------------------------------------------- storing

std::vector<std::uint8_t> Forest::rows_as_bytes() const {
    std::shared_lock const lock(mutex_);
    require_intact();
    return write_rows(data_);
}

std::vector<std::uint8_t> Forest::tree_as_bytes(std::size_t tree) {
    std::unique_lock const lock(mutex_);
    require_intact();
    build_all(1);
    return write_tree(trees_.at(tree));
}

void Forest::restore(std::span<std::uint8_t const> rows, std::span<std::span<std::uint8_t const> const> trees,
                     Execution const& how, Progress const& progress) {
    std::unique_lock const lock(mutex_);
    Mutation mutation(*this);
    if (trees.size() != trees_.size())
        throw CorruptData("it has " + std::to_string(trees.size()) + " trees instead of " +
                          std::to_string(trees_.size()));
    StoredRows const stored = read_rows(rows, data_.schema(), totals_.size());
    Matrix const matrix{stored.values.data(), stored.ids.size(), data_.schema().n_columns()};
    make_trees(stored.ids, matrix, stored.votes, how, progress,
               [&](std::size_t t, std::vector<Slot>& tree_rows, Grower& its_grower) {
                   read_tree(trees[t], trees_[t], tree_rows, params_, its_grower, data_.n_attributes());
               });
    mutation.done();
}

FrozenForest Forest::freeze(std::span<Label const> classes, Execution const& how) {
    std::unique_lock const lock(mutex_);
    require_intact();
    if (data_.n_rows() == 0)
        throw EmptyForest("The forest holds no rows.");
    if (std::ranges::any_of(classes, [&](Label label) { return label >= totals_.size(); }))
        throw InvalidArgument("There is no such class.");
    build_all(how.n_threads);
    Freezer freezer(data_.schema(), classes.size(), [&](std::span<Count const> counts) {
        std::vector<double> shares(counts.size(), 0.0);
        add_shares(counts, shares);
        std::vector<double> chosen;
        std::ranges::transform(classes, std::back_inserter(chosen), [&](Label label) { return shares[label]; });
        return chosen;
    });
    for (Tree const& tree : trees_)
        if (has_rows(tree))
            freezer.add(tree);
    return freezer.finish();
}

TreeArrays Forest::tree_arrays(std::size_t tree) {
    std::unique_lock const lock(mutex_);
    require_intact();
    if (tree >= trees_.size())
        throw InvalidArgument("There is no tree " + std::to_string(tree) + ".");
    build_all(1);
    return export_tree(trees_[tree], data_, totals_.size());
}

MemoryUse Forest::memory() const {
    std::shared_lock const lock(mutex_);
    MemoryUse use;
    use.data = data_.memory();
    for (Tree const& tree : trees_) {
        TreeMemory const its = tree.memory();
        use.structure += sizeof(Tree) + its.structure;
        use.decision_stats += its.decision_stats;
        use.leaf_stats += its.leaf_stats;
    }
    std::scoped_lock const routing_lock(routing_mutex_);
    for (RoutedTree const& tree : routed_)
        use.structure += tree.memory();
    return use;
}

std::vector<RowId> Forest::ids() const {
    std::shared_lock const lock(mutex_);
    std::vector<RowId> ids;
    for (Slot const slot : data_.slots())
        ids.push_back(data_.id(slot));
    std::ranges::sort(ids);
    return ids;
}

std::vector<std::uint8_t> Forest::holds(std::span<RowId const> ids) const {
    std::shared_lock const lock(mutex_);
    std::vector<std::uint8_t> held(ids.size());
    std::ranges::transform(ids, held.begin(), [this](RowId id) { return data_.find(id) ? 1 : 0; });
    return held;
}

std::size_t Forest::n_rows() const {
    std::shared_lock const lock(mutex_);
    return data_.n_rows();
}

std::size_t Forest::n_classes() const {
    std::shared_lock const lock(mutex_);
    return totals_.size();
}

std::vector<Count> Forest::class_totals() const {
    std::shared_lock const lock(mutex_);
    return totals_;
}

std::size_t Forest::n_nodes_hashed() const {
    std::shared_lock const lock(mutex_);
    return n_nodes_hashed_;
}

std::size_t Forest::n_unbuilt() const {
    std::shared_lock const lock(mutex_);
    return count_unbuilt();
}

std::vector<std::uint8_t> Forest::raw_data() const {
    std::shared_lock const lock(mutex_);
    return data_.raw_bytes();
}

}  // namespace deciduous
