// What the columns of a row mean to the trees (docs/algorithm.md, 2.1). A numeric column is one attribute. A
// categorical column with m categories is m attributes, the indicators of its categories: 1 for rows of that category,
// else 0. The forest is the one of the one-hot matrix, which never exists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace deciduous {

// Rows as the caller has them: n x p float32 in row-major order. A categorical column holds the number of the category,
// or NaN for rows of none.
struct Matrix {
    float const* data;
    std::size_t n_rows;
    std::size_t n_columns;
    [[nodiscard]] float const* row(std::size_t i) const { return data + i * n_columns; }
};

inline constexpr Value kIndicatorOff = 0x80000000U;  // to_value(0.0F)
inline constexpr Value kIndicatorOn = 0xBF800000U;   // to_value(1.0F)

// Where an attribute comes from.
struct AttributeSource {
    std::uint32_t column;
    Value category;  // of an indicator: what the column holds for its rows; else kNoValue
    [[nodiscard]] bool is_indicator() const { return category != kNoValue; }

    // The attribute's value for rows that hold this in their column.
    [[nodiscard]] Value value(Value held) const {
        if (!is_indicator())
            return held;
        return held == category ? kIndicatorOn : kIndicatorOff;
    }
};

class Schema {
public:
    // The number of categories of each column, 0 for numeric ones.
    explicit Schema(std::span<std::uint32_t const> n_categories) {
        std::uint64_t n_attributes = 0;
        for (std::uint32_t const n : n_categories)
            n_attributes += std::max<std::uint32_t>(1, n);
        if (n_attributes > kMaxAttributes)
            throw InvalidArgument("A forest has at most " + std::to_string(kMaxAttributes) +
                                  " attributes, a category being one; these would be " + std::to_string(n_attributes) +
                                  ".");
        for (std::uint32_t column = 0; column < n_categories.size(); ++column) {
            columns_.push_back({static_cast<Attribute>(sources_.size()), n_categories[column]});
            if (n_categories[column] == 0)
                sources_.push_back({column, kNoValue});
            for (std::uint32_t category = 0; category < n_categories[column]; ++category)
                sources_.push_back({column, to_value(static_cast<float>(category))});
        }
    }

    [[nodiscard]] std::size_t n_columns() const { return columns_.size(); }
    [[nodiscard]] Attribute n_attributes() const { return static_cast<Attribute>(sources_.size()); }
    // The indicator of what a categorical column holds, or nothing if that is no category.
    [[nodiscard]] std::optional<Attribute> indicator(std::size_t column, Value held) const {
        if (held == kMissing)
            return std::nullopt;
        return columns_[column].first + static_cast<Attribute>(to_float(held));
    }

    [[nodiscard]] AttributeSource source(Attribute attribute) const { return sources_[attribute]; }

    [[nodiscard]] Value value(float const* row, Attribute attribute) const {
        AttributeSource const its = source(attribute);
        return its.value(to_value(row[its.column]));
    }

    // Whether a column may hold this number.
    [[nodiscard]] bool admits(std::size_t column, float x) const {
        std::uint32_t const n = columns_[column].n_categories;
        return n == 0 || x != x ||
               (x >= 0 && x < static_cast<float>(n) && x == static_cast<float>(static_cast<int>(x)));
    }

    struct ColumnRange {
        Attribute first;
        std::uint32_t n_categories;  // 0 if numeric
    };
    [[nodiscard]] std::span<ColumnRange const> columns() const { return columns_; }

private:
    std::vector<ColumnRange> columns_;
    std::vector<AttributeSource> sources_;
};

}  // namespace deciduous
