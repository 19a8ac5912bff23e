// A randomised history of every operation of the core on hostile data, compared with fresh fits. Built in debug mode,
// and under the address, undefined-behaviour and thread sanitizers, where Python would be in the way.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "consistency.h"
#include "error.h"
#include "forest.h"

using namespace deciduous;

namespace {

constexpr std::size_t kMaxColumns = 12;
constexpr std::size_t kCategorical = 6;  // kind of column

struct Row {
    RowId id;
    std::vector<float> x;
    Vote vote;
};

[[noreturn]] void fail(std::string const& what, unsigned round) {
    std::fprintf(stderr, "stress: round %u: %s\n", round, what.c_str());
    std::exit(1);
}

class Round {
public:
    explicit Round(unsigned number) : number_(number), random_(number) {
        std::size_t const n_columns = pick(1, kMaxColumns);
        n_classes_ = static_cast<Label>(pick(1, 4));
        for (std::size_t column = 0; column < n_columns; ++column) {
            column_kinds_.push_back(pick(0, 6));
            n_categories_.push_back(column_kinds_.back() == kCategorical ? static_cast<std::uint32_t>(pick(1, 400))
                                                                         : 0);
        }
        n_attributes_ = Schema(n_categories_).n_attributes();
        has_weights_ = pick(0, 3) == 0;
        has_class_weights_ = pick(0, 3) == 0;
        params_ = random_params();
        tuning_.min_cached_rows = static_cast<std::uint32_t>(pick(0, 2) == 0 ? 1 : pick(2, 64));
        tuning_.max_bytes_per_row = static_cast<std::uint32_t>(pick(0, 2) == 0 ? pick(1, 64) : 1000000);
        tuning_.min_alternate_rows = static_cast<std::uint32_t>(pick(0, 1) == 0 ? 1 : pick(2, 300));
        tuning_.max_alternate_share = pick(0, 2) == 0 ? 0.3 : 3.0;
        tuning_.max_postponed_rows = static_cast<std::uint32_t>(pick(0, 1) == 0 ? 512 : pick(0, 50));
        tuning_.min_sampled_rows = static_cast<std::uint32_t>(pick(1, 300));
        tuning_.max_codes = static_cast<std::uint32_t>(pick(0, 1) == 0 ? 256 : pick(1, 8));
        tuning_.reserve = static_cast<std::uint32_t>(pick(0, 3));
    }

    void run() {
        auto forest = fit(new_rows(pick(1, 700)));
        for (int step = 0; step < 25; ++step) {
            if (rows_.empty() || pick(0, 1) == 0)
                add(*forest, pick(0, 5) == 0 ? pick(1, 300) : pick(1, 3));
            else
                remove(*forest, pick(0, 9) == 0
                                    ? rows_.size()
                                    : pick(1, std::min<std::size_t>(rows_.size(), pick(0, 1) == 0 ? 3 : 40)));
            if (step % 5 == 4)
                compare(*forest);
        }
        predict_while_changing(*forest);
        compare(*forest);
        compare_with_one_hot(*forest);
    }

private:
    static constexpr Label kMaxClasses = 6;

    std::size_t pick(std::size_t least, std::size_t greatest) {
        return std::uniform_int_distribution<std::size_t>(least, greatest)(random_);
    }

    Params random_params() {
        Params params;
        params.n_trees = static_cast<std::uint32_t>(pick(1, 6));
        params.trees_per_row = static_cast<std::uint32_t>(pick(0, 1) == 0 ? params.n_trees : pick(1, params.n_trees));
        params.max_depth = static_cast<std::uint32_t>(pick(1, 12));
        params.random_depth = static_cast<std::uint32_t>(pick(0, 2) == 0 ? pick(0, 12) : 0);
        params.max_features = static_cast<std::uint32_t>(pick(1, n_attributes_));
        params.candidates = pick(0, 2) == 0 ? CandidateScheme::uniform : CandidateScheme::valid;
        params.n_thresholds = static_cast<std::uint32_t>(pick(1, 12));
        if (params.candidates == CandidateScheme::valid && pick(0, 4) == 0)
            params.n_thresholds = kAllThresholds;
        params.criterion = pick(0, 1) == 0 ? Criterion::gini : Criterion::entropy;
        params.min_samples_split = static_cast<std::uint32_t>(pick(2, 5));
        params.min_samples_leaf = static_cast<std::uint32_t>(pick(0, 2) == 0 ? pick(2, 4) : 1);
        params.seed = random_();
        return params;
    }

    float random_value(std::size_t kind, std::uint32_t n_categories) {
        constexpr float kExtremes[] = {
            0.0F, -0.0F, 1e-45F, -1e-45F, 3.4e38F, -3.4e38F, 1.0e-3F, 1.5e9F, std::numeric_limits<float>::quiet_NaN()};
        switch (kind) {
            case 0:
                return 1.0F;
            case 1:
                return static_cast<float>(pick(0, 1));
            case 2:
                return static_cast<float>(pick(0, 30));
            case 3:
                return kExtremes[pick(0, std::size(kExtremes) - 1)];
            case kCategorical:
                // Some rows are of no category, and most of the others are of a few.
                return pick(0, 9) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                       : static_cast<float>(pick(0, pick(0, n_categories - 1)));
            default:
                return std::normal_distribution<float>()(random_);
        }
    }

