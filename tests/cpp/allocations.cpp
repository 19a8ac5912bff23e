// Every call of the core with every one of its allocations failing in turn: it throws std::bad_alloc, and afterwards
// the forest is the one before or after the call, and goes on. And deletions that make no allocation at all.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "forest.h"
#include "io/frozen_bytes.h"
#include "tree/consistency.h"

namespace {

std::atomic<std::size_t> n_until_failure{0};  // 0: none fails
std::atomic<std::size_t> n_allocations{0};

void* allocate(std::size_t size, std::size_t alignment) {
    ++n_allocations;
    std::size_t n = n_until_failure;
    while (n > 0 && !n_until_failure.compare_exchange_weak(n, n - 1)) {
    }
    if (n == 1)
        throw std::bad_alloc();
    std::size_t const rounded = (size + alignment - 1) / alignment * alignment;
    if (void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded))
        return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace {

using namespace deciduous;

struct Rows {
    std::vector<RowId> ids;
    std::vector<float> x;
    std::vector<WeightedLabel> votes;
};

class Round {
public:
    Round(unsigned number, Criterion criterion)
        : random_(number), n_threads_(1 + number % 2), is_lazy_(number % 3 == 1) {
        params_.criterion = criterion;
        params_.n_trees = 3;
        params_.trees_per_row = number % 2 == 0 ? 3 : 2;
        params_.max_depth = 6;
        params_.n_thresholds = 3;
        params_.max_features = 2;
        params_.candidates = number % 3 == 2 ? CandidateScheme::uniform : CandidateScheme::valid;
        params_.seed = number;
        tuning_.min_cached_rows = 4;
        tuning_.max_bytes_per_row = 1000;
        tuning_.max_bytes_per_row_with_target = 1000;
        tuning_.min_settled_rows = 4;
        tuning_.min_alternate_rows = 4;
        tuning_.max_codes = 20;  // so that columns become plain on the way
        tuning_.min_postponed_rows = 5;
        tuning_.max_postponed_rows = 20;
        tuning_.max_waste = number % 2 == 0 ? 0.0 : 0.25;
        tuning_.max_small_rows = 12;          // so that there are sets of bits as well as statistics
        tuning_.rows_per_target_look_up = 3;  // which large nodes are enough for, and small ones are not
        first_ = rows(0, 40, 2);
        second_ = rows(35, 50, 3);  // brings a class, and five ids that are taken
    }

    void run() {
        std::vector<RowId> const some = {3, 4, 20, 21};
        std::vector<RowId> const replaced = {1, 35, 36, 37, 38, 39};
        NewRows const coming{second_.ids, matrix(second_), second_.votes};
        Rows const others = rows(100, 112, 2);
        Execution const how{n_threads_, is_lazy_};
        if (params_.candidates == CandidateScheme::valid && fitted()->memory().decision_stats == 0)
            fail("there are no statistics for which memory might run out");
        attempt(
            "fit", [&] { return std::make_unique<Forest>(params_, tuning_, Schema(kCategories), classes(2)); },
            [&](Forest& forest) { forest.fit(first_.ids, matrix(first_), first_.votes, how, {}); });
        attempt_on_fitted("delete", [&](Forest& forest) { forest.delete_rows(some, how, {}); });
        attempt_on_fitted("add", [&](Forest& forest) {
            forest.add_rows({others.ids, matrix(others), others.votes}, classes(2), how, {});
        });
        attempt_on_fitted("update", [&](Forest& forest) { forest.update_rows(replaced, coming, classes(3), how, {}); });
        attempt_on_fitted("compact", [&](Forest& forest) { forest.compact(how); });
        attempt_on_fitted("settle", [&](Forest& forest) { (void)forest.settle(std::chrono::hours(1), how, {}); });
        attempt_on_fitted("deletion_cost", [&](Forest& forest) { (void)forest.deletion_cost(some, how); });
        attempt_on_fitted("deletion_costs", [&](Forest& forest) { (void)forest.deletion_costs(some, how); });
        attempt_on_fitted("predict", [&](Forest& forest) { (void)forest.predict(matrix(first_), how); });
        attempt_on_fitted("predict_out_of_bag", [&](Forest& forest) { (void)forest.predict_out_of_bag(how); });
        if (params_.is_regression())
            attempt_on_fitted("predict_quantiles", [&](Forest& forest) {
                constexpr double kShares[] = {0.1, 0.9};
                (void)forest.predict_quantiles(matrix(first_), kShares, how);
            });
        attempt_on_fitted("fingerprint", [&](Forest& forest) { (void)forest.fingerprint(how); });
        attempt_on_fitted("verify", [&](Forest& forest) { (void)forest.verify(how, {}); });
        attempt_on_fitted("check", [&](Forest& forest) { (void)forest.check(how); });
        attempt_on_fitted("tree_arrays", [&](Forest& forest) { (void)forest.tree_arrays(1); });
        attempt_on_fitted("freeze", [&](Forest& forest) {
            std::vector<Label> labels(forest.n_classes());
            std::iota(labels.begin(), labels.end(), 0U);
            FrozenForest const frozen = forest.freeze(labels, how);
            auto const bytes = write_frozen(frozen);
            (void)read_frozen(bytes, Schema(kCategories), frozen.predicts_means()).predict(matrix(first_), n_threads_);
        });
        attempt_on_fitted("rows", [&](Forest& forest) { (void)forest.rows(some); });
        attempt_on_fitted("store", [&](Forest& forest) {
            auto const row_bytes = forest.rows_as_bytes();
            std::vector<std::vector<std::uint8_t>> trees;
            for (std::size_t t = 0; t < params_.n_trees; ++t) {
                auto const bytes = forest.tree_as_bytes(t);
                trees.emplace_back(bytes.begin(), bytes.end());
            }
            std::vector<std::span<std::uint8_t const>> const spans(trees.begin(), trees.end());
            Forest restored(params_, tuning_, Schema(kCategories), classes(2));
            restored.restore(row_bytes, spans, how, {});
            (void)restored.settle(std::chrono::hours(1), how, {});
        });
        // After a failure the trees may have to be grown again, and that may fail, too.
        attempt(
            "growing again", [&] { return after_failure(); }, [&](Forest& forest) { (void)forest.fingerprint(how); });
    }

    static std::size_t n_failures;

private:
    static constexpr std::array<std::uint32_t, 5> kCategories = {0, 0, 0, 5, 0};

    using Make = std::function<std::unique_ptr<Forest>()>;
    using Call = std::function<void(Forest&)>;

    [[noreturn]] static void fail(std::string const& what) {
        std::fprintf(stderr, "allocations: %s\n", what.c_str());
        std::exit(1);
    }

    Rows rows(RowId begin, RowId end, std::size_t n_classes) {
        Rows result;
        for (RowId id = begin; id < end; ++id) {
            result.ids.push_back(id);
            result.x.push_back(std::normal_distribution<float>()(random_));
            result.x.push_back(static_cast<float>(random_() % 2));
            result.x.push_back(static_cast<float>(random_() % 7));
            result.x.push_back(static_cast<float>(random_() % 5));
            result.x.push_back(begin == 0 ? 1.0F : std::normal_distribution<float>()(random_));  // a bit, and then not
            result.votes.push_back({label(n_classes), 1 + static_cast<Count>(begin == 35), target()});
        }
        return result;
    }

    Label label(std::size_t n_classes) {
        return params_.is_regression() ? 0 : static_cast<Label>(random_() % n_classes);
    }

    Target target() { return params_.is_regression() ? static_cast<Target>(random_() % 9) - 4 : 0; }

    static Matrix matrix(Rows const& rows) { return {rows.x.data(), rows.ids.size(), kCategories.size()}; }

    [[nodiscard]] Classes classes(std::size_t n) const {
        Classes result;
        for (std::size_t y = 0; y < (params_.is_regression() ? 1 : n); ++y)
            result.keys.push_back({static_cast<std::uint8_t>(y + 1)});
        return result;
    }

    std::unique_ptr<Forest> fitted() {
        auto forest = std::make_unique<Forest>(params_, tuning_, Schema(kCategories), classes(2));
        forest->fit(first_.ids, matrix(first_), first_.votes, {1, false}, {});
        RowId const gone[] = {7, 8};
        forest->delete_rows(gone, {1, is_lazy_}, {});  // what is postponed or set aside is there, too
        return forest;
    }

    std::unique_ptr<Forest> after_failure() {
        auto forest = fitted();
        RowId const id = 0;
        try {
            forest->delete_rows({&id, 1}, {1, false}, [](std::size_t) { throw 1; });
        } catch (int) {
        }
        return forest;
    }

    void attempt_on_fitted(char const* name, Call const& call) {
        attempt(name, [this] { return fitted(); }, call);
    }

    void attempt(char const* name, Make const& make, Call const& call) {
        auto const before = make()->fingerprint({1, false});
        auto changed = make();
        call(*changed);
        auto const after = changed->fingerprint({1, false});
        for (std::size_t n = 1;; ++n) {
            auto forest = make();
            bool has_failed = false;
            n_until_failure = n;
            try {
                call(*forest);
            } catch (std::bad_alloc const&) {
                has_failed = true;
            }
            // What is left of the count: that many allocations were not reached.
            bool const is_over = n_until_failure.exchange(0) > 0;
            std::string const where = std::string(name) + ", allocation " + std::to_string(n) + ": ";
            if (auto const reason = forest->check({1, false}))
                fail(where + *reason);
            auto const found = forest->fingerprint({1, false});
            if (found != before && found != after)
                fail(where + "the forest is neither the one before nor the one after");
            if (!has_failed && found != after)
                fail(where + "the call succeeded and did nothing");
            if (has_failed) {
                ++n_failures;
                if (found == before) {
                    call(*forest);
                    if (forest->fingerprint({1, false}) != after)
                        fail(where + "the forest does not go on");
                }
            }
            if (is_over)
                return;
        }
    }

    std::mt19937_64 random_;
    std::size_t n_threads_;
    bool is_lazy_;
    Params params_;
    Tuning tuning_;
    Rows first_;
    Rows second_;
};

std::size_t Round::n_failures = 0;

// Deletions of single rows that grow nothing, in a forest that has seen such deletions before.
class QuietDeletions {
public:
    QuietDeletions(CandidateScheme candidates, Criterion criterion) : candidates_(candidates) {
        Params params;
        params.criterion = criterion;
        params.n_trees = params.trees_per_row = 5;
        params.n_thresholds = 5;
        params.max_features = 2;
        params.candidates = candidates;
        Tuning tuning;
        tuning.max_waste = 1000;  // nothing is laid out anew
        if (kChecksStatistics)
            tuning.min_cached_rows = kRows + 1;  // no statistics, as recounting them takes memory
        bool const has_targets = params.is_regression();
        Classes const classes = has_targets ? Classes{{{1}}, {}} : Classes{{{1}, {2}}, {}};
        forest_ = std::make_unique<Forest>(params, tuning, Schema(kColumns), classes);
        std::mt19937_64 random(1);
        for (RowId id = 0; id < kRows; ++id) {
            ids_.push_back(id);
            for (std::size_t column = 0; column < kColumns.size(); ++column)
                x_.push_back(std::normal_distribution<float>()(random));
            float const signal = x_[x_.size() - 1] + x_[x_.size() - 2] + x_[x_.size() - 3];
            bool const is_high = signal > 0;  // targets have two values, or every deletion would grow something
            votes_.push_back({is_high && !has_targets ? 1U : 0U, 1, is_high && has_targets ? 1000 : 0});
        }
        forest_->fit(ids_, rows(0, kRows), votes_, {1, false}, {});
    }

    // Rows go and come back a few times, so that all lists have had the lengths that they get. One stays away: without
    // any free slot, the list of them would be given back.
    void run() {
        RowId const away = kRows - 1;
        forest_->delete_rows({&away, 1}, {1, false}, {});
        for (unsigned warm_up = 0; warm_up < 3; ++warm_up) {
            (void)count_allocating();
            forest_->add_rows(
                {std::span(ids_).first(kDeletions), rows(0, kDeletions), std::span(votes_).first(kDeletions)}, {},
                {1, false}, {});
        }
        std::size_t const n_allocating = count_allocating();
        // A record of valid candidates that has to be made again from the rows may be longer than before, for which one
        // deletion in six takes memory here. Those of uniform ones keep their length.
        std::size_t const n_most = candidates_ == CandidateScheme::valid && !kChecksStatistics ? n_quiet_ / 5 : 0;
        if (n_quiet_ < kDeletions / 4 || n_allocating > n_most) {
            std::fprintf(stderr, "allocations: of %zu deletions that grew nothing, %zu made allocations\n", n_quiet_,
                         n_allocating);
            std::exit(1);
        }
    }

private:
    static constexpr RowId kRows = 2000;
    static constexpr RowId kDeletions = 200;
    static constexpr std::array<std::uint32_t, 4> kColumns = {0, 0, 0, 0};

    [[nodiscard]] Matrix rows(RowId begin, RowId end) const {
        return {x_.data() + static_cast<std::size_t>(begin) * kColumns.size(), static_cast<std::size_t>(end - begin),
                kColumns.size()};
    }

    // Deletes the first rows; how many of the deletions that grew nothing made allocations.
    std::size_t count_allocating() {
        std::size_t n_allocating = 0;
        n_quiet_ = 0;
        for (RowId id = 0; id < kDeletions; ++id) {
            std::size_t const n_before = n_allocations;
            UpdateCost const cost = forest_->delete_rows({&id, 1}, {1, false}, {});
            bool const has_allocated = n_allocations > n_before;
            bool const is_quiet = cost.nodes_rebuilt.empty() && cost.n_rows_regrown == 0;
            n_quiet_ += is_quiet ? 1 : 0;
            n_allocating += is_quiet && has_allocated ? 1 : 0;
        }
        return n_allocating;
    }

    CandidateScheme candidates_;
    std::unique_ptr<Forest> forest_;
    std::vector<RowId> ids_;
    std::vector<float> x_;
    std::vector<WeightedLabel> votes_;
    std::size_t n_quiet_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    auto const n_rounds = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 3);
    for (unsigned round = 0; round < n_rounds; ++round)
        for (Criterion const criterion : {Criterion::gini, Criterion::squared_error})
            Round(round, criterion).run();
    for (Criterion const criterion : {Criterion::gini, Criterion::squared_error})
        for (CandidateScheme const candidates : {CandidateScheme::valid, CandidateScheme::uniform})
            QuietDeletions(candidates, criterion).run();
    std::printf("allocations: %zu calls ran out of memory, all left a forest that goes on\n", Round::n_failures);
}
