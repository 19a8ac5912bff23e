// A fixed workload of the core whose instructions `make guard` counts: `workload fit`, `workload delete` and
// `workload predict` do everything up to the end of that phase, and so do `workload regression-fit` and
// `workload regression-delete` with a smaller regression forest. `workload kind` tells what counts depend on.
//
// All data come from a mixing function: the distributions of the standard library differ between libraries.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "forest.h"

using namespace deciduous;

namespace {

constexpr std::size_t kRows = 4000;
constexpr std::size_t kContinuous = 10;
constexpr std::size_t kSmall = 4;  // columns of few different values, the half of them of two
constexpr std::size_t kColumns = kContinuous + kSmall + 1;
constexpr std::uint32_t kCategories = 8;  // of the last column
constexpr std::size_t kDeletions = 200;
constexpr std::size_t kRegressionRows = 1500;
constexpr std::size_t kRegressionDeletions = 30;
constexpr Execution kOneThread{1, false};

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

struct TableRows {
    std::vector<RowId> ids;
    std::vector<float> x;
    std::vector<WeightedLabel> votes;
    [[nodiscard]] Matrix matrix() const { return {x.data(), ids.size(), kColumns}; }
};

float value(std::uint64_t row, std::size_t column) {
    std::uint64_t const bits = mixed(row * kColumns + column) >> 40U;  // 24 bits, all of which a float can hold
    if (column < kContinuous)
        return static_cast<float>(bits);
    std::uint64_t const n_values = column + 1 == kColumns ? kCategories : column % 2 == 0 ? 2 : 60;
    return static_cast<float>(bits % n_values);
}

// Follows three columns, one row in eight against the rule.
Label label(float const* row, std::uint64_t id) {
    bool const rule = row[0] > 0.5F * row[1] + 4.0e6F || row[kColumns - 1] == 3.0F;
    bool const is_flipped = mixed(~id) % 8 == 0;
    return rule != is_flipped ? 1 : 0;
}

// Follows the same columns, with noise of a quarter of their range.
Target target(float const* row, std::uint64_t id) {
    auto const noise = static_cast<Target>(mixed(~id) >> 42U);
    return static_cast<Target>(row[0] - 0.5F * row[1]) + (row[kColumns - 1] == 3.0F ? 1 << 22 : 0) + noise;
}

TableRows rows_from(std::uint64_t first, std::size_t n, Criterion criterion) {
    TableRows rows;
    for (std::uint64_t id = first; id < first + n; ++id) {
        for (std::size_t column = 0; column < kColumns; ++column)
            rows.x.push_back(value(id, column));
        rows.ids.push_back(static_cast<RowId>(id));
        float const* const row = &rows.x[rows.x.size() - kColumns];
        if (criterion == Criterion::squared_error)
            rows.votes.push_back({0, 1, target(row, id)});
        else
            rows.votes.push_back({label(row, id), 1});
    }
    return rows;
}

std::unique_ptr<Forest> empty_forest(Criterion criterion) {
    Params params;
    params.criterion = criterion;
    params.n_trees = params.trees_per_row = params.is_regression() ? 5 : 10;
    params.n_thresholds = 10;
    params.max_features = 4;
    params.seed = 1;
    std::vector<std::uint32_t> n_categories(kColumns, 0);
    n_categories.back() = kCategories;
    Classes const classes = params.is_regression() ? Classes{{{0}}, {}} : Classes{{{0}, {1}}, {}};
    return std::make_unique<Forest>(params, Tuning{}, Schema(n_categories), classes);
}

std::unique_ptr<Forest> fitted_forest(TableRows const& rows, Criterion criterion) {
    auto forest = empty_forest(criterion);
    forest->fit(rows.ids, rows.matrix(), rows.votes, kOneThread, {});
    return forest;
}

// So many rows one by one, from all over the forest.
void delete_rows(Forest& forest, std::size_t n) {
    std::size_t const step = forest.n_rows() / n;
    for (std::size_t i = 0; i < n; ++i) {
        auto const id = static_cast<RowId>(i * step);
        forest.delete_rows({&id, 1}, kOneThread, {});
    }
}

// Their sum, so that nothing can be left out as unused.
double predicted(Forest& forest, TableRows const& rows) {
    double sum = 0;
    for (double const share : forest.predict(rows.matrix(), kOneThread).shares)
        sum += share;
    return sum;
}

void print_kind() {
#ifdef __clang__
    std::printf("clang %d", __clang_major__);
#else
    std::printf("gcc %d", __GNUC__);
#endif
#ifdef __x86_64__
    std::printf(", x86-64%s\n", __builtin_cpu_supports("avx2") ? " with avx2" : "");
#else
    std::printf(", another processor\n");
#endif
}

void run_classification(std::string_view phase) {
    TableRows const rows = rows_from(0, kRows, Criterion::gini);
    // Made in every phase, so that it is counted in none but the first.
    TableRows const probes = rows_from(kRows, kRows, Criterion::gini);
    auto const forest = fitted_forest(rows, Criterion::gini);
    if (phase != "fit")
        delete_rows(*forest, kDeletions);
    if (phase == "predict")
        std::printf("%.6f\n", predicted(*forest, probes));
}

void run_regression(std::string_view phase) {
    TableRows const rows = rows_from(0, kRegressionRows, Criterion::squared_error);
    auto const forest = fitted_forest(rows, Criterion::squared_error);
    if (phase == "regression-delete")
        delete_rows(*forest, kRegressionDeletions);
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view const phase = argc > 1 ? argv[1] : "";
    if (phase == "kind") {
        print_kind();
    } else if (phase == "fit" || phase == "delete" || phase == "predict") {
        run_classification(phase);
    } else if (phase == "regression-fit" || phase == "regression-delete") {
        run_regression(phase);
    } else {
        std::fputs("usage: workload fit|delete|predict|regression-fit|regression-delete|kind\n", stderr);
        return 2;
    }
    return 0;
}
