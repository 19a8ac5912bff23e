// Hostile rows, parameters and changes for the tests of the core: ties, extremes, categories without rows, columns of
// zeros with a few exceptions, and weights near the limits of all types that counts are kept in.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "forest.h"

namespace deciduous {

struct Row {
    RowId id;
    std::vector<float> x;
    WeightedLabel vote;
};

inline std::uint64_t weight_of(std::vector<Row> const& rows) {
    std::uint64_t sum = 0;
    for (Row const& row : rows)
        sum += row.vote.weight;
    return sum;
}

inline std::vector<RowId> ids_of_first(std::vector<Row> const& rows, std::size_t n) {
    std::vector<RowId> ids;
    for (std::size_t i = 0; i < n; ++i)
        ids.push_back(rows[i].id);
    return ids;
}

// Whether all numbers are the same, to the last bit; those that are none, too.
inline bool same_numbers(std::vector<double> const& some, std::vector<double> const& others) {
    return std::ranges::equal(some, others, {}, std::bit_cast<std::uint64_t, double>,
                              std::bit_cast<std::uint64_t, double>);
}

struct Arrays {
    std::vector<RowId> ids;
    std::vector<float> x;
    std::vector<WeightedLabel> votes;
    std::size_t n_columns = 0;

    explicit Arrays(std::vector<Row> const& rows) {
        for (Row const& row : rows) {
            ids.push_back(row.id);
            x.insert(x.end(), row.x.begin(), row.x.end());
            votes.push_back(row.vote);
            n_columns = row.x.size();
        }
    }
    [[nodiscard]] Matrix matrix() const { return {x.data(), ids.size(), n_columns}; }
};

// What the counts of a data set come close to. Rows of the largest targets come to sums of 64 bits if they weigh 2^23;
// up to 2^10 rows, scores of regression are worked out in 64 bits. No count comes to 2^32, as a forest holds fewer than
// 2^30 rows by weight.
enum class Limit : std::uint8_t { none, small, eight_bits, ten_bits, sixteen_bits, sums_of_targets, all_rows };

constexpr std::uint64_t highest_weight(Limit limit) {
    switch (limit) {
        case Limit::none:
            return 1;
        case Limit::small:
            return 6;
        case Limit::eight_bits:
            return 1U << 8;
        case Limit::ten_bits:
            return 1U << 10;
        case Limit::sixteen_bits:
            return 1U << 16;
        case Limit::sums_of_targets:
            return 1U << 23;
        case Limit::all_rows:
            break;
    }
    return kMaxRows;
}

struct Sizes {
    std::size_t n_columns;
    std::size_t n_categories;
    std::size_t n_trees;
    std::size_t max_depth;
};

// Draws everything that a history of a forest needs.
class Hostile {
public:
    static constexpr Label kMaxClasses = 12;

    Hostile(std::uint64_t seed, Sizes const& sizes) : random_(seed) {
        draw_columns(sizes);
        n_classes_ = static_cast<Label>(one_in(6) ? 10 : pick(1, 4));
        limit_ = any_of({Limit::none, Limit::none, Limit::small, Limit::eight_bits, Limit::sixteen_bits,
                         Limit::sixteen_bits, Limit::all_rows});
        is_skewed_ = one_in(3);
        draw_class_weights();
        draw_params(sizes);
        draw_tuning();
        if (one_in(3))
            become_regression();
    }

    std::size_t pick(std::size_t least, std::size_t greatest) {
        return std::uniform_int_distribution<std::size_t>(least, greatest)(random_);
    }
    bool one_in(std::size_t n) { return pick(1, n) == 1; }
    template <typename T>
    T any_of(std::initializer_list<T> choices) {
        return choices.begin()[pick(0, choices.size() - 1)];
    }
    std::mt19937_64& random() { return random_; }

    [[nodiscard]] Params const& params() const { return params_; }
    [[nodiscard]] Tuning const& tuning() const { return tuning_; }
    [[nodiscard]] std::vector<std::uint32_t> const& n_categories() const { return n_categories_; }
    [[nodiscard]] std::size_t n_attributes() const { return Schema(n_categories_).n_attributes(); }
    [[nodiscard]] Limit limit() const { return limit_; }

    Execution execution(std::size_t max_threads) { return {pick(1, max_threads), one_in(2)}; }

    // The classes that are known by now; now and then there is one more.
    [[nodiscard]] Classes classes() const {
        Classes result;
        for (Label y = 0; y < n_classes_; ++y) {
            result.keys.push_back({static_cast<std::uint8_t>(7 * y + 1)});
            if (!class_weights_.empty())
                result.weights.push_back(class_weights_[y]);
        }
        return result;
    }
    void maybe_add_class() { n_classes_ += !params_.is_regression() && n_classes_ < kMaxClasses && one_in(10) ? 1 : 0; }

