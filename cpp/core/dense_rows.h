// Rows with the values of all their attributes, for walking down trees: categories are indicators here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel.h"
#include "schema.h"
#include "types.h"

namespace deciduous {

class DenseRows {
public:
    explicit DenseRows(Schema const& schema) : schema_(schema), n_attributes_(schema.n_attributes()) {}

    // Takes the rows from begin to end in place of the former ones.
    void assign(Matrix const& rows, std::size_t begin, std::size_t end) {
        clear_indicators();
        n_rows_ = end - begin;
        if (values_.size() < n_rows_ * n_attributes_)
            values_.resize(n_rows_ * n_attributes_, kIndicatorOff);
        for (std::size_t i = 0; i < n_rows_; ++i)
            encode(rows.row(begin + i), i * n_attributes_);
    }

    [[nodiscard]] std::size_t n_rows() const { return n_rows_; }
    [[nodiscard]] Value const* row(std::size_t i) const { return values_.data() + i * n_attributes_; }

private:
    void encode(float const* row, std::size_t place) {
        auto const columns = schema_.columns();
        for (std::size_t column = 0; column < columns.size(); ++column) {
            auto const [first, n_categories] = columns[column];
            float const x = row[column];
            if (n_categories == 0) {
                values_[place + first] = to_value(x);
            } else if (x >= 0 && x < static_cast<float>(n_categories)) {
                on_.push_back(place + first + static_cast<std::size_t>(x));
                values_[on_.back()] = kIndicatorOn;
            }
        }
    }

    // One by one: a row has few of them, however many categories there are.
    void clear_indicators() {
        for (std::size_t const place : on_)
            values_[place] = kIndicatorOff;
        on_.clear();
    }

    Schema const& schema_;
    std::size_t n_attributes_;
    std::size_t n_rows_ = 0;
    std::vector<Value> values_;
    std::vector<std::size_t> on_;
};

// Calls `visit(rows, begin)` for all rows, some at a time: few enough to stay in the cache, and enough for a tree to
// stay there while they all walk down.
template <typename Visitor>
void for_dense_chunks(Matrix const& rows, Schema const& schema, std::size_t n_threads, Visitor const& visit) {
    constexpr std::size_t kMaxValues = 131072;
    std::size_t const chunk =
        std::clamp<std::size_t>(kMaxValues / std::max<std::size_t>(1, schema.n_attributes()), 1, 512);
    std::size_t const n_chunks = (rows.n_rows + chunk - 1) / chunk;
    std::vector<DenseRows> dense(n_workers(n_chunks, n_threads), DenseRows(schema));
    parallel_for(n_chunks, n_threads, [&](std::size_t i, std::size_t worker) {
        std::size_t const begin = i * chunk;
        dense[worker].assign(rows, begin, std::min(begin + chunk, rows.n_rows));
        visit(dense[worker], begin);
    });
}

}  // namespace deciduous
