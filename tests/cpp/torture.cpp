#include "torture.h"

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "hostile.h"

namespace deciduous {

namespace {

constexpr Sizes kSmall{3, 6, 3, 6};
constexpr Sizes kLarge{2, 3, 1, 3};

// How often counts went beyond a limit, and came back.
struct Crossings {
    std::uint64_t n_up = 0;
    std::uint64_t n_down = 0;

    void note(bool was_beyond, bool is_beyond) {
        n_up += !was_beyond && is_beyond ? 1 : 0;
        n_down += was_beyond && !is_beyond ? 1 : 0;
    }
};

struct Figures {
    std::uint64_t n_histories = 0;
    std::uint64_t n_states = 0;
    Crossings eight_bits;    // by the rows of a class at a value
    Crossings sixteen_bits;  // by the rows of a class
    std::uint64_t n_regressions = 0;
    Crossings ten_bits;       // by the rows of a regression forest: scores take 128 bits from there on
    Crossings sums_of_words;  // by the sum of their targets: 64 bits
    std::uint64_t n_full = 0;
    std::uint64_t n_refused = 0;
};

// The largest counts of a class, at a value of some column and in all rows, and how far the targets sum up.
struct Largest {
    std::uint64_t at_value = 0;
    std::uint64_t in_all = 0;
    TargetSum of_targets = 0;
};

Largest largest_counts(std::vector<Row> const& rows) {
    Largest largest;
    std::map<Label, std::uint64_t> by_class;
    for (Row const& row : rows) {
        largest.in_all = std::max(largest.in_all, by_class[row.vote.label] += row.vote.weight);
        largest.of_targets += static_cast<TargetSum>(row.vote.weight) * row.vote.target;
    }
    largest.of_targets = std::max(largest.of_targets, -largest.of_targets);
    for (std::size_t column = 0; !rows.empty() && column < rows.front().x.size(); ++column) {
        std::map<std::pair<Value, Label>, std::uint64_t> by_value;
        for (Row const& row : rows) {
            std::uint64_t& count = by_value[{to_value(row.x[column]), row.vote.label}];
            largest.at_value = std::max(largest.at_value, count += row.vote.weight);
        }
    }
    return largest;
}

class History {
public:
    History(std::uint64_t seed, std::size_t n_rows, Figures& figures)
        : seed_(seed),
          hostile_(seed, n_rows > kManyRows ? kLarge : kSmall),
          n_rows_(n_rows),
          max_threads_(hostile_.one_in(10) ? 3 : 1),
          looks_always_(!hostile_.one_in(4)),
          figures_(figures) {}

    void run() {
        ++figures_.n_histories;
        figures_.n_regressions += hostile_.params().is_regression() ? 1 : 0;
        rows_ = hostile_.new_rows(hostile_.one_in(3) ? hostile_.pick(1, n_rows_) : n_rows_, 0);
        forest_ = fitted(hostile_.tuning(), max_threads_);
        largest_ = largest_counts(rows_);
        std::size_t const n_steps = hostile_.pick(2, n_rows_ > kManyRows ? 8 : 25);
        for (std::size_t step = 0; step < n_steps; ++step) {
            change(step == 0 ? 1 : 3);
            if (looks_always_ || hostile_.one_in(3))
                compare();
        }
        compare();
        compare_predictions();
        compare_restored();
    }

    // With more rows, counts of 16 bits overflow without weights.
    static constexpr std::size_t kManyRows = 1U << 16;

private:
    [[noreturn]] void fail(std::string const& what) const {
        std::fprintf(stderr, "torture: the history of seed %llu, after %llu histories and %llu states: %s\n",
                     static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(figures_.n_histories),
                     static_cast<unsigned long long>(figures_.n_states), what.c_str());
        std::exit(1);
    }

    [[nodiscard]] std::unique_ptr<Forest> empty(Tuning const& tuning, Classes classes) const {
        return std::make_unique<Forest>(hostile_.params(), tuning, Schema(hostile_.n_categories()), std::move(classes));
    }

    std::unique_ptr<Forest> fitted(Tuning const& tuning, std::size_t max_threads) {
        auto forest = empty(tuning, hostile_.classes());
        Arrays const its(rows_);
        forest->fit(its.ids, its.matrix(), its.votes, hostile_.execution(max_threads), {});
        return forest;
    }

