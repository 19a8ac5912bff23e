#include "split/small_node.h"

#include <algorithm>

#include "base/kernels.h"

namespace deciduous {

namespace {

RowSet first_rows(std::size_t n) {
    return n == SmallNode::kMaxRows ? ~RowSet{0} : (RowSet{1} << n) - 1;
}

}  // namespace

RowSet SmallNode::all() const {
    return first_rows(n_rows_);
}

AttributeList SmallNode::take(Dataset const& data, std::span<Slot const> rows,
                              std::span<std::uint32_t const> class_ends, std::span<Attribute const> others,
                              BitColumns bits) {
    n_rows_ = rows.size();
    std::ranges::copy(rows, slots_.begin());
    classes_.resize(class_ends.size());
    for (std::size_t y = 0; y < class_ends.size(); ++y)
        classes_[y] = first_rows(class_ends[y]) & ~first_rows(y == 0 ? 0 : class_ends[y - 1]);
    columns_.resize(data.n_attributes());
    if (lists_.size() < data.n_attributes())
        lists_.resize(data.n_attributes());
    n_listed_ = 0;
    n_sorted_ = 0;
    sorted_places_.resize(data.n_attributes());
    find_bits(data, bits);
    find_indicators(data);
    AttributeList const list{0, n_listed_, others.size()};
    std::ranges::copy(others, lists_.begin() + static_cast<std::ptrdiff_t>(n_listed_));
    return list;
}

void SmallNode::find_bits(Dataset const& data, BitColumns gathered) {
    RowBits const& bits = data.row_bits();
    std::array<RowBits::Bits, kMaxRows> square;
    for (std::size_t word = 0; word < bits.n_words(); ++word) {
        for (std::size_t i = 0; i < n_rows_; ++i)
            square[i] = gathered.empty() ? bits.row(slots_[i])[word] : gathered.word(word)[i];
        RowBits::Bits varying = kernels::chosen->find_varying(square.data(), n_rows_) & bits.in_use(word);
        if (varying == 0)
            continue;
        std::fill(square.begin() + static_cast<std::ptrdiff_t>(n_rows_), square.end(), RowBits::Bits{0});
        kernels::chosen->transpose(square.data());
        for (; varying != 0; varying &= varying - 1) {
            auto const bit = static_cast<std::size_t>(std::countr_zero(varying));
            Attribute const attribute = bits.attribute(word * RowBits::kBitsPerWord + bit);
            columns_[attribute] = square[bit];
            lists_[n_listed_++] = attribute;
        }
    }
}

// Those of columns whose categories are too many for bits.
void SmallNode::find_indicators(Dataset const& data) {
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

// Where an attribute is to be put.
SortedColumn& SmallNode::column_to_sort(Attribute attribute) {
    std::uint32_t& place = sorted_places_[attribute];
    if (place >= n_sorted_ || sorted_[place].attribute != attribute) {
        place = static_cast<std::uint32_t>(n_sorted_++);
        if (sorted_.size() < n_sorted_)
            sorted_.resize(2 * n_sorted_);
    }
    SortedColumn& column = sorted_[place];
    column.attribute = attribute;
    return column;
}

SortedColumn const& SmallNode::sorted(Dataset const& data, Attribute attribute, RowSet rows) {
    if (SortedColumn const* const its = find_sorted(attribute, rows))
        return *its;
    // All rows if these are many of them: other nodes will ask.
    std::size_t const n_asked = static_cast<std::size_t>(std::popcount(rows));
    RowSet const taken = 2 * n_asked >= n_rows_ ? all() : rows;
    SortedColumn& column = column_to_sort(attribute);
    column.rows = taken;
    std::size_t n = 0;
    data.visit(attribute, [&](auto view) {
        for_each_row(taken, [&](std::size_t row) { gathered_[n++] = to_ordered(view(slots_[row])); });
    });
    std::size_t const n_padded = kernels::whole_vectors(n);
    std::fill(gathered_.begin() + static_cast<std::ptrdiff_t>(n),
              gathered_.begin() + static_cast<std::ptrdiff_t>(n_padded), to_ordered(kNoValue));
    std::array<std::uint32_t, kMaxRows> n_smaller;
    kernels::chosen->count_smaller(gathered_.data(), n_padded, n_smaller.data());
    std::array<std::uint8_t, kMaxRows> n_alike{};  // of those that came before
    n = 0;
    for_each_row(taken, [&](std::size_t row) {
        std::size_t const place = n_smaller[n] + n_alike[n_smaller[n]]++;
        column.places[row] = static_cast<std::uint8_t>(place);
        column.values[row] = column.sorted[place] = gathered_[n++];
    });
    return column;
}

AttributeList SmallNode::narrowed(AttributeList const& list, RowSet rows) {
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

void SmallNode::retire(AttributeList& list, Attribute attribute) {
    auto const others = std::span(lists_).subspan(list.begin + list.n_binary, list.n_others);
    std::ranges::iter_swap(std::ranges::find(others, attribute), others.end() - 1);
    --list.n_others;
}

}  // namespace deciduous
