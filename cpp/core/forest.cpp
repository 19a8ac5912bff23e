#include "forest.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <type_traits>

#include "base/error.h"
#include "base/hash.h"
#include "base/room.h"
#include "data/occupancy.h"
#include "io/serialize.h"
#include "predict/grown_tree.h"
#include "predict/out_of_bag.h"
#include "predict/quantiles.h"
#include "predict/walk.h"
#include "tree/consistency.h"

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

// What is to be told of the first tree of which there is something to tell.
std::optional<std::string> first_of(std::span<std::optional<std::string> const> findings, std::size_t first_tree,
                                    char const* separator) {
    for (std::size_t t = 0; t < findings.size(); ++t)
        if (findings[t])
            return "tree " + std::to_string(first_tree + t) + separator + *findings[t];
    return std::nullopt;
}

}  // namespace

// Grows a tree, whichever it is, from all of its rows.
constexpr auto grow_tree = [](std::size_t, Tree& tree, RowGroup& rows, Grower& grower) {
    grower.grow(tree, Tree::kRoot, rows, tree.root());
};

void Forest::Moving::forget() noexcept {
    if (leaving.size() > kFewChanges)
        give_back(leaving);
    leaving.clear();
    removed.forget();
    added.forget();
}

// While the forest changes. If something is thrown half way, the trees go: they follow from the rows. What was laid out
// from the trees before goes in any case, and with it what it knew of rows.
class Forest::Mutation {
public:
    explicit Mutation(Forest& forest) : forest_(forest) { give_back(forest_.flat_trees_); }
    ~Mutation() {
        forest_.moving_.forget();
        if (is_done_)
            return;
        give_back(forest_.trees_);
        give_back(forest_.scratches_);
    }
    Mutation(Mutation const&) = delete;
    Mutation& operator=(Mutation const&) = delete;
    void done() { is_done_ = true; }

private:
    Forest& forest_;
    bool is_done_ = false;
};

// Rows that come in, and maybe classes with them. They go again unless they are told to stay.
class Forest::Arrival {
public:
    Arrival(Forest& forest, NewRows const& rows, Classes classes, std::size_t n_threads)
        : forest_(forest), votes_(rows.votes), n_former_classes_(forest.totals_.size()) {
        std::size_t const n_classes = std::max(n_former_classes_, classes.keys.size());
        forest_.totals_.reserve(n_classes);
        if (!rows.ids.empty())
            slots_ = forest_.data_.insert(rows.ids, rows.rows, rows.votes, n_threads);
        // From here on nothing can fail.
        std::ranges::sort(slots_);
        forest_.totals_.resize(n_classes, 0);
        for (WeightedLabel const vote : votes_)
            forest_.totals_[vote.label] += vote.weight;
        if (brings_classes())
            former_classes_ = std::exchange(forest_.classes_, std::move(classes));
    }
    ~Arrival() {
        if (!stays_)
            take_back();
        forest_.data_.forget_preparations();
    }
    Arrival(Arrival const&) = delete;
    Arrival& operator=(Arrival const&) = delete;

    [[nodiscard]] std::span<Slot const> slots() const { return slots_; }  // ascending
    [[nodiscard]] bool brings_classes() const { return forest_.totals_.size() > n_former_classes_; }
    void stay() { stays_ = true; }

private:
    void take_back() {
        forest_.data_.erase(slots_);
        for (WeightedLabel const vote : votes_)
            forest_.totals_[vote.label] -= vote.weight;
        if (brings_classes())
            forest_.classes_ = std::move(former_classes_);
        forest_.totals_.resize(n_former_classes_);
    }

    Forest& forest_;
    std::span<WeightedLabel const> votes_;
    std::size_t n_former_classes_;
    Classes former_classes_;  // if others come
    std::vector<Slot> slots_;
    bool stays_ = false;
};

Forest::Forest(Params const& params, Tuning const& tuning, Schema schema, Classes classes, TargetScale scale,
               std::optional<TreeRange> range)
    : params_(params),
      range_(range.value_or(TreeRange{0, params.n_trees})),
      tuning_(tuning),
      data_(std::move(schema), tuning, params.is_regression()),
      classes_(std::move(classes)),
      target_scale_(scale),
      totals_(classes_.keys.size(), 0),
      trees_(empty_trees()) {
    if (range_.first > range_.end || range_.end > params_.n_trees)
        throw InvalidArgument("There are no trees from " + std::to_string(range_.first) + " to " +
                              std::to_string(range_.end) + ".");
}

std::vector<Tree> Forest::empty_trees() const {
    std::vector<Tree> trees;
    trees.reserve(n_trees());
    for (std::size_t t = 0; t < n_trees(); ++t)
        trees.emplace_back(key_of_tree(t), totals_.size());
    return trees;
}

