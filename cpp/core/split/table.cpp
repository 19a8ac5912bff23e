#include "split/table.h"

#include <algorithm>

#include "base/kernels.h"
#include "split/n_classes.h"

namespace deciduous {

namespace {

template <typename Vector>
void make_at_least(Vector& vector, std::size_t n) {
    if (vector.size() < n)
        vector.resize(n);
}

}  // namespace

void Table::count_codes(NodeRows const& node, Column const& column) {
    constexpr std::size_t kCodes = 256;
    auto const coded = column.coded();
    auto const order = column.codes_in_order();
    n_classes_ = node.n_classes();
    are_counted_ = true;
    Ordered* const values = own_values_.take(order.size() + kernels::kLanes);
    values_ = values;
    make_at_least(counts_, (order.size() + 1) * n_classes_);
    with_classes(n_classes_, [&](auto n_classes) {
        make_at_least(n_by_code_, kCodes * n_classes);
        for (Code const code : order)
            std::fill_n(n_by_code_.data() + code * n_classes, std::size_t{n_classes}, Count{0});
        node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                n_by_code_[coded.codes[node.slots[i]] * n_classes + y] += node.weight(i);
        });
        n_values_ = 0;
        std::fill_n(counts_.data(), std::size_t{n_classes}, Count{0});
        for (Code const code : order) {
            Count* const up_to = counts_.data() + n_values_ * n_classes;
            Count const* const at = n_by_code_.data() + code * n_classes;
            Count any = 0;
            for (std::size_t y = 0; y < n_classes; ++y)
                any |= at[y];
            values[n_values_] = to_ordered(coded.values[code]);
            if (any == 0)
                continue;
            for (std::size_t y = 0; y < n_classes; ++y)
                up_to[n_classes + y] = (up_to[y] += at[y]);
            ++n_values_;
        }
    });
    find_only();
}

// Finds which values have rows of one class alone, by the counts.
void Table::find_only() {
    std::size_t const n_words = n_words_of(n_values_);
    own_only_.assign(n_classes_ * n_words, 0);
    only_ = own_only_.data();
    Count const* up_to = counts_.data();
    for (std::size_t i = 0; i < n_values_; ++i, up_to += n_classes_) {
        std::size_t n_present = 0;
        std::size_t present = 0;
        for (std::size_t y = 0; y < n_classes_; ++y)
            if (up_to[y] != (i == 0 ? 0 : up_to[y - n_classes_])) {
                present = y;
                ++n_present;
            }
        own_only_[present * n_words + i / 64] |= std::uint64_t{n_present == 1} << (i % 64);
    }
}

void Table::sort(NodeRows const& node, ClassValues& values) {
    std::size_t const n_rows = node.size();
    std::size_t const n_words = n_words_of(n_rows);
    Ordered* const sorted = values.in_any_order();
    n_classes_ = node.n_classes();
    are_counted_ = !node.weights.empty();
    if (are_counted_) {
        sort_rows(node, sorted);
        add_weights(node, sorted);
        return;
    }
    make_at_least(sets_, n_classes_ * n_words);
    make_at_least(n_before_, n_classes_ * n_words);
    make_at_least(repeated_, n_words);
    sort_rows(node, sorted);
    find_sets(node);
    kernels::chosen->mark_repeated(sorted, n_rows, repeated_.data());
    are_repeated_ = std::any_of(repeated_.data(), repeated_.data() + n_words, [](auto word) { return word != 0; });
    if (are_repeated_ && sorted[0] == sorted[n_rows - 1]) {
        n_values_ = 1;
        values_ = sorted;
        return;
    }
    if (are_repeated_) {
        join_repeated(sorted, n_rows);
        return;
    }
    n_values_ = n_rows;
    values_ = sorted;
    only_ = sets_.data();
}

// Sorts the values, and with them the classes of the rows or, if they have weights, their numbers.
void Table::sort_rows(NodeRows const& node, Ordered* values) {
    std::size_t const n_rows = node.size();
    make_at_least(labels_, n_rows + kernels::kLanes);
    make_at_least(labels_beside_, n_rows + kernels::kLanes);
    node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
        std::fill_n(labels_.data() + begin, end - begin, static_cast<std::uint32_t>(y));
    });
    if (!node.weights.empty())
        for (std::uint32_t i = 0; i < n_rows; ++i)
            labels_[i] = i;
    kernels::chosen->sort(values, labels_.data(), n_rows, beside_.take(n_rows + kernels::kLanes),
                          labels_beside_.data());
}

