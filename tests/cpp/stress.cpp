// A randomised history of every operation of the core on hostile data, compared with fresh fits. Built in debug mode,
// and under the address, undefined-behaviour and thread sanitizers, where Python would be in the way.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "forest.h"
#include "hostile.h"
#include "io/frozen_bytes.h"
#include "torture.h"
#include "tree/consistency.h"

using namespace deciduous;

namespace {

constexpr Sizes kSizes{12, 400, 6, 12};
constexpr std::size_t kMaxThreads = 3;

[[noreturn]] void fail(std::string const& what, unsigned round) {
    std::fprintf(stderr, "stress: round %u: %s\n", round, what.c_str());
    std::exit(1);
}

// For quantiles: the lowest and the highest target, and some between them.
constexpr double kShares[] = {0.0, 0.05, 0.5, 0.9, 1.0};

// Whether a prediction is a mean of targets, or a share of a class; that of a damaged file need not be exact.
bool is_possible(double prediction, bool is_mean) {
    return is_mean ? std::abs(prediction) <= static_cast<double>(kMaxTarget)
                   : prediction >= 0.0 && prediction <= 1.0 + 1e-6;
}

class Round {
public:
    explicit Round(unsigned number) : number_(number), hostile_(number, kSizes) {}

    void run() {
        auto forest = fit(new_rows(pick(1, 700)));
        for (int step = 0; step < 25; ++step) {
            if (pick(0, 9) == 0)
                forest->compact(execution());
            else if (pick(0, 9) == 0)
                (void)forest->settle(std::chrono::milliseconds(pick(0, 2)), execution(), {});
            else if (pick(0, 14) == 0)
                forest = restored(std::move(forest));
            else if (pick(0, 3) == 0)
                replace(*forest, 40);
            else if (rows_.size() > 3 && hostile_.one_in(5))
                squeeze(*forest);
            else if (rows_.empty() || pick(0, 1) == 0)
                add(*forest, pick(0, 5) == 0 ? pick(1, 300) : pick(1, 3));
            else
                remove(*forest,
                       pick(0, 9) == 0 ? rows_.size() : hostile_.choose_leaving(rows_, pick(0, 1) == 0 ? 3 : 40));
            if (step % 5 == 4)
                compare(*forest);
        }
        predict_while_changing(*forest);
        compare(*forest);
        compare_with_one_hot(*forest);
    }

private:
    std::size_t pick(std::size_t least, std::size_t greatest) { return hostile_.pick(least, greatest); }

    std::vector<Row> new_rows(std::size_t n) { return hostile_.new_rows(n, weight_of(rows_)); }

    Execution execution() { return hostile_.execution(kMaxThreads); }

    [[nodiscard]] bool is_regression() const { return hostile_.params().is_regression(); }

    std::unique_ptr<Forest> fit_fresh(std::vector<Row> const& rows) {
        auto forest =
            std::make_unique<Forest>(hostile_.params(), Tuning{}, Schema(hostile_.n_categories()), hostile_.classes());
        Arrays const its(rows);
        forest->fit(its.ids, its.matrix(), its.votes, {1, false}, {});
        return forest;
    }

    std::unique_ptr<Forest> fit(std::vector<Row> rows) {
        auto forest = std::make_unique<Forest>(hostile_.params(), hostile_.tuning(), Schema(hostile_.n_categories()),
                                               hostile_.classes());
        Arrays const its(rows);
        forest->fit(its.ids, its.matrix(), its.votes, execution(), {});
        rows_ = std::move(rows);
        return forest;
    }

    // The forest from its bytes. They know no class without rows, so that the others would have other numbers.
    std::unique_ptr<Forest> restored(std::unique_ptr<Forest> forest) {
        auto const totals = forest->class_totals();
        if (std::ranges::find(totals, Count{0}) != totals.end())
            return forest;
        auto const rows = forest->rows_as_bytes();
        std::vector<WipedVector<std::uint8_t>> trees;
        for (std::size_t t = 0; t < forest->n_trees(); ++t)
            trees.push_back(forest->tree_as_bytes(t));
        std::vector<std::span<std::uint8_t const>> const spans(trees.begin(), trees.end());
        auto result = std::make_unique<Forest>(hostile_.params(), hostile_.tuning(), Schema(hostile_.n_categories()),
                                               hostile_.classes());
        result->restore(rows, spans, execution(), {});
        return result;
    }

    void add(Forest& forest, std::size_t n) {
        hostile_.maybe_add_class();
        add(forest, new_rows(n));
    }

    void squeeze(Forest& forest) {
        auto const [heavy, n_leaving] = hostile_.squeeze(rows_, weight_of(rows_));
        add(forest, heavy);
        remove(forest, n_leaving);
    }

