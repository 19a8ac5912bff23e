// Valid candidates from the table of all values.
#pragma once

#include "split/attribute_scan.h"

namespace deciduous {

class TableScan : public AttributeScan {
public:
    explicit TableScan(AttributeScan const& scan) : AttributeScan(scan) {}

    // From the values that were gathered.
    Finding take_values(ValidRequest const& request, Candidates& candidates);

    // From the codes of the column.
    Finding take_codes(Column const& column, ValidRequest const& request, Candidates& candidates);

    // For recounts: whether the attribute has two values, with their rows, or its cuts within a bound.
    bool find_pair_again();
    void find_cuts_again(bool are_boundaries, Rank bound);

private:
    Finding take_table(ValidRequest const& request, Candidates& candidates);
    void note_pair();
    void find_valid();
    void sample(ValidRequest const& request);
    void find_valid_ranks();
    void mark_ranks_up_to(Rank last);
    void offer(Candidates& candidates);
    void choose_cuts(std::uint32_t n);
    void take_cuts(bool are_boundaries, Rank bound);
    void append_cuts(std::span<std::uint32_t const> places);
    [[nodiscard]] bool mark_within(Rank bound);

    [[nodiscard]] Table& table() { return scratch_.table; }
    [[nodiscard]] std::size_t n_words() { return n_words_of(table().size()); }
    [[nodiscard]] std::size_t n_cuts();

    std::size_t n_valid_ = 0;
    std::size_t n_lower_marked_ = 0;  // of the valid ones
    std::size_t n_sampled_ = 0;
};

}  // namespace deciduous
