// Everything that trades memory against time, in one place. None of it may ever change a forest; tests vary all of it.
#pragma once

#include <cstdint>

namespace deciduous {

struct Tuning {
    // Splits over fewer rows keep no statistics: deciding again from their rows is as fast, and most nodes are small.
    // Nor do those whose rows are kept as sets of bits, see below.
    std::uint32_t min_cached_rows = 24;
    // Nor do splits whose statistics would take more memory than this for each of their rows.
    std::uint32_t max_bytes_per_row = 6;
    std::uint32_t max_bytes_per_row_with_target = 12;
    // Valid candidates cached beyond the k sampled ones, so that an invalidated one has a successor at hand.
    std::uint32_t reserve = 1;

    // Files have no statistics, and a new class makes them void. Those of splits over at least this many rows are then
    // made in idle times; smaller ones get theirs when the first row passes.
    std::uint32_t min_settled_rows = 500;

    // Children of splits over at least this many rows are set aside when the split loses, as long as all that is set
    // aside in a tree has at most this many times the rows of the forest.
    std::uint32_t min_alternate_rows = 2000;
    double max_alternate_share = 1.5;
    // A split looks at its rows where one in so many changes at once, rather than let its statistics follow, so that
    // a large batch takes little longer than a fit.
    std::uint32_t rows_per_change = 16;
    // A batch of more rows than this drops what is set aside: it would make almost every change twice.
    std::uint32_t max_batch_beside_alternates = 16;
    // A lazy forest leaves splits without statistics unbuilt where they are over so many rows: fewer decide as fast as
    // they can be put off, and more would take long to grow again.
    std::uint32_t min_postponed_rows = 33;
    std::uint32_t max_postponed_rows = 4096;

    // At most this many rows, 64 at the most, and classes are kept as sets of bits.
    std::uint32_t max_small_rows = 64;
    std::uint32_t max_small_classes = 32;
    // The bits of attributes of two values are gathered for at most this many rows.
    std::uint32_t max_rows_with_bits = 1U << 18;
    // Sorting the rows takes about as long as looking so many candidates up in them, or one for so many rows.
    std::uint32_t look_ups_per_sort = 80;
    std::uint32_t rows_per_look_up = 10;
    // In a regression forest candidates are looked up in the rows where there are at least this many for each.
    std::uint32_t rows_per_target_look_up = 20;
    // Codes of a column are counted where there are at least this many rows for each.
    std::uint32_t rows_per_code = 2;

    // Columns of at most this many distinct values, 256 at the most, are kept as a byte per row with a dictionary.
    std::uint32_t max_codes = 256;
    // Categorical columns of at most this many categories keep a bit for each of them and row.
    std::uint32_t max_categories_with_bits = 128;
    // Values of rows that come or go are laid out for all trees if they are at most this many.
    std::uint32_t max_laid_out_values = 1U << 22;
    // Fewer rows are taken in by a single thread.
    std::uint32_t min_rows_for_threads = 256;
    // Memory that nobody uses any more, as a share of what is in use, at which a tree or the rows are laid out anew:
    // less of it takes more time, about its inverse for each node or row that changes.
    double max_waste = 0.25;
};

}  // namespace deciduous