    // By the plainest code there is: nothing is remembered, nothing is looked up.
    std::unique_ptr<Forest> fresh() {
        Tuning plain;
        plain.min_cached_rows = std::numeric_limits<std::uint32_t>::max();
        plain.look_ups_per_sort = 0;
        return fitted(plain, 1);
    }

    [[nodiscard]] std::uint64_t total() const { return weight_of(rows_); }

    // One change in so many is a squeeze.
    void change(std::size_t n_per_squeeze) {
        if (hostile_.limit() == Limit::all_rows && hostile_.one_in(4))
            fill();
        else if (rows_.size() > 3 && hostile_.one_in(n_per_squeeze))
            squeeze();
        else if (hostile_.one_in(5))
            replace();
        else if (rows_.empty() || hostile_.one_in(2))
            add(hostile_.new_rows(hostile_.pick(1, hostile_.one_in(5) ? n_rows_ / 4 + 1 : 3), total()));
        else
            remove(hostile_.one_in(30) ? rows_.size() : hostile_.choose_leaving(rows_, n_rows_ / 8 + 2));
        Largest const now = largest_counts(rows_);
        figures_.eight_bits.note(largest_.at_value >= 1U << 8, now.at_value >= 1U << 8);
        figures_.sixteen_bits.note(largest_.in_all >= 1U << 16, now.in_all >= 1U << 16);
        if (hostile_.params().is_regression()) {
            constexpr TargetSum kWord = TargetSum{1} << 63;
            figures_.ten_bits.note(largest_.in_all > 1U << 10, now.in_all > 1U << 10);
            figures_.sums_of_words.note(largest_.of_targets >= kWord, now.of_targets >= kWord);
        }
        largest_ = now;
    }

    // Rows that weigh too much, together with those that are there, are refused and change nothing.
    void add(std::vector<Row> const& rows) {
        bool const is_too_much = total() + weight_of(rows) >= kMaxRows;
        if (!is_too_much)
            hostile_.maybe_add_class();
        Arrays const its(rows);
        try {
            forest_->add_rows({its.ids, its.matrix(), its.votes}, hostile_.classes(), hostile_.execution(max_threads_),
                              {});
        } catch (InvalidArgument const& error) {
            if (!is_too_much)
                fail(error.what());
            ++figures_.n_refused;
            return;
        }
        if (is_too_much)
            fail("rows that weigh too much were not refused");
        rows_.insert(rows_.end(), rows.begin(), rows.end());
    }

    void remove(std::size_t n) {
        forest_->delete_rows(ids_of_first(rows_, n), hostile_.execution(max_threads_), {});
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(n));
    }

    // There is always room for the rows that come, which are light if the forest is almost full.
    void replace() {
        if (total() + kManyRows > kMaxRows)
            return;
        auto const [ids, rows] = hostile_.replacement(rows_, n_rows_ / 8 + 2, total());
        Arrays const its(rows);
        forest_->update_rows(ids, {its.ids, its.matrix(), its.votes}, hostile_.classes(),
                             hostile_.execution(max_threads_), {});
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(ids.size()));
        rows_.insert(rows_.end(), rows.begin(), rows.end());
    }

    void squeeze() {
        auto const [heavy, n_leaving] = hostile_.squeeze(rows_, total());
        add(heavy);
        remove(n_leaving);
    }

    // Adds a row that is too heavy by 1, and then the heaviest one that the forest can take.
    void fill() {
        auto rows = hostile_.new_rows(1, total());
        std::uint64_t const room = kMaxRows - 1 - total();
        rows.front().vote.weight = static_cast<Count>(room + 1);
        add(rows);
        rows.front().vote.weight = static_cast<Count>(room);
        if (room == 0)
            return;
        add(rows);
        ++figures_.n_full;
    }

    // Statistics that are wrong need not show in the forest yet.
    void compare() {
        ++figures_.n_states;
        if (auto const reason = forest_->check({1, false}))
            fail("check: " + *reason);
        if (forest_->fingerprint(hostile_.execution(max_threads_)) != fresh()->fingerprint({1, false}))
            fail("the fingerprint differs from a fresh fit's: " + forest_->verify({1, false}, {}).value_or("?"));
    }

