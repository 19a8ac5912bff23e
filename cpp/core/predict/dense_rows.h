// Rows with the values of all their attributes, for walking down trees: categories are indicators here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/kernels.h"
#include "base/parallel.h"
#include "base/types.h"
#include "data/schema.h"

namespace deciduous {

// Rows in blocks. A block has the values of its rows for the first attribute, then those for the second one, and so on:
// rows that walk side by side find their values at fixed distances. In blocks of one row, rows are simply rows.
class DenseRows {
public:
    DenseRows(Schema const& schema, std::size_t rows_per_block)
        : schema_(schema),
          rows_per_block_(rows_per_block),
          block_size_(rows_per_block * schema.n_attributes()),
          encoded_(rows_per_block * schema.n_columns()) {}

    // Takes the rows from begin to end in place of the former ones. The last block may be partly filled: what follows
    // its rows are values of others.
    void assign(Matrix const& rows, std::size_t begin, std::size_t end) {
        clear_indicators();
        n_rows_ = end - begin;
        std::size_t const n_values = (n_rows_ + rows_per_block_ - 1) / rows_per_block_ * block_size_;
        if (values_.size() < n_values)
            values_.resize(n_values, kIndicatorOff);
        for (std::size_t i = 0; i < n_rows_; i += rows_per_block_)
            encode(rows, begin + i, std::min(rows_per_block_, n_rows_ - i), i / rows_per_block_ * block_size_);
    }

    [[nodiscard]] std::size_t n_rows() const { return n_rows_; }
    [[nodiscard]] Value const* block(std::size_t i) const { return values_.data() + i * block_size_; }

private:
    void encode(Matrix const& rows, std::size_t begin, std::size_t n, std::size_t place) {
        auto const columns = schema_.columns();
        kernels::chosen->to_values(rows.row(begin), n * columns.size(), encoded_.data());
        for (std::size_t column = 0; column < columns.size(); ++column) {
            auto const [first, n_categories] = columns[column];
            std::size_t const its_place = place + first * rows_per_block_;
            if (n_categories == 0)
                for (std::size_t i = 0; i < n; ++i)
                    values_[its_place + i] = encoded_[i * columns.size() + column];
            else
                for (std::size_t i = 0; i < n; ++i)
                    set_indicator(rows.row(begin + i)[column], n_categories, its_place + i);
        }
    }

    void set_indicator(float category, std::uint32_t n_categories, std::size_t place) {
        if (!(category >= 0 && category < static_cast<float>(n_categories)))
            return;
        on_.push_back(place + static_cast<std::size_t>(category) * rows_per_block_);
        values_[on_.back()] = kIndicatorOn;
    }

    // One by one: a row has few of them, however many categories there are.
    void clear_indicators() {
        for (std::size_t const place : on_)
            values_[place] = kIndicatorOff;
        on_.clear();
    }

    Schema const& schema_;
    std::size_t rows_per_block_;
    std::size_t block_size_;
    std::size_t n_rows_ = 0;
    std::vector<Value> values_;
    std::vector<std::size_t> on_;
    std::vector<Value> encoded_;  // the columns of a block, row after row
};

// Calls `visit(rows, begin)` for all rows, some at a time: few enough to stay in the cache and to give each thread its
// part, and enough for a tree to stay in the cache while they all walk down.
template <typename Visitor>
void for_dense_chunks(Matrix const& rows, Schema const& schema, std::size_t rows_per_block, std::size_t n_threads,
                      Visitor const& visit, Progress const& progress = {}) {
    constexpr std::size_t kMaxValues = 131072;
    constexpr std::size_t kFewest = 64;
    constexpr std::size_t kMost = 1024;
    std::size_t const n_fitting = kMaxValues / std::max<std::size_t>(1, schema.n_attributes());
    std::size_t const n_of_thread = rows.n_rows / std::max<std::size_t>(1, n_threads) + 1;
    std::size_t const n_wanted = std::clamp(n_of_thread, kFewest, kMost);
    std::size_t const chunk = (std::min(n_fitting, n_wanted) / rows_per_block + 1) * rows_per_block;
    std::size_t const n_chunks = (rows.n_rows + chunk - 1) / chunk;
    std::vector<DenseRows> dense_rows;
    parallel_for_with(
        dense_rows, [&] { return DenseRows(schema, rows_per_block); }, n_chunks, n_threads,
        [&](std::size_t i, DenseRows& dense) {
            std::size_t const begin = i * chunk;
            dense.assign(rows, begin, std::min(begin + chunk, rows.n_rows));
            visit(dense, begin);
        },
        progress);
}

}  // namespace deciduous