// By its number here, which in a shard is not that in the forest.
Key Forest::key_of_tree(std::size_t tree) const {
    return root_key(params_.seed, range_.first + static_cast<std::uint32_t>(tree));
}

void Forest::require_all_trees() const {
    if (n_trees() != params_.n_trees)
        throw InvalidArgument("A shard cannot tell what takes all trees.");
}

// ------------------------------------------------------------------------------------------------------------- locks

Forest::Reading Forest::reading() const {
    Reading lock(mutex_);
    require_intact();
    return lock;
}

// Alone, with all trees.
Forest::Writing Forest::writing(Execution const& how) {
    Writing lock(mutex_);
    require_intact();
    grow_missing(how.n_threads);
    return lock;
}

// Calls the reader while nobody changes anything and all trees are there.
template <typename Reader>
decltype(auto) Forest::read_trees(Execution const& how, Reader const& reader) {
    {
        Reading const lock = reading();
        if (trees_.size() == n_trees())
            return reader();
    }
    Writing const lock = writing(how);
    return reader();
}

void Forest::require_intact() const {
    if (is_torn_)
        throw BrokenForest(
            "Another thread was changing this forest when this process was forked from its parent, so the copy of it "
            "here is half changed. Fork while nothing changes it, or load a saved one here.");
}

// In a forked process. What others were reading is whole; what one had alone is not.
void Forest::forget_other_threads() {
    is_torn_ = is_torn_ || mutex_.is_exclusive();
    if (!flat_trees_mutex_.try_lock())
        new (&flat_trees_) std::vector<FlatTree>();  // lost, as it may be half made
    new (&flat_trees_mutex_) std::mutex();
    new (&mutex_) FairSharedMutex();
}

void Forest::grow_missing(std::size_t n_threads) {
    if (trees_.size() == n_trees())
        return;
    Mutation mutation(*this);
    make_trees(data_.slots(), {n_threads, false}, {}, grow_tree);
    mutation.done();
}

TreeContext Forest::context() const {
    return {params_, tuning_, data_, totals_.size(), classes_.weights};
}

// ------------------------------------------------------------------------------------------------ trees and threads

// Calls the function with each item below n_items and the scratch of the thread that calls.
template <typename Function>
void Forest::for_each(std::size_t n_items, Scratches& scratches, std::size_t n_threads, Function const& function,
                      Progress const& progress) const {
    parallel_for_with(
        scratches, [this] { return std::make_unique<ThreadScratch>(data_.n_attributes()); }, n_items, n_threads,
        [&](std::size_t item, std::unique_ptr<ThreadScratch> const& its) { function(item, *its); }, progress);
}

// Calls the function with the number of each tree; gives what it returned, if anything, in the order of the trees.
template <typename Function>
auto Forest::for_each_tree(Scratches& scratches, std::size_t n_threads, Function const& function,
                           Progress const& progress) const {
    using Result = std::invoke_result_t<Function const&, std::size_t, ThreadScratch&>;
    if constexpr (std::is_void_v<Result>) {
        for_each(trees_.size(), scratches, n_threads, function, progress);
    } else {
        std::vector<Result> results(trees_.size());
        auto const keep = [&](std::size_t t, ThreadScratch& scratch) { results[t] = function(t, scratch); };
        for_each(trees_.size(), scratches, n_threads, keep, progress);
        return results;
    }
}

// The costs of all trees together.
template <typename Function>
UpdateCost Forest::sum_of_costs(Scratches& scratches, std::size_t n_threads, Function const& cost_of,
                                Progress const& progress) const {
    UpdateCost total;
    std::mutex mutex;  // of the total
    auto const add = [&](std::size_t t, ThreadScratch& scratch) {
        UpdateCost const cost = cost_of(t, scratch);
        std::scoped_lock const lock(mutex);
        total.merge(cost);
    };
    for_each_tree(scratches, n_threads, add, progress);
    return total;
}

// Some rows, tree by tree: those that were drawn for a tree, or all of them if each tree has all.
template <typename Row>
class Forest::RowsByTree {
public:
    using Drawn = std::vector<WipedVector<std::remove_const_t<Row>>>;

    explicit RowsByTree(std::span<Row> all) : all_(all) {}
    explicit RowsByTree(Drawn drawn) : drawn_(std::move(drawn)) {}

    [[nodiscard]] std::span<Row> operator[](std::size_t tree) { return drawn_.empty() ? all_ : drawn_[tree]; }

private:
    std::span<Row> all_;
    Drawn drawn_;
};