    // New rows beside some that weigh `total`; together they are not too many for a forest.
    std::vector<Row> new_rows(std::size_t n, std::uint64_t total) {
        std::vector<Row> rows;
        for (std::size_t i = 0; i < n; ++i) {
            auto const label = static_cast<Label>(is_skewed_ && !one_in(10) ? 0 : pick(0, n_classes_ - 1));
            Row row{next_id_++, {}, {label, weight(total), target()}};
            total += row.vote.weight;
            row.x = values();
            rows.push_back(std::move(row));
        }
        has_heavy_rows_ = one_in(3) ? !has_heavy_rows_ : has_heavy_rows_;
        return rows;
    }

    // Brings rows that leave together to the front: any, those of one value, those of one class; how many they are.
    std::size_t choose_leaving(std::vector<Row>& rows, std::size_t n_most) {
        std::shuffle(rows.begin(), rows.end(), random_);
        Row const first = rows.front();
        std::size_t const kind = pick(0, 9);
        if (kind >= 5)
            return pick(1, std::min(rows.size(), n_most));
        if (kind == 0)
            return front_size(rows, [&](Row const& row) { return row.vote.label == first.vote.label; });
        std::size_t const column = pick(0, kinds_.size() - 1);
        return front_size(rows, [&](Row const& row) { return to_value(row.x[column]) == to_value(first.x[column]); });
    }

    // Rows that go, brought to the front, and others that come, some of them under the ids of those.
    struct Replacement {
        std::vector<RowId> leaving;
        std::vector<Row> coming;
    };
    Replacement replacement(std::vector<Row>& rows, std::size_t n_most, std::uint64_t total) {
        std::shuffle(rows.begin(), rows.end(), random_);
        Replacement result{ids_of_first(rows, pick(0, std::min(rows.size(), n_most))), {}};
        std::size_t const n_kept_ids = pick(0, result.leaving.size());
        result.coming = new_rows(n_kept_ids + pick(0, 5), total);
        for (std::size_t i = 0; i < n_kept_ids; ++i) {
            Row& row = result.coming[i];
            row.id = result.leaving[i];
            std::size_t const column = pick(0, row.x.size() - 1);
            float const changed = row.x[column];
            if (one_in(2))
                row.x = rows[i].x;  // but for one value, as when a table is edited
            row.x[column] = changed;
        }
        return result;
    }

    // What puts the same bucket of a record under pressure from both sides: heavy rows of one class beside a value, and
    // then the rows at the value leave, which are brought to the front.
    struct Squeeze {
        std::vector<Row> heavy;
        std::size_t n_leaving;
    };
    Squeeze squeeze(std::vector<Row>& rows, std::uint64_t total) {
        constexpr std::size_t kNear = 8;
        std::size_t const column = pick(0, kinds_.size() - 1);
        auto const value_of = [&](Row const& row) { return to_value(row.x[column]); };
        std::ranges::stable_sort(rows, {}, value_of);
        Value const value = value_of(rows[pick(0, rows.size() - 1)]);
        auto const at_value = std::ranges::equal_range(rows, value, {}, value_of);
        std::vector<Row> heavy;
        for (auto const& [first, last] :
             {std::pair(rows.begin(), at_value.begin()), std::pair(at_value.end(), rows.end())}) {
            auto const n = static_cast<std::size_t>(last - first);
            if (n == 0)
                continue;
            std::size_t const distance = pick(1, std::min(n, kNear));
            Row row = last == rows.end() ? *(first + static_cast<std::ptrdiff_t>(distance) - 1)
                                         : *(last - static_cast<std::ptrdiff_t>(distance));
            row.id = next_id_++;
            row.vote = {heavy.empty() ? row.vote.label : heavy.front().vote.label, heavy_weight(total), target()};
            total += row.vote.weight;
            heavy.push_back(std::move(row));
        }
        return {std::move(heavy), front_size(rows, [&](Row const& row) { return value_of(row) == value; })};
    }

private:
    enum class Kind : std::uint8_t { constant, binary, ties, many_ties, zeros, extremes, continuous, categorical };

    enum class TargetKind : std::uint8_t {
        none,
        constant,
        two,
        few,
        equal_but_few,
        equal_but_one,
        limits,
        close_to_limit,
        continuous
    };

    void become_regression() {
        n_classes_ = 1;
        class_weights_.clear();
        params_.criterion = Criterion::squared_error;
        params_.stability = 0;
        target_kind_ = static_cast<TargetKind>(pick(1, 8));
        usual_target_ = any_of<Target>({-7, 0, kMaxTarget, -kMaxTarget});
        limit_ = any_of({Limit::none, Limit::none, Limit::small, Limit::eight_bits, Limit::ten_bits,
                         Limit::sixteen_bits, Limit::sums_of_targets, Limit::all_rows});
    }

