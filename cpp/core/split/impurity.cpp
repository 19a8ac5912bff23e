#include "split/impurity.h"

#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "split/n_classes.h"

namespace deciduous {

namespace {

constexpr Count kTableSize = 4096;  // most nodes are small; 32 KB of logarithms stay in the cache

// n * log2(n).
class WeightedLogs {
public:
    [[nodiscard]] static WeightedLogs const& known() {
        static WeightedLogs const logs;
        return logs;
    }
    [[nodiscard]] std::int64_t of(Count n) const {
        return n < kTableSize ? table_[n] : static_cast<std::int64_t>(n) * fixed_log2(n);
    }

private:
    WeightedLogs() {
        for (Count i = 1; i < kTableSize; ++i)
            table_[i] = static_cast<std::int64_t>(i) * fixed_log2(i);
    }
    std::array<std::int64_t, kTableSize> table_{};
};

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

// One side of a split with weighted classes: fewer than 2^30 rows times weights of 32 bits fit into 62 bits, and so do
// their sums; squares and logarithms do not fit into 64.
struct WeightedSide {
    std::uint64_t n = 0;
    Wide squares = 0;
    SignedWide logs = 0;

    void add(Count rows, std::uint32_t weight) {
        std::uint64_t const weighted = std::uint64_t{rows} * weight;
        n += weighted;
        squares += static_cast<Wide>(weighted) * weighted;
        logs += log_of(weighted);
    }
    [[nodiscard]] double gini() const { return static_cast<double>(squares) / static_cast<double>(n); }
    [[nodiscard]] SignedWide entropy() const { return log_of(n) - logs; }

private:
    static SignedWide log_of(std::uint64_t m) { return m == 0 ? 0 : static_cast<SignedWide>(m) * fixed_log2(m); }
};

// Of rows that weigh less than 2^31 together, as at most nodes, the squares and their sums have 62 bits at most.
std::optional<double> light_gini(std::span<Count const> left, std::span<Count const> totals, ClassWeights weights) {
    std::int64_t n_left = 0;
    std::int64_t n_right = 0;
    std::uint64_t squares_left = 0;  // which wrap if there is more, and are not used then
    std::uint64_t squares_right = 0;
    for (std::size_t y = 0; y < left.size(); ++y) {
        std::uint64_t const l = std::uint64_t{left[y]} * weights[y];
        std::uint64_t const r = std::uint64_t{totals[y] - left[y]} * weights[y];
        n_left += static_cast<std::int64_t>(l);
        n_right += static_cast<std::int64_t>(r);
        squares_left += l * l;
        squares_right += r * r;
    }
    if (n_left + n_right >= std::int64_t{1} << 31)
        return std::nullopt;
    return -(static_cast<double>(static_cast<std::int64_t>(squares_left)) / static_cast<double>(n_left) +
             static_cast<double>(static_cast<std::int64_t>(squares_right)) / static_cast<double>(n_right));
}

double weighted_score(Criterion criterion, std::span<Count const> left, std::span<Count const> totals,
                      ClassWeights weights) {
    if (criterion == Criterion::gini)
        if (auto const score = light_gini(left, totals, weights))
            return *score;
    WeightedSide on_left;
    WeightedSide on_right;
    for (std::size_t y = 0; y < left.size(); ++y) {
        on_left.add(left[y], weights[y]);
        on_right.add(totals[y] - left[y], weights[y]);
    }
    if (criterion == Criterion::gini)
        return -(on_left.gini() + on_right.gini());
    return static_cast<double>(on_left.entropy() + on_right.entropy());
}

// Fewer than 2^30 rows times logarithms below 30 * 2^28 are less than 2^63, and so are all sums over parts of the rows.
template <typename NClasses>
double entropy_score(WeightedLogs const& logs, NClasses n_classes, Count const* left, Count const* totals) {
    Count n_left = 0;
    Count n_right = 0;
    std::int64_t score = 0;
    for (std::size_t y = 0; y < n_classes; ++y) {
        Count const l = left[y];
        Count const r = totals[y] - left[y];
        n_left += l;
        n_right += r;
        score -= logs.of(l) + logs.of(r);
    }
    return static_cast<double>(score + logs.of(n_left) + logs.of(n_right));
}

// As docs/algorithm.md has it.
std::int64_t log2_by_digits(std::uint64_t n) {
    int const e = static_cast<int>(std::bit_width(n)) - 1;
    std::uint64_t z = n << (63 - e);
    std::int64_t digits = 0;
    for (int i = 0; i < kLogDigits; ++i) {
        Wide const square = static_cast<Wide>(z) * z;
        bool const digit = (square >> 127) != 0;
        z = static_cast<std::uint64_t>(square >> (digit ? 64 : 63));
        digits = 2 * digits + (digit ? 1 : 0);
    }
    return (static_cast<std::int64_t>(e) << kLogDigits) + digits;
}

}  // namespace

// What the digits cut off is less than 2^-34 units, and a library's logarithm is off by 2^-18 at most: unless it is all
// but a whole number of units, both have the same whole part. The library takes a tenth of the time.
std::int64_t fixed_log2(std::uint64_t n) {
    constexpr double kDoubt = 0x1p-8;
    double const units = std::log2(static_cast<double>(n)) * (1 << kLogDigits);
    double const whole = std::floor(units);
    bool const is_certain = units - whole > kDoubt && units - whole < 1 - kDoubt;
    return is_certain ? static_cast<std::int64_t>(whole) : log2_by_digits(n);
}

double split_score(Criterion criterion, std::span<Count const> left, std::span<Count const> totals,
                   ClassWeights weights) {
    if (!weights.empty())
        return weighted_score(criterion, left, totals, weights);
    return criterion == Criterion::gini ? gini_score(left.size(), left.data(), totals.data())
                                        : entropy_score(WeightedLogs::known(), left.size(), left.data(), totals.data());
}

void score_splits(Criterion criterion, Count const* left, std::span<Count const> totals, ClassWeights weights,
                  std::span<double> scores) {
    if (criterion == Criterion::entropy && weights.empty()) {
        WeightedLogs const& logs = WeightedLogs::known();
        with_classes(totals.size(), [&](auto n_classes) {
            for (std::size_t i = 0; i < scores.size(); ++i)
                scores[i] = entropy_score(logs, n_classes, left + i * n_classes, totals.data());
        });
        return;
    }
    for (std::size_t i = 0; i < scores.size(); ++i)
        scores[i] = split_score(criterion, {left + i * totals.size(), totals.size()}, totals, weights);
}

namespace {

template <typename Integer>
void score_in(Count const* n_left, TargetSum const* left, std::size_t n_candidates, Count n_rows, TargetSum total,
              double* scores) {
    auto const sum = static_cast<Integer>(total);
    for (std::size_t i = 0; i < n_candidates; ++i)
        scores[i] = squared_error_score(n_rows, sum, n_left[i], static_cast<Integer>(left[i]));
}

}  // namespace

void score_squared_errors(Count const* n_left, TargetSum const* left, std::size_t n_candidates, Count n_rows,
                          TargetSum total, double* scores) {
    constexpr Count kFewRows = 1 << 10;  // times as many rows of targets up to 2^40
    if (n_rows <= kFewRows)
        score_in<std::int64_t>(n_left, left, n_candidates, n_rows, total, scores);
    else
        score_in<TargetSum>(n_left, left, n_candidates, n_rows, total, scores);
}

double weighed(std::span<Count const> totals, ClassWeights weights) {
    std::uint64_t total = 0;
    for (std::size_t y = 0; y < totals.size(); ++y)
        total += std::uint64_t{totals[y]} * (weights.empty() ? 1 : weights[y]);
    return static_cast<double>(total);
}

double chance_of_same_class(std::span<Count const> counts) {
    auto const n_rows = static_cast<double>(sum(counts));
    double chance = 0;
    for (Count const n : counts)
        chance += static_cast<double>(n) / n_rows * static_cast<double>(n) / n_rows;
    return chance;
}

}  // namespace deciduous