    // Heavy rows make counts that need all of their bits.
    Count random_weight() {
        if (!has_weights_)
            return 1;
        return static_cast<Count>(pick(0, 9) == 0 ? pick(100, 5000) : pick(1, 3));
    }

    std::vector<Row> new_rows(std::size_t n) {
        std::vector<Row> rows;
        for (std::size_t i = 0; i < n; ++i) {
            auto const label = static_cast<Label>(pick(0, 9) == 0 ? pick(0, n_classes_ - 1) : 0);
            Row row{next_id_++, {}, {label, random_weight()}};
            for (std::size_t column = 0; column < column_kinds_.size(); ++column)
                row.x.push_back(random_value(column_kinds_[column], n_categories_[column]));
            rows.push_back(std::move(row));
        }
        return rows;
    }

    struct Arrays {
        std::vector<RowId> ids;
        std::vector<float> x;
        std::vector<Vote> votes;
    };

    static Arrays arrays(std::vector<Row> const& rows) {
        Arrays result;
        for (Row const& row : rows) {
            result.ids.push_back(row.id);
            result.x.insert(result.x.end(), row.x.begin(), row.x.end());
            result.votes.push_back(row.vote);
        }
        return result;
    }

    Matrix matrix(Arrays const& its) const { return {its.x.data(), its.ids.size(), n_categories_.size()}; }

    Execution execution() { return {pick(1, 3), pick(0, 1) == 0}; }

    std::unique_ptr<Forest> fit_fresh(std::vector<Row> const& rows) {
        auto forest = std::make_unique<Forest>(params_, Tuning{}, Schema(n_categories_), classes());
        Arrays const its = arrays(rows);
        forest->fit(its.ids, matrix(its), its.votes, {1, false}, {});
        return forest;
    }

    std::unique_ptr<Forest> fit(std::vector<Row> rows) {
        auto forest = std::make_unique<Forest>(params_, tuning_, Schema(n_categories_), classes());
        Arrays const its = arrays(rows);
        forest->fit(its.ids, matrix(its), its.votes, execution(), {});
        rows_ = std::move(rows);
        return forest;
    }

    Classes classes() const {
        Classes result;
        for (Label y = 0; y < n_classes_; ++y) {
            result.keys.push_back({static_cast<std::uint8_t>(7 * y + 1)});
            if (has_class_weights_)
                result.weights.push_back(1 + 3 * y % 5);
        }
        return result;
    }

    void add(Forest& forest, std::size_t n) {
        if (n_classes_ < kMaxClasses && pick(0, 9) == 0)
            ++n_classes_;
        auto const rows = new_rows(n);
        Arrays const its = arrays(rows);
        forest.add_rows(its.ids, matrix(its), its.votes, classes(), execution(), {});
        rows_.insert(rows_.end(), rows.begin(), rows.end());
    }