// The sets of the rows of each class.
void Table::find_sets(NodeRows const& node) {
    std::size_t const n_words = n_words_of(node.size());
    std::fill_n(sets_.data(), n_classes_ * n_words, std::uint64_t{0});
    node.for_each_class([&](std::size_t y, std::size_t begin, std::size_t end) {
        if (begin < end)  // there may be many classes, and few of them here
            kernels::chosen->mark_equal(static_cast<Ordered>(y), reinterpret_cast<Ordered const*>(labels_.data()),
                                        node.size(), sets_.data() + y * n_words);
    });
    kernels::chosen->count_before(sets_.data(), n_classes_, n_words, n_before_.data());
}

// From rows to values: where several rows have one, the last of them stands for all.
void Table::join_repeated(Ordered const* sorted, std::size_t n_rows) {
    std::size_t const n_words = n_words_of(n_rows);
    make_at_least(is_last_, n_words);
    for (std::size_t word = 0; word < n_words; ++word)
        is_last_[word] = ~repeated_[word];
    is_last_[n_words - 1] &= ~std::uint64_t{0} >> (63 - (n_rows - 1) % 64);
    Ordered* const values = own_values_.take(n_rows + kernels::kLanes);
    values_ = values;
    n_values_ = kernels::chosen->keep_marked(is_last_.data(), n_words, sorted, values);
    make_at_least(last_rows_, n_rows + kernels::kLanes);
    kernels::chosen->list_marked(is_last_.data(), n_words, last_rows_.data());
    std::size_t const n_words_joined = n_words_of(n_values_);
    make_at_least(own_only_, n_classes_ * n_words_joined + n_words + 1);
    make_at_least(others_, n_words);
    only_ = own_only_.data();
    for (std::size_t y = 0; y < n_classes_; ++y) {
        // Rows of other classes, carried to the last row of the same value: a sum of marks does that.
        std::uint64_t carry = 0;
        for (std::size_t word = 0; word < n_words; ++word) {
            std::uint64_t const others = ~sets_[y * n_words + word];
            std::uint64_t const sum = (others & repeated_[word]) + repeated_[word];
            std::uint64_t const whole = sum + carry;
            others_[word] = ~((whole ^ repeated_[word]) | others);
            carry = (sum < repeated_[word] ? 1 : 0) | (whole < sum ? 1 : 0);
        }
        kernels::chosen->gather_marks(others_.data(), is_last_.data(), n_words, own_only_.data() + y * n_words_joined);
    }
}

// Counts rows by their weights, in the order of their values.
void Table::add_weights(NodeRows const& node, Ordered const* sorted) {
    std::size_t const n_rows = node.size();
    Ordered* const values = own_values_.take(n_rows + kernels::kLanes);
    values_ = values;
    counts_.assign(n_rows * n_classes_, 0);
    n_values_ = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
        if (i > 0 && sorted[i] != sorted[i - 1]) {
            ++n_values_;
            std::copy_n(&counts_[(n_values_ - 1) * n_classes_], n_classes_, &counts_[n_values_ * n_classes_]);
        }
        values[n_values_] = sorted[i];
        auto const y = std::ranges::upper_bound(node.ends, labels_[i]) - node.ends.begin();
        counts_[n_values_ * n_classes_ + static_cast<std::size_t>(y)] += node.weights[labels_[i]];
    }
    ++n_values_;
    find_only();
}

void Table::count_up_to(std::span<std::uint32_t const> places, Count* counts) {
    if (are_counted_) {
        for (std::uint32_t const place : places)
            counts = std::copy_n(counts_.data() + place * n_classes_, n_classes_, counts);
        return;
    }
    std::uint32_t const* rows = places.data();
    std::size_t const n_rows = are_repeated_ ? last_rows_[n_values_ - 1] + 1 : n_values_;
    if (are_repeated_) {
        make_at_least(rows_, places.size());
        std::ranges::transform(places, rows_.begin(), [this](std::uint32_t place) { return last_rows_[place]; });
        rows = rows_.data();
    }
    kernels::chosen->count_up_to(sets_.data(), n_classes_, n_words_of(n_rows), n_before_.data(), rows, places.size(),
                                 counts);
}

}  // namespace deciduous