    void compare_predictions() {
        if (rows_.empty())
            return;
        Arrays const probe(hostile_.new_rows(20, 0));
        if (forest_->predict(probe.matrix(), hostile_.execution(1)).shares !=
            fresh()->predict(probe.matrix(), {1, false}).shares)
            fail("predictions differ from a fresh fit's");
        if (!same_numbers(forest_->predict_out_of_bag({1, false}).shares,
                          fresh()->predict_out_of_bag({1, false}).shares))
            fail("predictions out of bag differ from a fresh fit's");
        constexpr double kShares[] = {0.0, 0.3, 1.0};
        if (hostile_.params().is_regression() &&
            forest_->predict_quantiles(probe.matrix(), kShares, hostile_.execution(1)) !=
                fresh()->predict_quantiles(probe.matrix(), kShares, {1, false}))
            fail("quantiles differ from a fresh fit's");
    }

    // Stored rows know no others. A regression forest has its one class, with or without rows.
    [[nodiscard]] Classes stored_classes() const {
        Classes const all = hostile_.classes();
        if (hostile_.params().is_regression())
            return all;
        auto const totals = forest_->class_totals();
        Classes present;
        for (std::size_t y = 0; y < totals.size(); ++y) {
            if (totals[y] == 0)
                continue;
            present.keys.push_back(all.keys[y]);
            if (!all.weights.empty())
                present.weights.push_back(all.weights[y]);
        }
        return present;
    }

    void compare_restored() {
        auto const rows = forest_->rows_as_bytes();
        std::vector<WipedVector<std::uint8_t>> trees;
        for (std::size_t t = 0; t < forest_->n_trees(); ++t)
            trees.push_back(forest_->tree_as_bytes(t));
        std::vector<std::span<std::uint8_t const>> const spans(trees.begin(), trees.end());
        auto const restored = empty(hostile_.tuning(), stored_classes());
        restored->restore(rows, spans, {1, false}, {});
        if (restored->settle(std::chrono::hours(1), {1, false}, {}) != 0)
            fail("a forest from bytes has something unbuilt");
        if (auto const reason = restored->check({1, false}))
            fail("a forest from bytes is inconsistent once it has statistics: " + *reason);
        if (restored->fingerprint({1, false}) != forest_->fingerprint({1, false}))
            fail("a forest from bytes differs");
    }

    std::uint64_t seed_;
    Hostile hostile_;
    std::size_t n_rows_;
    std::size_t max_threads_;
    bool looks_always_;  // else subtrees stay postponed for some steps
    Figures& figures_;
    std::vector<Row> rows_;
    std::unique_ptr<Forest> forest_;
    Largest largest_;
};

// Mostly few rows; some histories are long enough for counts that overflow without weights.
std::size_t n_rows_of(std::uint64_t number) {
    if (number % 1000 == 999)
        return History::kManyRows + 20000;
    return number % 40 == 39 ? 700 : 90;
}

}  // namespace

void torture(std::uint64_t n_states, std::uint64_t seed) {
    auto const begin = std::chrono::steady_clock::now();
    Figures figures;
    for (std::uint64_t number = 0; figures.n_states < n_states; ++number)
        History(seed + number, n_rows_of(number), figures).run();
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    auto const n = [](auto number) { return static_cast<unsigned long long>(number); };
    std::printf(
        "torture: seed %llu: %llu histories, %llu states, all equal to fresh fits; 8 bits crossed %llu times up and "
        "%llu down, 16 bits %llu up and %llu down; %llu forests full to 2^30 - 1, %llu additions beyond it refused; "
        "%llu s\n",
        n(seed), n(figures.n_histories), n(figures.n_states), n(figures.eight_bits.n_up), n(figures.eight_bits.n_down),
        n(figures.sixteen_bits.n_up), n(figures.sixteen_bits.n_down), n(figures.n_full), n(figures.n_refused),
        n(seconds.count()));
    std::printf(
        "torture: of these, %llu histories of regression: 1,024 rows crossed %llu times up and %llu down, sums of 64 "
        "bits %llu up and %llu down\n",
        n(figures.n_regressions), n(figures.ten_bits.n_up), n(figures.ten_bits.n_down), n(figures.sums_of_words.n_up),
        n(figures.sums_of_words.n_down));
}

}  // namespace deciduous