// `progress` hears nothing new, but may stop it.
template <typename Row>
Forest::RowsByTree<Row> Forest::rows_by_tree(std::span<Row> rows, std::size_t n_threads,
                                             Progress const& progress) const {
    constexpr std::size_t kRanksPerPart = std::size_t{1} << 20;
    if (rows.empty() || params_.trees_per_row == params_.n_trees)
        return RowsByTree<Row>(rows);
    std::size_t const n_per_row = params_.trees_per_row;
    std::vector<std::uint32_t> trees(rows.size() * n_per_row);
    std::size_t const n_in_part = kRanksPerPart / params_.n_trees + 1;
    std::size_t const n_parts = (rows.size() + n_in_part - 1) / n_in_part;
    std::vector<Occupancy> occupancies;
    parallel_for_with(
        occupancies, [this] { return Occupancy(params_); }, n_parts, n_threads,
        [&](std::size_t part, Occupancy& occupancy) {
            for (std::size_t i = part * n_in_part; i < std::min(rows.size(), (part + 1) * n_in_part); ++i)
                std::ranges::copy(occupancy.trees_of(data_.id(slot_of(rows[i]))), &trees[i * n_per_row]);
        },
        progress ? [&](std::size_t) { progress(0); } : Progress{});
    typename RowsByTree<Row>::Drawn drawn(n_trees());
    for (std::size_t i = 0; i < trees.size(); ++i)
        if (range_.contains(trees[i]))
            drawn[trees[i] - range_.first].push_back(rows[i / n_per_row]);
    return RowsByTree<Row>(std::move(drawn));
}

// ---------------------------------------------------------------------------------------------------- fit and update

void Forest::fit(std::span<RowId const> ids, Matrix const& rows, std::span<WeightedLabel const> votes,
                 Execution const& how, Progress const& progress) {
    Writing const lock(mutex_);
    require_intact();
    data_.require_insertable(ids, votes, totals_.size());
    Mutation mutation(*this);
    Arrival arrival(*this, {ids, rows, votes}, {}, how.n_threads);
    make_trees(arrival.slots(), how, progress, grow_tree);
    arrival.stay();
    mutation.done();
}

void Forest::take_rows(NewRows const& rows, Execution const& how) {
    Writing const lock(mutex_);
    require_intact();
    data_.require_insertable(rows.ids, rows.votes, totals_.size());
    Arrival arrival(*this, rows, {}, how.n_threads);
    give_back(trees_);
    arrival.stay();
}

void Forest::grow(Execution const& how, Progress const& progress) {
    Writing const lock(mutex_);
    require_intact();
    Mutation mutation(*this);
    make_trees(data_.slots(), how, progress, grow_tree);
    mutation.done();
}

// Makes all trees: calls the function with the number, the beginnings, the rows and the grower of each.
template <typename Function>
void Forest::make_trees(std::span<Slot const> rows, Execution const& how, Progress const& progress,
                        Function const& make) {
    trees_.clear();
    trees_.reserve(n_trees());
    std::generate_n(std::back_inserter(trees_), n_trees(), Tree::unmade);
    RowGroup all;
    group_by_class(rows, data_.labels(), totals_.size(), all);
    auto by_tree = rows_by_tree(std::span<Slot const>(all.slots), how.n_threads, progress);
    for_each_tree(
        how.n_threads,
        [&](std::size_t t, ThreadScratch& scratch) {
            Pool<RowGroup>::Loan const its_rows(scratch.row_groups);
            if (by_tree[t].size() == all.slots.size())
                *its_rows = all;
            else
                group_by_class(by_tree[t], data_.labels(), totals_.size(), *its_rows);
            Grower its_grower = grower(scratch);
            scratch.growing.start(key_of_tree(t), totals_.size());
            make(t, scratch.growing, *its_rows, its_grower);
            trees_[t] = scratch.growing.packed();
        },
        progress);
}

// By ascending slot.
void Forest::find_slots(std::span<RowId const> ids, std::vector<Slot>& slots) const {
    slots.clear();
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
}

UpdateCost Forest::update_trees(Changes const& changes, Execution const& how, Progress const& progress) {
    auto removed = rows_by_tree(changes.removed, how.n_threads);
    auto added = rows_by_tree(changes.added, how.n_threads);
    auto const update = [&](std::size_t t, ThreadScratch& scratch) {
        UpdateCost cost = apply_update(context(), trees_[t], {removed[t], added[t]}, how.lazy, scratch);
        tidy(trees_[t]);
        return cost;
    };
    return sum_of_costs(scratches_, how.n_threads, update, progress);
}

