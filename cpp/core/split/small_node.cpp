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
    if (data.has_targets())
        std::ranges::transform(rows, targets_.begin(), [&](Slot slot) { return data.targets()[slot]; });
    classes_.resize(class_ends.size());
    for (std::size_t y = 0; y < class_ends.size(); ++y)
        classes_[y] = first_rows(class_ends[y]) & ~first_rows(y == 0 ? 0 : class_ends[y - 1]);
    columns_.resize(data.n_attributes());
    make_room(data.n_attributes());
    n_listed_ = 0;
    n_known_ = 0;
    known_places_.resize(data.n_attributes());
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
            columns_[attribute] = listed_columns_[n_listed_] = square[bit];
            lists_[n_listed_++] = attribute;
        }
    }
}

// Those of columns whose categories are too many for bits.
void SmallNode::find_indicators(Dataset const& data) {
    Schema const& schema = data.schema();
    std::size_t const n_listed_before = n_listed_;
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
    for (std::size_t i = n_listed_before; i < n_listed_; ++i)
        listed_columns_[i] = columns_[lists_[i]];
}

std::span<Slot const> SmallNode::list(RowSet rows, std::vector<Slot>& slots) const {
    slots.resize(kMaxRows + kernels::kLanes);
    if ((rows & (rows - 1)) == 0 && rows != 0) {  // as in most leaves of a regression forest
        slots[0] = slots_[static_cast<std::size_t>(std::countr_zero(rows))];
        return std::span(slots).first(1);
    }
    std::size_t const n = kernels::chosen->keep_marked(&rows, 1, reinterpret_cast<Ordered const*>(slots_.data()),
                                                       reinterpret_cast<Ordered*>(slots.data()));
    return std::span(slots).first(n);
}

KnownValues& SmallNode::known(Dataset const& data, Attribute attribute, RowSet rows) {
    std::uint32_t& place = known_places_[attribute];
    if (place >= n_known_ || known_[place].attribute != attribute) {
        place = static_cast<std::uint32_t>(n_known_++);
        if (known_.size() < n_known_)
            known_.resize(2 * n_known_);
        known_[place].attribute = attribute;
        known_[place].rows = 0;
        known_[place].sorted = 0;
    }
    KnownValues& its = known_[place];
    if (RowSet const unknown = rows & ~its.rows; unknown != 0)
        data.visit(attribute, [&](auto view) {
            for_each_row(unknown, [&](std::size_t row) { its.values[row] = to_ordered(view(slots_[row])); });
        });
    its.rows |= rows;
    return its;
}

KnownValues const& SmallNode::sorted(Dataset const& data, Attribute attribute, RowSet rows) {
    KnownValues& its = known(data, attribute, rows);
    if ((rows & ~its.sorted) != 0)
        sort(its, rows);
    return its;
}

void SmallNode::sort(KnownValues& its, RowSet rows) {
    std::size_t n = 0;
    for_each_row(rows, [&](std::size_t row) {
        sorting_.values[n] = its.values[row];
        sorting_.rows[n++] = static_cast<std::uint32_t>(row);
    });
    kernels::chosen->sort(sorting_.values.data(), sorting_.rows.data(), n, sorting_.values_beside.data(),
                          sorting_.rows_beside.data());
    for (std::size_t i = 0; i < n; ++i) {
        auto const row = static_cast<std::uint8_t>(sorting_.rows[i]);
        its.order[i] = row;
        its.place[row] = static_cast<std::uint8_t>(i);
    }
    its.sorted = rows;
}

AttributeList SmallNode::narrowed(AttributeList const& list, RowSet rows) {
    make_room(list.end() + list.size());
    std::size_t const n = list.n_binary == 0
                              ? 0
                              : kernels::chosen->keep_varying(
                                    rows, listed_columns_.data() + list.begin, lists_.data() + list.begin,
                                    list.n_binary, listed_columns_.data() + list.end(), lists_.data() + list.end());
    std::copy_n(lists_.data() + list.begin + list.n_binary, list.n_others, lists_.data() + list.end() + n);
    return {list.end(), n, list.n_others};
}

// For so many attributes in lists, and what is written behind them.
void SmallNode::make_room(std::size_t n) {
    if (lists_.size() >= n + kernels::kLanes)
        return;
    lists_.resize(2 * n + kernels::kLanes);
    listed_columns_.resize(lists_.size());
}

void SmallNode::retire(AttributeList& list, Attribute attribute) {
    auto const others = std::span(lists_).subspan(list.begin + list.n_binary, list.n_others);
    std::ranges::iter_swap(std::ranges::find(others, attribute), others.end() - 1);
    --list.n_others;
}

}  // namespace deciduous