    Target target() {
        switch (target_kind_) {
            case TargetKind::none:
                return 0;
            case TargetKind::constant:
                return usual_target_;
            case TargetKind::two:
                return one_in(2) ? kMaxTarget : 0;
            case TargetKind::few:
                return static_cast<Target>(pick(0, 4)) - 2;
            case TargetKind::equal_but_few:
                return one_in(10) ? static_cast<Target>(pick(0, 3)) : usual_target_;
            case TargetKind::equal_but_one:  // or two, or none
                return one_in(100) ? 1 : usual_target_;
            case TargetKind::limits:
                return any_of<Target>({-kMaxTarget, kMaxTarget, kMaxTarget - 1, 0, 1});
            case TargetKind::close_to_limit:
                return kMaxTarget - static_cast<Target>(pick(0, 3));
            case TargetKind::continuous:
                break;
        }
        return static_cast<Target>(pick(0, 2 * static_cast<std::size_t>(kMaxTarget))) - kMaxTarget;
    }

    template <typename Predicate>
    static std::size_t front_size(std::vector<Row>& rows, Predicate const& leaves) {
        return static_cast<std::size_t>(std::partition(rows.begin(), rows.end(), leaves) - rows.begin());
    }

    void draw_columns(Sizes const& sizes) {
        std::size_t const n_columns = pick(1, sizes.n_columns);
        for (std::size_t column = 0; column < n_columns; ++column) {
            kinds_.push_back(static_cast<Kind>(pick(0, 7)));
            bool const is_categorical = kinds_.back() == Kind::categorical;
            n_categories_.push_back(is_categorical ? static_cast<std::uint32_t>(pick(1, sizes.n_categories)) : 0);
        }
    }

    // The largest class weight there is makes the largest products.
    void draw_class_weights() {
        if (one_in(4))
            for (Label y = 0; y < kMaxClasses; ++y)
                class_weights_.push_back(any_of<std::uint32_t>({1, 2, 3, 1U << 19, (1U << 20) - 1, 1U << 20}));
    }

    void draw_params(Sizes const& sizes) {
        params_.n_trees = static_cast<std::uint32_t>(pick(1, sizes.n_trees));
        params_.trees_per_row = static_cast<std::uint32_t>(one_in(2) ? params_.n_trees : pick(1, params_.n_trees));
        params_.max_depth = static_cast<std::uint32_t>(pick(1, sizes.max_depth));
        params_.random_depth = static_cast<std::uint32_t>(one_in(3) ? pick(0, sizes.max_depth) : 0);
        params_.max_features = static_cast<std::uint32_t>(pick(1, n_attributes()));
        params_.candidates = one_in(3) ? CandidateScheme::uniform : CandidateScheme::valid;
        params_.n_thresholds = static_cast<std::uint32_t>(one_in(2) ? pick(1, 3) : pick(1, 12));
        if (params_.candidates == CandidateScheme::valid && one_in(5))
            params_.n_thresholds = kAllThresholds;
        params_.criterion = one_in(2) ? Criterion::gini : Criterion::entropy;
        params_.stability = one_in(3) ? any_of<double>({0.01, 0.3, 100.0}) : 0.0;
        params_.min_samples_split = static_cast<std::uint32_t>(pick(2, 5));
        params_.min_samples_leaf = static_cast<std::uint32_t>(one_in(3) ? pick(2, 4) : 1);
        params_.seed = random_();
    }