UpdateCost Forest::update_rows(std::span<RowId const> leaving, NewRows const& coming, Classes classes,
                               Execution const& how, Progress const& progress) {
    Writing const lock = writing(how);
    if (classes.keys.size() > totals_.size())
        build_all(how.n_threads);  // trees that take in a class lose their statistics, and with them what is undecided
    auto& [leaving_slots, removed, added] = moving_;
    find_slots(leaving, leaving_slots);
    data_.require_insertable(coming.ids, coming.votes, std::max(totals_.size(), classes.keys.size()), leaving_slots);
    data_.prepare_to_erase(leaving_slots.size() + coming.ids.size());
    UpdateCost cost;
    {
        Mutation mutation(*this);
        Arrival arrival(*this, coming, std::move(classes), how.n_threads);
        if (arrival.brings_classes())
            for (Tree& tree : trees_)
                tree.widen(totals_.size());
        removed.take(data_, leaving_slots, tuning_.max_laid_out_values);
        added.take(data_, arrival.slots(), tuning_.max_laid_out_values);
        cost = update_trees({removed.all(), added.all()}, how, progress);
        // From here on nothing can fail.
        apply_to_counts(totals_, {removed.all(), {}});
        data_.erase(leaving_slots);
        ++n_updates_;
        arrival.stay();
        mutation.done();
    }
    if (!leaving.empty())
        for (auto const& scratch : scratches_)
            scratch->wipe_values();
    tidy_rows(how.n_threads);
    wipe_dead_stack();
    return cost;
}

// ------------------------------------------------------------------------------------------------------------ memory

void Forest::compact(Execution const& how) {
    Writing const lock = writing(how);
    lay_out_rows(how.n_threads);
    give_back(scratches_);
}

// Gives rows new slots without gaps, and lays all trees out with them.
void Forest::lay_out_rows(std::size_t n_threads) {
    Dataset compact = data_.compacted();
    std::vector<Slot> new_slots(data_.n_slots());
    Slot n_used = 0;
    for (Slot const slot : data_.slots())
        new_slots[slot] = n_used++;
    Mutation mutation(*this);
    for_each_tree(n_threads, [&](std::size_t t, ThreadScratch&) { trees_[t].lay_out(new_slots); });
    data_ = std::move(compact);
    mutation.done();
}

// Lay out what has become wasteful, unless there is not even the memory for that.
void Forest::tidy_rows(std::size_t n_threads) {
    try {
        if (data_.is_wasteful(tuning_.max_waste))
            lay_out_rows(n_threads);
    } catch (std::bad_alloc const&) {
    }
}

void Forest::tidy(Tree& tree) const {
    try {
        if (tree.is_wasteful(tuning_.max_waste))
            tree.lay_out({});
    } catch (std::bad_alloc const&) {
    }
}

UpdateCost Forest::deletion_cost(std::span<RowId const> ids, Execution const& how) {
    return read_trees(how, [&] {
        std::vector<Slot> slots;
        find_slots(ids, slots);
        ChangedRows rows(data_, slots, tuning_.max_laid_out_values);
        auto by_tree = rows_by_tree(rows.all(), how.n_threads);
        Scratches scratches;
        return sum_of_costs(scratches, how.n_threads, [&](std::size_t t, ThreadScratch& scratch) {
            return plan_update(context(), trees_[t], {by_tree[t], {}}, how.lazy, scratch);
        });
    });
}

std::vector<std::uint64_t> Forest::deletion_costs(std::span<RowId const> ids, Execution const& how,
                                                  Progress const& progress) {
    return read_trees(how, [&] {
        std::vector<Slot> slots;
        find_slots(ids, slots);  // whether all of them are there
        std::vector<std::uint64_t> costs(ids.size(), 0);
        bool const all_in_all = params_.trees_per_row == params_.n_trees;
        Scratches scratches;
        auto const add_costs = [&](std::size_t i, ThreadScratch& scratch) {
            Slot const slot = *data_.find(ids[i]);
            ChangedRows row(data_, {&slot, 1}, tuning_.max_laid_out_values);
            auto const add_tree = [&](std::uint32_t tree) {
                if (range_.contains(tree))
                    costs[i] += plan_update(context(), trees_[tree - range_.first], {row.all(), {}}, how.lazy, scratch)
                                    .total_rows_retrained();
            };
            if (all_in_all)
                for (std::uint32_t tree = range_.first; tree < range_.end; ++tree)
                    add_tree(tree);
            else
                std::ranges::for_each(Occupancy(params_).trees_of(ids[i]), add_tree);
        };
        for_each(ids.size(), scratches, how.n_threads, add_costs, progress);
        return costs;
    });
}

// -------------------------------------------------------------------------------------------------- lazy subtrees

std::size_t Forest::count_postponed() const {
    std::size_t n = 0;
    for (Tree const& tree : trees_)
        n += tree.n_postponed();
    return n;
}

// Builds whatever was postponed.
void Forest::build_all(std::size_t n_threads) {
    if (count_postponed() == 0)
        return;
    Mutation mutation(*this);
    for_each_tree(n_threads, [&](std::size_t t, ThreadScratch& scratch) {
        build_until(trees_[t], Tree::kRoot, trees_[t].root(), Clock::time_point::max(), scratch);
        tidy(trees_[t]);
    });
    mutation.done();
}