    void add(Forest& forest, std::vector<Row> const& rows) {
        Arrays const its(rows);
        forest.add_rows({its.ids, its.matrix(), its.votes}, hostile_.classes(), execution(), {});
        rows_.insert(rows_.end(), rows.begin(), rows.end());
    }

    // Removes the first n rows.
    void remove(Forest& forest, std::size_t n) {
        std::vector<RowId> const ids = ids_of_first(rows_, n);
        Execution const how = execution();
        UpdateCost const planned = forest.deletion_cost(ids, how);
        if (forest.deletion_costs(ids, how).size() != n)
            fail("deletion_costs has the wrong size", number_);
        UpdateCost const cost = forest.delete_rows(ids, how, {});
        // A reader that expands postponed subtrees between plan and deletion changes what the deletion costs.
        if (!has_reader_ &&
            (planned.rows_retrained != cost.rows_retrained || planned.nodes_rebuilt != cost.nodes_rebuilt))
            fail("the cost of a deletion differs from its plan", number_);
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(n));
    }

    // Rows go, others come, and some change their values and classes under their ids, all in one step.
    void replace(Forest& forest, std::size_t n_most) {
        auto const [ids, rows] = hostile_.replacement(rows_, n_most, weight_of(rows_));
        Arrays const its(rows);
        forest.update_rows(ids, {its.ids, its.matrix(), its.votes}, hostile_.classes(), execution(), {});
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(ids.size()));
        rows_.insert(rows_.end(), rows.begin(), rows.end());
    }

    void compare(Forest& forest) {
        if (auto const reason = forest.check({2, false}))
            fail("check: " + *reason, number_);
        auto const fresh = fit_fresh(rows_);
        if (!rows_.empty())
            compare_predictions(forest, *fresh);
        if (forest.fingerprint({2, false}) != fresh->fingerprint({1, false}))
            fail("the fingerprint differs from a fresh fit's: " + forest.verify({1, false}, {}).value_or("?"), number_);
        if (auto const difference = forest.verify({2, false}, {}))
            fail("verify: " + *difference, number_);
        if (!rows_.empty())
            freeze(forest, *fresh);
    }

    // In any order: what is unbuilt is built by whichever reads it first.
    void compare_predictions(Forest& forest, Forest& fresh) {
        Arrays const probe(new_rows(pick(1, 300)));
        std::array comparisons = {&Round::compare_shares, &Round::compare_out_of_bag, &Round::compare_quantiles};
        std::ranges::shuffle(comparisons, hostile_.random());
        for (auto const compare_them : comparisons)
            (this->*compare_them)(forest, fresh, probe.matrix());
    }

    // Calls `predict` with each of the rows alone; all that it returns.
    template <typename Predict>
    std::vector<double> one_by_one(Matrix const& rows, Predict const& predict) {
        std::vector<double> all;
        for (std::size_t i = 0; i < rows.n_rows; ++i) {
            std::vector<double> const of_row = predict(Matrix{rows.row(i), 1, rows.n_columns});
            all.insert(all.end(), of_row.begin(), of_row.end());
        }
        return all;
    }

    // Rows are predicted together as they are alone, before and after the trees were laid out for many of them.
    void compare_shares(Forest& forest, Forest& fresh, Matrix const& rows) {
        auto const shares_of = [&](Forest& its) {
            return one_by_one(rows, [&](Matrix const& row) { return its.predict(row, {1, false}).shares; });
        };
        auto const expected = shares_of(fresh);
        if (forest.predict(rows, execution()).shares != expected)
            fail("many rows are predicted otherwise than single ones", number_);
        if (shares_of(forest) != expected)
            fail("single rows are predicted otherwise after many", number_);
    }

    void compare_out_of_bag(Forest& forest, Forest& fresh, Matrix const&) {
        if (!same_numbers(forest.predict_out_of_bag(execution()).shares, fresh.predict_out_of_bag({1, false}).shares))
            fail("rows are predicted otherwise out of bag", number_);
    }

    void compare_quantiles(Forest& forest, Forest& fresh, Matrix const& rows) {
        if (!is_regression())
            return;
        auto const expected =
            one_by_one(rows, [&](Matrix const& row) { return fresh.predict_quantiles(row, kShares, {1, false}); });
        if (forest.predict_quantiles(rows, kShares, execution()) != expected)
            fail("the quantiles of many rows differ from those of single ones in a fresh forest", number_);
    }

    // Categories are as good as the one-hot matrix that they stand for.
    void compare_with_one_hot(Forest& forest) {
        Arrays const its(rows_);
        std::vector<float> one_hot;
        for (Row const& row : rows_)
            for (std::size_t column = 0; column < hostile_.n_categories().size(); ++column) {
                if (hostile_.n_categories()[column] == 0)
                    one_hot.push_back(row.x[column]);
                for (std::uint32_t category = 0; category < hostile_.n_categories()[column]; ++category)
                    one_hot.push_back(row.x[column] == static_cast<float>(category) ? 1.0F : 0.0F);
            }
        std::vector<std::uint32_t> const all_numeric(hostile_.n_attributes(), 0);
        Forest expanded(hostile_.params(), hostile_.tuning(), Schema(all_numeric), hostile_.classes());
        expanded.fit(its.ids, {one_hot.data(), rows_.size(), hostile_.n_attributes()}, its.votes, execution(), {});
        if (expanded.fingerprint({1, false}) != forest.fingerprint({1, false}))
            fail("the forest differs from that of the one-hot matrix", number_);
    }

    // A frozen forest predicts the same, comes back from its bytes, and does not depend on history; damaged bytes are
    // refused, or are a forest that predicts shares.
    void freeze(Forest& forest, Forest& fresh) {
        std::vector<Label> labels(forest.n_classes());
        std::iota(labels.begin(), labels.end(), 0U);
        labels.resize(std::min(labels.size(), fresh.n_classes()));
        FrozenForest const frozen = forest.freeze(labels, {2, false});
        auto const bytes = write_frozen(frozen);
        if (bytes != write_frozen(fresh.freeze(labels, {1, false})))
            fail("a frozen forest shows its history", number_);
        Arrays const probe(new_rows(70));
        auto const shares =
            read_frozen(bytes, Schema(hostile_.n_categories()), frozen.predicts_means()).predict(probe.matrix(), 2);
        if (shares != forest.predict(probe.matrix(), {1, false}).shares)
            fail("a frozen forest predicts otherwise", number_);
        for (int i = 0; i < 200; ++i) {
            auto damaged = bytes;
            damaged[hostile_.random()() % std::min<std::size_t>(bytes.size(), i % 2 == 0 ? 24 : bytes.size())] ^=
                static_cast<std::uint8_t>(1U << (hostile_.random()() % 8));
            if (i % 5 == 0)
                damaged.resize(hostile_.random()() % damaged.size());
            try {
                FrozenForest const odd = read_frozen(damaged, Schema(hostile_.n_categories()), frozen.predicts_means());
                for (double const share : odd.predict(probe.matrix(), 1))
                    if (!is_possible(share, odd.predicts_means()))
                        fail("a share of a damaged frozen forest is out of range", number_);
            } catch (CorruptData const&) {
            }
        }
    }

    void predict_while_changing(Forest& forest) {
        if (rows_.size() < 10)
            add(forest, 10);
        Arrays const probe(new_rows(pick(1, 200)));
        auto const require_possible = [&](std::vector<double> const& predictions) {
            for (double const prediction : predictions)
                if (!is_possible(prediction, is_regression()))
                    fail("a prediction is out of range", number_);
        };
        auto const read = [&] {
            for (int i = 0; i < 20; ++i) {
                require_possible(forest.predict(probe.matrix(), {1, false}).shares);
                if (is_regression())
                    require_possible(forest.predict_quantiles(probe.matrix(), kShares, {1, false}));
                if (i % 5 == 4) {  // it builds all that is unbuilt, and others should have something to build, too
                    auto out_of_bag = forest.predict_out_of_bag({1, false}).shares;
                    std::erase_if(out_of_bag, [](double prediction) { return std::isnan(prediction); });
                    require_possible(out_of_bag);
                }
            }
        };
        JoinedThread const reader(read);
        JoinedThread const another(read);
        has_reader_ = true;
        for (int i = 0; i < 4; ++i) {
            remove(forest, 1);
            add(forest, 2);
            replace(forest, 2);
            (void)forest.settle(std::chrono::milliseconds(i), {1, false}, {});
            forest.compact({1, false});
        }
    }

    unsigned number_;
    Hostile hostile_;
    std::vector<Row> rows_;
    bool has_reader_ = false;
};

