// Params define the forest.
#pragma once

#include <cstdint>

namespace deciduous {

enum class Criterion : std::uint8_t { gini, entropy, squared_error };
enum class CandidateScheme : std::uint8_t { valid, uniform };

inline constexpr std::uint32_t kAllThresholds = 0;  // Params::n_thresholds: no sampling
inline constexpr std::uint32_t kMaxDepth = 256;     // bounds the recursion over a tree

// Plain values, already validated. Together with the rows they determine every byte of the forest.
struct Params {
    std::uint32_t n_trees = 100;
    std::uint32_t trees_per_row = 100;
    std::uint32_t max_depth = 20;
    std::uint32_t random_depth = 0;
    std::uint32_t n_thresholds = 25;
    std::uint32_t max_features = 1;
    std::uint32_t min_samples_split = 2;
    std::uint32_t min_samples_leaf = 1;
    CandidateScheme candidates = CandidateScheme::valid;
    Criterion criterion = Criterion::gini;
    double stability = 0;
    std::uint64_t seed = 0;

    [[nodiscard]] bool is_regression() const { return criterion == Criterion::squared_error; }
};

// Which of the trees of a forest a process holds. The bytes of a tree are the same in any range.
struct TreeRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;  // the one after the last

    [[nodiscard]] std::uint32_t size() const { return end - first; }
    [[nodiscard]] bool contains(std::uint32_t tree) const { return first <= tree && tree < end; }
};

// What the targets of a regression forest in fixed point stand for: offset + 2^exponent times the number.
struct TargetScale {
    std::int32_t exponent = 0;
    double offset = 0;
};

}  // namespace deciduous