// Builds a node that was postponed: decides it if it is undecided, and grows it if it is unbuilt, with unbuilt children
// if `only_one_level`.
void Forest::build(Tree& tree, NodeIndex index, NodePath path, bool only_one_level, ThreadScratch& scratch) const {
    if (tree.node(index).kind == NodeKind::unbuilt)
        grower(scratch).expand(tree, index, path, only_one_level);
    else
        decide_postponed(context(), tree, index, path, scratch);
}

std::size_t Forest::settle(std::chrono::duration<double> budget, Execution const& how, Progress const& progress) {
    constexpr std::chrono::milliseconds kTurn{20};  // of ours, before others get theirs
    // So long that nobody waits for its end, and so short that clocks can add it.
    constexpr std::chrono::duration<double> kForever = std::chrono::hours(24 * 365);
    auto const end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(budget, kForever));
    while (Clock::now() < end && settle_until(std::min(end, Clock::now() + kTurn), how))
        if (progress)
            progress(0);
    return n_unbuilt();
}

// Settles some trees, at least one; false if there was nothing to do.
bool Forest::settle_until(Clock::time_point end, Execution const& how) {
    Writing const lock = writing(how);
    auto const is_settled = [](Tree const& tree) { return tree.n_postponed() == 0 && !tree.lacks_stats(); };
    if (std::ranges::all_of(trees_, is_settled))
        return false;
    std::atomic<bool> has_got_on = false;
    Mutation mutation(*this);
    for_each_tree(how.n_threads, [&](std::size_t t, ThreadScratch& scratch) {
        if (is_settled(trees_[t]) || (has_got_on && Clock::now() >= end))
            return;
        has_got_on = true;
        if (trees_[t].n_postponed() > 0)
            build_until(trees_[t], Tree::kRoot, trees_[t].root(), end, scratch);
        else
            make_stats(trees_[t], scratch);
        tidy(trees_[t]);
    });
    mutation.done();
    return true;
}

// Makes the statistics that a tree lacks.
void Forest::make_stats(Tree& tree, ThreadScratch& scratch) const {
    Pool<RowGroup>::Loan const rows(scratch.row_groups);
    tree.gather(Tree::kRoot, {}, data_, *rows, scratch.tree);
    grower(scratch).make_stats(tree, Tree::kRoot, Rows{rows->slots, rows->ends}, tree.root());
    tree.set_lacks_stats(false);
}

// Builds what was postponed at a node and below until it is time to stop: large subtrees level by level, so that this
// is seen soon. Whether there is time left.
bool Forest::build_until(Tree& tree, NodeIndex index, NodePath path, Clock::time_point end,
                         ThreadScratch& scratch) const {
    constexpr Count kMostAtOnce = 4096;
    if (!tree.leads_to_postponed(index))
        return true;
    if (tree.is_postponed(index)) {
        build(tree, index, path, tree.node(index).n_rows() > kMostAtOnce, scratch);
        if (Clock::now() >= end)  // not before, so that each turn gets on, however long it looks for work
            return false;
    }
    Node const node = tree.node(index);
    if (!node.is_split())
        return true;
    for (Side const side : {Side::left, Side::right})
        if (!build_until(tree, node.child(side), path.child(side), end, scratch))
            return false;
    tree.note_postponed(index);
    return true;
}

// Whether some of these rows arrive at something that was postponed.
bool Forest::reaches_postponed(Matrix const& rows, std::size_t n_threads) const {
    std::vector<Tree const*> trees;
    for (Tree const& tree : trees_)
        if (tree.n_postponed() > 0)
            trees.push_back(&tree);
    if (trees.empty())
        return false;
    auto const arrives = [](Tree const& tree, Value const* row) {
        NodeIndex index = Tree::kRoot;
        while (tree.leads_to_postponed(index) && !tree.is_postponed(index)) {
            Node const& node = tree.node(index);
            index = node.child(row[node.attribute] <= node.threshold() ? Side::left : Side::right);
        }
        return tree.is_postponed(index);
    };
    std::atomic<bool> has_found = false;
    for_dense_chunks(rows, data_.schema(), 1, n_threads, [&](DenseRows const& dense, std::size_t) {
        for (std::size_t row = 0; row < dense.n_rows() && !has_found; ++row)
            if (std::ranges::any_of(trees, [&](Tree const* tree) { return arrives(*tree, dense.block(row)); }))
                has_found = true;
    });
    return has_found;
}

// Builds as much of all trees as these rows need to find their leaves.
void Forest::build_reached(Matrix const& rows, std::size_t n_threads) {
    Mutation mutation(*this);
    Scratches scratches;
    for_dense_chunks(rows, data_.schema(), 1, 1, [&](DenseRows const& dense, std::size_t) {
        for_each_tree(scratches, n_threads,
                      [&](std::size_t t, ThreadScratch& scratch) {
                          std::vector<std::uint32_t> numbers(dense.n_rows());
                          std::iota(numbers.begin(), numbers.end(), 0U);
                          build_reached(trees_[t], Tree::kRoot, trees_[t].root(), dense, numbers, scratch);
                          tidy(trees_[t]);
                      },
                      {});
    });
    mutation.done();
}