    void remove(Forest& forest, std::size_t n) {
        std::shuffle(rows_.begin(), rows_.end(), random_);
        std::vector<RowId> ids;
        for (std::size_t i = 0; i < n; ++i)
            ids.push_back(rows_[i].id);
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

    // Rows are predicted together as they are alone, before and after the trees were laid out for many of them.
    void compare_predictions(Forest& forest, Forest& fresh) {
        Arrays const probe = arrays(new_rows(pick(1, 300)));
        auto const one_by_one = [&](Forest& its) {
            std::vector<double> shares;
            for (std::size_t i = 0; i < probe.ids.size(); ++i) {
                auto const of_row = its.predict({matrix(probe).row(i), 1, n_categories_.size()}, {1, false}).shares;
                shares.insert(shares.end(), of_row.begin(), of_row.end());
            }
            return shares;
        };
        auto const expected = one_by_one(fresh);
        if (forest.predict(matrix(probe), execution()).shares != expected)
            fail("many rows are predicted otherwise than single ones", number_);
        if (one_by_one(forest) != expected)
            fail("single rows are predicted otherwise after many", number_);
    }

    // Categories are as good as the one-hot matrix that they stand for.
    void compare_with_one_hot(Forest& forest) {
        Arrays const its = arrays(rows_);
        std::vector<float> one_hot;
        for (Row const& row : rows_)
            for (std::size_t column = 0; column < n_categories_.size(); ++column) {
                if (n_categories_[column] == 0)
                    one_hot.push_back(row.x[column]);
                for (std::uint32_t category = 0; category < n_categories_[column]; ++category)
                    one_hot.push_back(row.x[column] == static_cast<float>(category) ? 1.0F : 0.0F);
            }
        std::vector<std::uint32_t> const all_numeric(n_attributes_, 0);
        Forest expanded(params_, tuning_, Schema(all_numeric), classes());
        expanded.fit(its.ids, {one_hot.data(), rows_.size(), n_attributes_}, its.votes, execution(), {});
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
        std::vector<std::uint8_t> bytes = frozen.as_bytes();
        if (bytes != fresh.freeze(labels, {1, false}).as_bytes())
            fail("a frozen forest shows its history", number_);
        Arrays const probe = arrays(new_rows(70));
        auto const shares = FrozenForest::from_bytes(bytes, Schema(n_categories_)).predict(matrix(probe), 2);
        if (shares != forest.predict(matrix(probe), {1, false}).shares)
            fail("a frozen forest predicts otherwise", number_);
        for (int i = 0; i < 200; ++i) {
            std::vector<std::uint8_t> damaged = bytes;
            damaged[random_() % std::min<std::size_t>(bytes.size(), i % 2 == 0 ? 24 : bytes.size())] ^=
                static_cast<std::uint8_t>(1U << (random_() % 8));
            if (i % 5 == 0)
                damaged.resize(random_() % damaged.size());
            try {
                FrozenForest const odd = FrozenForest::from_bytes(damaged, Schema(n_categories_));
                for (double const share : odd.predict(matrix(probe), 1))
                    if (!(share >= 0.0 && share <= 1.0 + 1e-6))
                        fail("a share of a damaged frozen forest is out of range", number_);
            } catch (CorruptData const&) {
            }
        }
    }

    void predict_while_changing(Forest& forest) {
        if (rows_.size() < 10)
            add(forest, 10);
        Arrays const probe = arrays(new_rows(pick(1, 200)));
        auto const read = [&] {
            for (int i = 0; i < 20; ++i)
                for (double const share : forest.predict(matrix(probe), {1, false}).shares)
                    if (!(share >= 0.0 && share <= 1.0 + 1e-9))
                        fail("a share is out of range", number_);
        };
        std::jthread const reader(read);
        std::jthread const another(read);
        has_reader_ = true;
        for (int i = 0; i < 4; ++i) {
            remove(forest, 1);
            add(forest, 2);
        }
    }

    unsigned number_;
    std::mt19937_64 random_;
    std::size_t n_attributes_;
    Label n_classes_;
    std::vector<std::size_t> column_kinds_;
    std::vector<std::uint32_t> n_categories_;
    Params params_;
    Tuning tuning_;
    std::vector<Row> rows_;
    RowId next_id_ = -5;
    bool has_weights_ = false;
    bool has_class_weights_ = false;
    bool has_reader_ = false;
};

// Plants faults in a tree and expects the forest's own checks to name them: a check that never fails proves nothing.
void require_faults_are_found() {
    std::mt19937_64 random(1);
    std::vector<float> x(2 * 400);
    std::ranges::generate(x, [&] { return std::normal_distribution<float>()(random); });
    std::vector<RowId> ids(400);
    std::vector<Vote> votes(400);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<RowId>(i);
        votes[i] = {x[2 * i] + 0.5F * x[2 * i + 1] > 0 ? 1U : 0U, 1};
    }
    Dataset data(Schema(std::vector<std::uint32_t>{0, 0}), 256);
    std::vector<Slot> const slots = data.insert(ids, {x.data(), ids.size(), 2}, votes, 1);
    Params params;
    params.max_features = 2;
    Tuning tuning;
    tuning.max_bytes_per_row = 1000;
    Worker worker(2);
    Grower grower({params, tuning, data, 2, {}}, worker);
    auto const grown = [&] {
        Tree tree(root_key(7, 0), 2);
        std::vector<Slot> rows = slots;
        grower.grow(tree, Tree::kRoot, rows, tree.root());
        return tree;
    };
    auto const expect = [&](char const* fault, auto const& plant) {
        Tree tree = grown();
        plant(tree);
        if (!find_inconsistency(tree, slots, params, grower, worker))
            fail(std::string("check() overlooks ") + fault, 0);
        if (std::string_view(fault) != "a wrong statistic" && !find_difference(tree, grown()))
            fail(std::string("verify() overlooks ") + fault, 0);
    };
    Tree const sound = grown();
    if (find_inconsistency(sound, slots, params, grower, worker) || find_difference(sound, grown()))
        fail("a sound tree is found faulty", 0);
    expect("a moved threshold", [](Tree& tree) { tree.set_threshold(Tree::kRoot, to_value(3.0F)); });
    expect("a wrong statistic", [](Tree& tree) { tree.stats(Tree::kRoot)->set_n_left(1); });
    expect("a missing row", [&](Tree& tree) {
        NodeIndex leaf = Tree::kRoot;
        while (tree.node(leaf).is_split())
            leaf = tree.node(leaf).child(Side::left);
        Slot const row = tree.rows(tree.node(leaf)).front();
        ChangedRows gone(data, {&row, 1});
        tree.change_rows(leaf, {gone.all(), {}});
    });
}

}  // namespace

int main(int argc, char** argv) {
    auto const n_rounds = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 20);
    require_faults_are_found();
    for (unsigned round = 0; round < n_rounds; ++round)
        Round(round).run();
    std::printf("stress: %u rounds, all equal to fresh fits\n", n_rounds);
}
