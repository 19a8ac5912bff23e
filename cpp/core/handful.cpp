#include "handful.h"

#include <algorithm>

#include "kernels.h"

namespace deciduous {

AttributeList Handful::take(Dataset const& data, std::span<Slot const> rows, std::size_t n_classes,
                            std::span<Attribute const> others) {
    n_rows_ = rows.size();
    classes_.assign(n_classes, 0);
    for (std::size_t i = 0; i < n_rows_; ++i) {
        slots_[i] = rows[i];
        labels_[i] = data.labels()[rows[i]];
        classes_[labels_[i]] |= RowSet{1} << i;
    }
    columns_.resize(data.n_attributes());
    if (lists_.size() < data.n_attributes())
        lists_.resize(data.n_attributes());
    n_listed_ = 0;
    find_bits(data);
    find_indicators(data);
    AttributeList const list{0, n_listed_, others.size()};
    std::ranges::copy(others, lists_.begin() + static_cast<std::ptrdiff_t>(n_listed_));
    return list;
}

void Handful::find_bits(Dataset const& data) {
    RowBits const& bits = data.row_bits();
    std::array<RowBits::Bits, kMaxRows> square;
    for (std::size_t word = 0; word < bits.n_words(); ++word) {
        RowBits::Bits const first = bits.row(slots_[0])[word];
        RowBits::Bits varying = 0;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            square[i] = bits.row(slots_[i])[word];
            varying |= square[i] ^ first;
        }
        varying &= bits.in_use(word);
        if (varying == 0)
            continue;
        std::fill(square.begin() + static_cast<std::ptrdiff_t>(n_rows_), square.end(), RowBits::Bits{0});
        kernels::transpose(square.data());
        for (; varying != 0; varying &= varying - 1) {
            auto const bit = static_cast<std::size_t>(std::countr_zero(varying));
            Attribute const attribute = bits.attribute(word * RowBits::kBitsPerWord + bit);
            columns_[attribute] = square[bit];
            lists_[n_listed_++] = attribute;
        }
    }
}

// Those of columns whose categories are too many for bits.
void Handful::find_indicators(Dataset const& data) {
    Schema const& schema = data.schema();
    for (std::size_t const column : data.row_bits().columns_without()) {
        auto const indicator_of = [&](std::size_t i) {
            return schema.indicator(column, data.columns()[column][slots_[i]]);
        };
        for (std::size_t i = 0; i < n_rows_; ++i)
            if (auto const its = indicator_of(i))
                columns_[*its] = 0;
        for (std::size_t i = 0; i < n_rows_; ++i)
            if (auto const its = indicator_of(i)) {
                if (columns_[*its] == 0)
                    lists_[n_listed_++] = *its;
                columns_[*its] |= RowSet{1} << i;
            }
        if (n_listed_ > 0 && columns_[lists_[n_listed_ - 1]] == all())
            --n_listed_;  // all rows are of one category
    }
}

AttributeList Handful::narrowed(AttributeList const& list, RowSet rows) {
    if (lists_.size() < list.end() + list.size())
        lists_.resize(2 * (list.end() + list.size()));
    Attribute const* const from = lists_.data() + list.begin;
    Attribute* const to = lists_.data() + list.end();
    std::size_t n = 0;
    for (std::size_t i = 0; i < list.n_binary; ++i) {
        RowSet const is_set = columns_[from[i]] & rows;
        to[n] = from[i];
        n += static_cast<std::size_t>(is_set != 0) & static_cast<std::size_t>(is_set != rows);
    }
    std::copy_n(from + list.n_binary, list.n_others, to + n);
    return {list.end(), n, list.n_others};
}

void Handful::retire(AttributeList& list, Attribute attribute) {
    auto const others = std::span(lists_).subspan(list.begin + list.n_binary, list.n_others);
    std::ranges::iter_swap(std::ranges::find(others, attribute), others.end() - 1);
    --list.n_others;
}

}  // namespace deciduous