// Plants faults in a tree and expects the forest's own checks to name them: a check that never fails proves nothing.
void require_faults_are_found(Criterion criterion) {
    std::mt19937_64 random(1);
    std::vector<float> x(2 * 400);
    std::ranges::generate(x, [&] { return std::normal_distribution<float>()(random); });
    std::vector<RowId> ids(400);
    std::vector<WeightedLabel> votes(400);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<RowId>(i);
        bool const is_high = x[2 * i] + 0.5F * x[2 * i + 1] > 0;
        votes[i] = {is_high ? 1U : 0U, 1};
        if (criterion == Criterion::squared_error)
            votes[i] = {0, 1, is_high ? 1000 : static_cast<Target>(i % 3)};
    }
    Tuning tuning;
    tuning.max_bytes_per_row = 1000;
    tuning.max_bytes_per_row_with_target = 1000;
    Params params;
    params.criterion = criterion;
    params.max_features = 2;
    Dataset data(Schema(std::vector<std::uint32_t>{0, 0}), tuning, params.is_regression());
    std::vector<Slot> const slots = data.insert(ids, {x.data(), ids.size(), 2}, votes, 1);
    std::size_t const n_classes = params.is_regression() ? 1 : 2;
    TreeContext const context{params, tuning, data, n_classes, {}};
    ThreadScratch scratch(2);
    Grower grower(context, scratch);
    auto const grown = [&] {
        Tree tree(root_key(7, 0), n_classes);
        RowGroup rows;
        group_by_class(slots, data.labels(), n_classes, rows);
        grower.grow(tree, Tree::kRoot, rows, tree.root());
        return tree;
    };
    auto const expect_checked = [&](char const* fault, auto const& plant) {
        Tree tree = grown();
        plant(tree);
        if (!find_inconsistency(tree, slots, context, scratch))
            fail(std::string("check() overlooks ") + fault, 0);
        return tree;
    };
    auto const expect = [&](char const* fault, auto const& plant) {
        if (!find_difference(expect_checked(fault, plant), grown()))
            fail(std::string("verify() overlooks ") + fault, 0);
    };
    Tree const sound = grown();
    if (find_inconsistency(sound, slots, context, scratch) || find_difference(sound, grown()))
        fail("a sound tree is found faulty", 0);
    expect("a moved threshold", [](Tree& tree) { tree.set_threshold(Tree::kRoot, to_value(3.0F)); });
    (void)expect_checked("a wrong statistic", [](Tree& tree) { tree.stats(Tree::kRoot)->set_n_left(1); });
    if (params.is_regression()) {
        auto const expect_of_targets = [&](char const* fault, auto const& plant) {
            (void)expect_checked(fault, [&](Tree& tree) {
                TargetSummary targets = tree.stats(Tree::kRoot)->targets();
                plant(targets);
                tree.stats(Tree::kRoot)->set_targets(targets);
            });
        };
        expect_of_targets("a wrong sum of targets", [](TargetSummary& its) { ++its.sum; });
        expect_of_targets("a wrong target", [](TargetSummary& its) { its.two.second = 17; });
        expect_of_targets("a target that is counted wrongly", [](TargetSummary& its) { ++its.two.n_first; });
        expect_of_targets("two targets that are one", [](TargetSummary& its) { its.two.n_second = 0; });
    }
    expect("a missing row", [&](Tree& tree) {
        NodeIndex leaf = Tree::kRoot;
        while (tree.node(leaf).is_split())
            leaf = tree.node(leaf).child(Side::left);
        Slot const row = tree.rows(tree.node(leaf)).front();
        ChangedRows gone(data, {&row, 1}, 0);
        tree.change_rows(leaf, {gone.all(), {}}, data);
    });
}

