// Rows with the values of all their attributes.
#include "predict/dense_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using namespace deciduous;

namespace {

std::vector<std::uint32_t> const kCategories = {0, 3, 0};

// Row i: i, category i % 4 of three (so that some are of none), -i.
std::vector<float> numbers(std::size_t n_rows, std::size_t first = 0) {
    std::vector<float> x;
    for (std::size_t i = first; i < first + n_rows; ++i) {
        x.push_back(static_cast<float>(i));
        x.push_back(i % 4 == 3 ? NAN : static_cast<float>(i % 4));
        x.push_back(-static_cast<float>(i));
    }
    return x;
}

Matrix matrix(std::vector<float> const& x) {
    return {x.data(), x.size() / kCategories.size(), kCategories.size()};
}

// The values of rows from `begin` on, against the schema's.
bool are_values_of(DenseRows const& dense, Schema const& schema, Matrix const& rows, std::size_t begin,
                   std::size_t rows_per_block) {
    for (std::size_t i = 0; i < dense.n_rows(); ++i)
        for (Attribute a = 0; a < schema.n_attributes(); ++a)
            if (dense.block(i / rows_per_block)[a * rows_per_block + i % rows_per_block] !=
                schema.value(rows.row(begin + i), a))
                return false;
    return true;
}

}  // namespace

TEST_CASE("a block has the values of its rows for one attribute after the other") {
    Schema const schema(kCategories);
    auto const x = numbers(23);
    for (std::size_t const rows_per_block : {1, 4, 10}) {
        DenseRows dense(schema, rows_per_block);
        dense.assign(matrix(x), 0, 23);
        CHECK(dense.n_rows() == 23);
        CHECK(are_values_of(dense, schema, matrix(x), 0, rows_per_block));
    }
}

TEST_CASE("nothing is left of the rows before") {
    Schema const schema(kCategories);
    auto const x = numbers(40);
    DenseRows dense(schema, 10);
    for (auto const& [begin, end] : {std::pair{0, 40}, {13, 20}, {3, 33}, {39, 40}}) {
        dense.assign(matrix(x), begin, end);
        CHECK(are_values_of(dense, schema, matrix(x), begin, 10));
    }
}

TEST_CASE("a number that is no category switches no indicator on") {
    Schema const schema(kCategories);
    std::vector<float> const x = {0, 3, 0, 0, -1, 0, 0, INFINITY, 0};
    DenseRows dense(schema, 1);
    dense.assign(matrix(x), 0, 3);
    for (std::size_t i = 0; i < 3; ++i)
        for (Attribute a = 1; a <= 3; ++a)
            CHECK(dense.block(i)[a] == kIndicatorOff);
}

TEST_CASE("chunks are all rows, each once, whatever the number of threads") {
    Schema const schema(kCategories);
    auto const x = numbers(5000);
    for (std::size_t const n_threads : {1, 3}) {
        std::vector<std::atomic<int>> n_times(5000);
        std::atomic<bool> are_right{true};
        for_dense_chunks(matrix(x), schema, 10, n_threads, [&](DenseRows const& dense, std::size_t begin) {
            for (std::size_t i = 0; i < dense.n_rows(); ++i)
                ++n_times[begin + i];
            if (!are_values_of(dense, schema, matrix(x), begin, 10))
                are_right = false;
        });
        CHECK(are_right);
        CHECK(std::ranges::all_of(n_times, [](int n) { return n == 1; }));
    }
}