// Builds as much of a subtree as those of the rows that have these numbers need.
void Forest::build_reached(Tree& tree, NodeIndex index, NodePath path, DenseRows const& rows,
                           std::span<std::uint32_t> numbers, ThreadScratch& scratch) const {
    if (numbers.empty() || !tree.leads_to_postponed(index))
        return;
    // Growing a subtree as a whole takes less time than level by level, unless rows need few of its nodes.
    constexpr std::size_t kMostForOne = 64;
    if (tree.is_postponed(index))
        build(tree, index, path, tree.node(index).n_rows() > kMostForOne * numbers.size(), scratch);
    Node const node = tree.node(index);
    if (!node.is_split())
        return;
    std::size_t n_left = 0;
    for (std::uint32_t& number : numbers) {  // without branches, as their outcomes would be random
        bool const goes_left = rows.block(number)[node.attribute] <= node.threshold();
        std::swap(number, numbers[n_left]);
        n_left += goes_left ? 1 : 0;
    }
    build_reached(tree, node.child(Side::left), path.child(Side::left), rows, numbers.first(n_left), scratch);
    build_reached(tree, node.child(Side::right), path.child(Side::right), rows, numbers.subspan(n_left), scratch);
    tree.note_postponed(index);
}

// -------------------------------------------------------------------------------------------------------- reading

// Calls predict() when everything that the rows reach is built.
template <typename Predict>
auto Forest::predict_with(Matrix const& rows, Execution const& how, Predict const& predict) {
    {
        Reading const lock = reading();
        if (trees_.size() == n_trees() && !reaches_postponed(rows, how.n_threads))
            return predict();
    }
    Writing const lock = writing(how);
    build_reached(rows, how.n_threads);
    return predict();
}

void Forest::require_rows() const {
    if (data_.n_rows() == 0)
        throw EmptyForest("The forest holds no rows.");
}

ClassShares Forest::predict(Matrix const& rows, Execution const& how) {
    require_all_trees();
    return predict_with(rows, how, [&] {
        require_rows();
        ClassShares result{std::vector<double>(rows.n_rows * totals_.size(), 0.0), totals_.size()};
        auto const n_trees = static_cast<double>(add_values(rows, how.n_threads, result.shares));
        for (double& share : result.shares)
            share /= n_trees;
        return result;
    });
}

std::size_t Forest::add_predictions(Matrix const& rows, Execution const& how, std::span<double> sums) {
    return predict_with(rows, how, [&]() -> std::size_t {
        if (sums.size() != rows.n_rows * totals_.size())
            throw InvalidArgument("There must be a sum for each row and class.");
        return data_.n_rows() == 0 ? 0 : add_values(rows, how.n_threads, sums);
    });
}

std::vector<double> Forest::predict_quantiles(Matrix const& rows, std::span<double const> shares, Execution const& how,
                                              Progress const& progress) {
    if (!params_.is_regression())
        throw InvalidArgument("Only a regression forest has targets.");
    require_all_trees();
    return predict_with(rows, how, [&] {
        require_rows();
        return quantiles_of_rows(trees_with_rows(), data_, rows, shares, how.n_threads, progress);
    });
}

ClassShares Forest::predict_out_of_bag(Execution const& how) {
    require_all_trees();
    Writing const lock = writing(how);
    build_all(how.n_threads);
    std::vector<Slot> slots = data_.slots();
    std::ranges::sort(slots, {}, [this](Slot slot) { return data_.id(slot); });
    std::size_t const n_classes = totals_.size();
    return {out_of_bag_values(trees_, data_, params_, slots, leaf_values(), n_classes, how.n_threads), n_classes};
}

// Adds what the trees with rows predict; how many these are. Everything that the rows reach is built.
std::size_t Forest::add_values(Matrix const& rows, std::size_t n_threads, std::span<double> sums) const {
    auto const add = [&]<typename WalkedTree>(std::vector<WalkedTree> const& trees) {
        add_shares_of_rows<WalkedTree>(trees, rows, data_.schema(), totals_.size(), n_threads, sums);
        return trees.size();
    };
    if (auto const* const flat_trees = flat_trees_for(rows.n_rows, n_threads))
        return leaf_forks(leaf_values()) == LeafForks::one ? add(views_of<LeafForks::one>(*flat_trees))
                                                           : add(views_of<LeafForks::own>(*flat_trees));
    std::vector<GrownTree> trees;
    for (Tree const* const tree : trees_with_rows())
        trees.emplace_back(*tree, leaf_values());
    return add(trees);
}

std::vector<Tree const*> Forest::trees_with_rows() const {
    std::vector<Tree const*> trees;
    for (Tree const& tree : trees_)
        if (has_rows(tree))
            trees.push_back(&tree);
    return trees;
}