// Ids that collide under one key do not under another: the time that a file takes is not up to those who write it.
void require_ids_cannot_be_aimed() {
    constexpr HashKey kKnown{1, 2};
    constexpr std::size_t kIds = 2000;
    WipedVector<RowId> ids;
    for (RowId id = 0; ids.size() < kIds; ++id)
        if (keyed_hash(kKnown, static_cast<std::uint64_t>(id)) % 4096 < 16)
            ids.push_back(id);
    auto const n_steps = [&](IdIndex index) {
        for (Slot slot = 0; slot < kIds; ++slot)
            index.insert(slot, ids);
        return index.n_steps(ids);
    };
    if (n_steps(IdIndex(kKnown)) < kIds * kIds / 4)
        fail("ids that were chosen to collide do not", 0);
    if (n_steps(IdIndex()) > 4 * kIds || n_steps(IdIndex({3, 4})) > 4 * kIds)
        fail("ids collide whatever the key is", 0);
    if (keyed_hash({0x0706050403020100, 0x0F0E0D0C0B0A0908}, 0x0706050403020100) != 0x369095118D299A8E)
        fail("SipHash-1-3 differs from its definition", 0);
}

}  // namespace

// `stress [rounds]`, or `stress --states n [--seed n]` for many more and shorter histories (torture.h).
int main(int argc, char** argv) {
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    auto const number_after = [&](std::string_view option, std::uint64_t otherwise) {
        auto const place = std::ranges::find(arguments, option);
        return place + 1 < arguments.end() ? std::strtoull((place + 1)->data(), nullptr, 10) : otherwise;
    };
    for (Criterion const criterion : {Criterion::gini, Criterion::squared_error})
        require_faults_are_found(criterion);
    require_ids_cannot_be_aimed();
    if (std::uint64_t const n_states = number_after("--states", 0)) {
        torture(n_states, number_after("--seed", 0));
        return 0;
    }
    auto const n_rounds = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 20);
    for (unsigned round = 0; round < n_rounds; ++round)
        Round(round).run();
    std::printf("stress: %u rounds, all equal to fresh fits\n", n_rounds);
}
