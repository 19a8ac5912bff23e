// Params define the forest; Tuning only says how it is kept.
#pragma once

#include <cstdint>

namespace deciduous {

enum class Criterion : std::uint8_t { gini, entropy };
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
    std::uint64_t seed = 0;
};

// Trades memory against time. None of it may ever change a forest; tests vary all of it.
struct Tuning {
    // Splits over fewer rows keep no statistics: deciding again from their rows is as fast, and most nodes are small.
    std::uint32_t min_cached_rows = 24;
    // Nor do splits whose statistics would take more memory than this for each of their rows.
    std::uint32_t max_bytes_per_row = 5;
    // Children of splits over at least this many rows are set aside when the split loses, as long as all that is set
    // aside in a tree has at most this many times the rows of the forest.
    std::uint32_t min_alternate_rows = 2000;
    double max_alternate_share = 1.5;
    // A lazy forest leaves splits over at most this many rows unbuilt where it would have to look at the rows to
    // decide: most of them stay what they were, but finding out takes longer than all else in a deletion.
    std::uint32_t max_postponed_rows = 4096;
    // Below this many rows sorting a column beats two passes of hash sampling.
    std::uint32_t min_sampled_rows = 48;
    // Columns of at most this many distinct values are kept as a byte per row with a dictionary.
    std::uint32_t max_codes = 256;
    // Valid candidates cached beyond the k sampled ones, so that an invalidated one has a successor at hand.
    std::uint32_t reserve = 4;
};

}  // namespace deciduous