// The trees with rows, laid out, if that was done since the last change or pays for so many rows; else null. Laying
// out two nodes takes about as long as a row gains by it in one tree, and rows that come later gain by it, too.
std::vector<FlatTree> const* Forest::flat_trees_for(std::size_t n_rows, std::size_t n_threads) const {
    std::scoped_lock const lock(flat_trees_mutex_);  // of several predictions, one lays out
    if (flat_trees_.empty()) {
        auto const trees = trees_with_rows();
        std::size_t n_nodes = 0;
        for (Tree const* const tree : trees)
            n_nodes += tree->n_nodes();
        if (4 * n_rows * trees.size() < n_nodes)
            return nullptr;
        std::vector<FlatTree> flat_trees(trees.size());
        parallel_for(trees.size(), n_threads, [&](std::size_t t, std::size_t) {
            flat_trees[t] = FlatTree(*trees[t], totals_.size(), leaf_values());
        });
        flat_trees_ = std::move(flat_trees);
    }
    return &flat_trees_;
}

Digest Forest::fingerprint(Execution const& how) {
    require_all_trees();
    Writing const lock = writing(how);
    std::vector<Label> present;
    for (Label y = 0; y < totals_.size(); ++y)
        if (totals_[y] > 0)
            present.push_back(y);
    return digest_of(data_.n_rows(), present, digest_trees(how));
}

std::vector<Digest> Forest::tree_digests(Execution const& how) {
    Writing const lock = writing(how);
    return digest_trees(how);
}

Digest Forest::fingerprint_of(std::uint64_t n_rows, std::span<Label const> present,
                              std::span<Digest const> trees) const {
    Reading const lock = reading();
    if (trees.size() != params_.n_trees)
        throw InvalidArgument("There must be a digest for each tree.");
    return digest_of(n_rows, present, trees);
}

std::vector<Digest> Forest::digest_trees(Execution const& how) {
    build_all(how.n_threads);
    auto const trees = for_each_tree(
        how.n_threads, [&](std::size_t t, ThreadScratch&) { return tree_digest(trees_[t], data_, classes_.keys); });
    std::vector<Digest> digests;
    n_nodes_hashed_ = 0;
    for (TreeDigest const& tree : trees) {
        digests.push_back(tree.digest);
        n_nodes_hashed_ += tree.n_nodes_hashed;
    }
    return digests;
}

Digest Forest::digest_of(std::uint64_t n_rows, std::span<Label const> present, std::span<Digest const> trees) const {
    DigestHead const head{data_.n_attributes(), n_rows};
    if (params_.is_regression())
        return regression_digest(head, target_scale_, trees);
    std::vector<ClassKey> keys;
    for (Label const y : present)
        keys.push_back(classes_.keys.at(y));
    return forest_digest(head, std::move(keys), trees);
}

std::optional<std::string> Forest::verify(Execution const& how, Progress const& progress) {
    Writing const lock = writing(how);
    build_all(how.n_threads);
    std::vector<Slot> const slots = data_.slots();
    auto by_tree = rows_by_tree(std::span(slots), how.n_threads, progress);
    auto const compare = [&](std::size_t t, ThreadScratch& scratch) {
        RowGroup rows;
        group_by_class(by_tree[t], data_.labels(), totals_.size(), rows);
        Tree retrained(key_of_tree(t), totals_.size());
        grower(scratch).grow(retrained, Tree::kRoot, rows, retrained.root());
        return find_difference(trees_[t], retrained);
    };
    return first_of(for_each_tree(how.n_threads, compare, progress), range_.first, ": ");
}

std::optional<std::string> Forest::check(Execution const& how) {
    return read_trees(how, [&]() -> std::optional<std::string> {
        if (auto reason = data_.find_inconsistency())
            return reason;
        std::vector<Slot> const slots = data_.slots();
        auto by_tree = rows_by_tree(std::span(slots), how.n_threads);
        auto const recount = [&](std::size_t t, ThreadScratch& scratch) {
            return find_inconsistency(trees_[t], by_tree[t], context(), scratch);
        };
        return first_of(for_each_tree(how.n_threads, recount), range_.first, ", ");
    });
}

// --------------------------------------------------------------------------------------------------------- storing

WipedVector<std::uint8_t> Forest::rows_as_bytes() const {
    Reading const lock = reading();
    auto bytes = write_rows(data_, totals_);
    wipe_dead_stack();
    return bytes;
}

WipedVector<std::uint8_t> Forest::tree_as_bytes(std::size_t tree) {
    Writing const lock = writing({});
    build_all(1);
    auto bytes = write_tree(trees_.at(tree));
    wipe_dead_stack();
    return bytes;
}