    void draw_tuning() {
        tuning_.min_cached_rows = static_cast<std::uint32_t>(one_in(3) ? 1 : pick(2, 64));
        tuning_.max_bytes_per_row = static_cast<std::uint32_t>(one_in(3) ? pick(1, 64) : 1000000);
        tuning_.max_bytes_per_row_with_target = tuning_.max_bytes_per_row;
        tuning_.min_settled_rows = static_cast<std::uint32_t>(one_in(2) ? 0 : pick(1, 100));
        tuning_.min_alternate_rows = static_cast<std::uint32_t>(one_in(2) ? 1 : pick(2, 300));
        tuning_.max_alternate_share = one_in(3) ? 0.3 : 3.0;
        tuning_.rows_per_change = static_cast<std::uint32_t>(one_in(2) ? 0 : pick(1, 20));
        tuning_.min_postponed_rows = static_cast<std::uint32_t>(one_in(2) ? 0 : pick(1, 33));
        tuning_.max_postponed_rows = static_cast<std::uint32_t>(one_in(2) ? 512 : pick(0, 50));
        tuning_.max_batch_beside_alternates = static_cast<std::uint32_t>(one_in(2) ? 16 : pick(0, 100));
        tuning_.max_small_rows = static_cast<std::uint32_t>(one_in(2) ? 64 : pick(0, 64));
        tuning_.max_small_classes = static_cast<std::uint32_t>(one_in(2) ? 8 : pick(1, 12));
        tuning_.max_rows_with_bits = static_cast<std::uint32_t>(one_in(2) ? 32768 : pick(0, 100));
        tuning_.look_ups_per_sort = static_cast<std::uint32_t>(one_in(3) ? 1000000 : pick(0, 40));
        tuning_.rows_per_look_up = static_cast<std::uint32_t>(pick(0, 2));
        tuning_.rows_per_target_look_up = static_cast<std::uint32_t>(one_in(2) ? 0 : pick(1, 20));
        tuning_.rows_per_code = static_cast<std::uint32_t>(one_in(2) ? 3 : pick(0, 20));
        tuning_.max_codes = static_cast<std::uint32_t>(one_in(2) ? 256 : pick(1, 8));
        tuning_.max_categories_with_bits = static_cast<std::uint32_t>(one_in(2) ? 128 : pick(0, 4));
        tuning_.max_laid_out_values = static_cast<std::uint32_t>(one_in(3) ? 0 : 1 << 22);
        tuning_.min_rows_for_threads = static_cast<std::uint32_t>(one_in(2) ? 256 : pick(0, 10));
        tuning_.reserve = static_cast<std::uint32_t>(pick(0, 4));
        tuning_.max_waste = one_in(3) ? 0.0 : 0.25;
    }

    // Half of the rows are like one that came before: counts grow where there are counts.
    std::vector<float> values() {
        std::size_t const place = pick(0, kRemembered - 1);
        if (place < remembered_.size() && one_in(2))
            return remembered_[place];
        std::vector<float> x;
        for (std::size_t column = 0; column < kinds_.size(); ++column)
            x.push_back(value(kinds_[column], n_categories_[column]));
        if (remembered_.size() < kRemembered)
            remembered_.push_back(x);
        else
            remembered_[place] = x;
        return x;
    }

    float value(Kind kind, std::uint32_t n_categories) {
        constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
        constexpr float kExtremes[] = {0.0F,    -0.0F,    1e-45F,  -1e-45F, 3e-45F, 1.1e-38F,
                                       3.4e38F, -3.4e38F, 1.0e-3F, 1.5e9F,  kNan};
        switch (kind) {
            case Kind::constant:
                return 1.0F;
            case Kind::binary:
                return static_cast<float>(pick(0, 1));
            case Kind::ties:
                return static_cast<float>(pick(0, 6));
            case Kind::many_ties:
                return static_cast<float>(pick(0, 40));
            case Kind::zeros:
                return one_in(4) ? static_cast<float>(pick(1, 30)) : 0.0F;
            case Kind::extremes:
                return kExtremes[pick(0, std::size(kExtremes) - 1)];
            case Kind::categorical:
                // Some rows are of no category, and most of the others are of a few.
                return one_in(10) ? kNan : static_cast<float>(pick(0, pick(0, n_categories - 1)));
            case Kind::continuous:
                break;
        }
        return std::normal_distribution<float>()(random_);
    }

    // Mostly 1. Heavy rows come in spells, the first one after the first rows: what was recorded of light rows has to
    // meet them.
    Count weight(std::uint64_t total) { return has_heavy_rows_ && one_in(3) ? heavy_weight(total) : 1; }

    // Brings the counts to a limit, in one step or in three.
    Count heavy_weight(std::uint64_t total) {
        constexpr std::uint64_t kLeftFree = 1000000;  // for the rows to come, of weight 1
        std::uint64_t const most = highest_weight(limit_);
        if (limit_ == Limit::none || limit_ == Limit::small)
            return static_cast<Count>(pick(1, most));
        // One of more than half of the limit is within it, two together are beyond.
        std::uint64_t const wanted = !one_in(4) ? pick(most / 2, most - 1) : most / pick(1, 3) + pick(0, 4) - 2;
        std::uint64_t const room = kMaxRows - std::min<std::uint64_t>(kMaxRows, total + kLeftFree);
        return static_cast<Count>(std::max<std::uint64_t>(1, std::min(wanted, room)));
    }

    static constexpr std::size_t kRemembered = 64;

    std::mt19937_64 random_;
    std::vector<std::vector<float>> remembered_;
    std::vector<Kind> kinds_;
    std::vector<std::uint32_t> n_categories_;
    Label n_classes_ = 1;
    Limit limit_ = Limit::none;
    bool is_skewed_ = false;
    bool has_heavy_rows_ = false;
    std::vector<std::uint32_t> class_weights_;
    Params params_;
    TargetKind target_kind_ = TargetKind::none;
    Target usual_target_ = 0;
    Tuning tuning_;
    RowId next_id_ = -5;
};

}  // namespace deciduous