void Forest::restore(std::span<std::uint8_t const> rows, std::span<std::span<std::uint8_t const> const> trees,
                     Execution const& how, Progress const& progress) {
    Writing const lock(mutex_);
    require_intact();
    if (trees.size() != n_trees())
        throw CorruptData("it has " + std::to_string(trees.size()) + " trees instead of " + std::to_string(n_trees()));
    StoredRows const stored = read_rows(rows, data_.schema(), totals_.size(), params_.is_regression());
    Matrix const matrix{stored.values.data(), stored.ids.size(), data_.schema().n_columns()};
    Mutation mutation(*this);
    Arrival arrival(*this, {stored.ids, matrix, stored.votes}, {}, how.n_threads);
    make_trees(arrival.slots(), how, progress, [&](std::size_t t, Tree& tree, RowGroup& its_rows, Grower& its_grower) {
        read_tree(trees[t], tree, its_rows, its_grower, data_.n_attributes());
        tree.set_lacks_stats(true);
    });
    arrival.stay();
    mutation.done();
}

FrozenForest Forest::freeze(std::span<Label const> classes, Execution const& how) {
    require_all_trees();
    Writing const lock = writing(how);
    require_rows();
    if (std::ranges::any_of(classes, [&](Label label) { return label >= totals_.size(); }))
        throw InvalidArgument("There is no such class.");
    build_all(how.n_threads);
    Freezer freezer(data_.schema(), classes, leaf_values());
    for (Tree const* const tree : trees_with_rows())
        freezer.add(*tree);
    return freezer.finish();
}

TreeArrays Forest::tree_arrays(std::size_t tree) {
    Writing const lock = writing({});
    if (tree >= trees_.size())
        throw InvalidArgument("There is no tree " + std::to_string(tree) + ".");
    build_all(1);
    return export_tree(trees_[tree], data_, totals_.size());
}

MemoryUse Forest::memory() const {
    Reading const lock = reading();
    MemoryUse use;
    use.data = data_.memory();
    for (Tree const& tree : trees_) {
        TreeMemory const its = tree.memory();
        use.structure += sizeof(Tree) + its.structure;
        use.decision_stats += its.decision_stats;
        use.leaf_stats += its.leaf_stats;
    }
    std::scoped_lock const flat_trees_lock(flat_trees_mutex_);
    for (FlatTree const& tree : flat_trees_)
        use.structure += tree.memory();
    return use;
}

std::vector<RowId> Forest::ids() const {
    Reading const lock = reading();
    std::vector<RowId> ids;
    for (Slot const slot : data_.slots())
        ids.push_back(data_.id(slot));
    std::ranges::sort(ids);
    return ids;
}

std::vector<std::uint8_t> Forest::holds(std::span<RowId const> ids) const {
    Reading const lock = reading();
    std::vector<std::uint8_t> held(ids.size());
    std::ranges::transform(ids, held.begin(), [this](RowId id) { return data_.find(id) ? 1 : 0; });
    return held;
}

std::vector<std::uint8_t> Forest::needs(std::span<RowId const> ids) const {
    if (params_.trees_per_row == params_.n_trees)
        return std::vector<std::uint8_t>(ids.size(), n_trees() > 0 ? 1 : 0);
    Occupancy occupancy(params_);
    std::vector<std::uint8_t> needed(ids.size());
    auto const is_ours = [this](std::uint32_t tree) { return range_.contains(tree); };
    std::ranges::transform(ids, needed.begin(),
                           [&](RowId id) { return std::ranges::any_of(occupancy.trees_of(id), is_ours) ? 1 : 0; });
    return needed;
}

std::size_t Forest::n_rows() const {
    Reading const lock = reading();
    return data_.n_rows();
}

std::size_t Forest::n_classes() const {
    Reading const lock = reading();
    return totals_.size();
}

std::vector<Count> Forest::class_totals() const {
    Reading const lock = reading();
    return totals_;
}

std::uint64_t Forest::n_updates() const {
    Reading const lock = reading();
    return n_updates_;
}

std::size_t Forest::n_nodes_hashed() const {
    Reading const lock = reading();
    return n_nodes_hashed_;
}

HeldRows Forest::rows(std::span<RowId const> ids) const {
    Reading const lock = reading();
    std::vector<Slot> slots;
    find_slots(ids, slots);  // whether all of them are there
    HeldRows result;
    result.values.reserve(ids.size() * data_.columns().size());
    for (RowId const id : ids) {
        Slot const slot = *data_.find(id);
        for (Column const& column : data_.columns())
            result.values.push_back(to_float(column[slot]));
        auto const [label, weight, target] = data_.vote(slot);
        result.labels.push_back(label);
        result.weights.push_back(weight);
        if (data_.has_targets())
            result.targets.push_back(target);
    }
    return result;
}

std::size_t Forest::n_unbuilt() const {
    Reading const lock = reading();
    return count_postponed();
}

std::vector<std::uint8_t> Forest::raw_data() const {
    Reading const lock = reading();
    return data_.raw_bytes();
}

}  // namespace deciduous
