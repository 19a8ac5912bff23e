// The cuts and candidates of a node of a regression forest, looked up in its rows and found by sorting them.
#include "split/target_scan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "split/target_look_ups.h"
#include "target_node.h"

using namespace deciduous;

namespace {

constexpr std::uint32_t kCategories = 5;
std::vector<std::uint32_t> const kColumns = {0, 0, kCategories};
std::vector<std::uint32_t> const kOneHotColumns(2 + kCategories, 0);

// The first column may have few values, the second one has many, and the third one is categorical.
std::vector<TargetRow> hostile_rows(std::mt19937& random) {
    std::uint32_t const first_kind = random() % 3;
    HostileVotes votes(random);
    std::vector<TargetRow> rows(3 + random() % 1000);
    for (TargetRow& row : rows)
        row = {
            {hostile_value(random, first_kind), hostile_value(random, 3), static_cast<float>(random() % kCategories)},
            votes.target(),
            votes.weight()};
    return rows;
}

std::vector<TargetRow> one_hot(std::vector<TargetRow> rows) {
    for (TargetRow& row : rows) {
        float const category = row.x.back();
        row.x.pop_back();
        for (std::uint32_t i = 0; i < kCategories; ++i)
            row.x.push_back(category == static_cast<float>(i) ? 1.0F : 0.0F);
    }
    return rows;
}

Tuning always_looking_up() {
    Tuning tuning;
    tuning.rows_per_code = 0;
    tuning.rows_per_target_look_up = 0;
    return tuning;
}

// No column is coded, either, but for those of a single value.
Tuning always_sorting() {
    Tuning tuning;
    tuning.max_codes = 1;
    tuning.rows_per_code = std::numeric_limits<std::uint32_t>::max();
    tuning.rows_per_target_look_up = std::numeric_limits<std::uint32_t>::max();
    return tuning;
}

// What the scan of an attribute that varies offers; what it finds for a record stays in the scratch.
TargetNode::Listed scanned(TargetNode const& node, Attribute attribute, ValidRequest const& request,
                           Tuning const& tuning, ScanScratch& scratch) {
    Candidates candidates;
    candidates.start(1);
    REQUIRE(scan_valid_targets(node.rows(), attribute, request, tuning, candidates, scratch) != Finding::constant);
    return node.listed(candidates);
}

// Requires of the cuts that were found that they are those which sorting finds within the same bound, and that so many
// candidates are among them, or all. Which two targets a cut knows depends on the order of the rows.
void require_sorted_cuts(TargetNode const& node, Attribute attribute, FoundTargets const& found, std::size_t n_wanted) {
    ScanScratch scratch;
    find_target_cuts_again(node.rows(), attribute, found.bound, scratch);
    auto const& expected = scratch.targets.cuts;
    REQUIRE(found.cuts.size() == expected.size());
    std::size_t n_candidates = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        TargetCut const& cut = found.cuts[i];
        n_candidates += cut.is_candidate() ? 1 : 0;
        REQUIRE(cut.equals(expected[i]));
        REQUIRE(cut.is_candidate() == expected[i].is_candidate());
        REQUIRE(cut.beside.n_first == node.count_beside(attribute, cut, cut.beside.first));
        if (cut.beside.differ())
            REQUIRE(cut.beside.n_second == node.count_beside(attribute, cut, cut.beside.second));
    }
    if (found.bound != kEverything)
        REQUIRE(n_candidates >= n_wanted);
}

}  // namespace

TEST_CASE("cuts that are looked up are those that sorting the rows finds, and so are the candidates") {
    std::array<std::size_t, 2> n_found{};  // in plain columns and in coded ones
    std::size_t n_pairs = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        auto const rows = hostile_rows(random);
        Tuning tuning = always_looking_up();
        tuning.reserve = random() % 3;
        std::size_t const n_elsewhere = random() % rows.size();
        TargetNode const node(rows, kColumns, tuning, seed, n_elsewhere);
        TargetNode const plain(one_hot(rows), kOneHotColumns, always_sorting(), seed, n_elsewhere);
        if (!two_targets_of(node.rows()).differ())
            continue;  // such a node is a leaf
        Tuning sorting = always_sorting();
        sorting.reserve = tuning.reserve;
        auto const n_thresholds = static_cast<std::uint32_t>(1 + random() % 12);
        for (Attribute attribute = 0; attribute < node.data().n_attributes(); ++attribute) {
            if (node.is_constant(attribute))
                continue;
            ScanScratch scratch;
            ScanScratch scratch_of_sorted;
            auto const expected = scanned(plain, attribute, {n_thresholds, true}, sorting, scratch_of_sorted);
            REQUIRE(scanned(node, attribute, {n_thresholds, true}, tuning, scratch) == expected);
            require_sorted_cuts(plain, attribute, scratch_of_sorted.targets, n_thresholds + tuning.reserve);
            std::vector<Count> at_high;
            bool const is_pair = count_two_valued(node.rows(), attribute, at_high).has_value();
            if (!is_pair)
                require_sorted_cuts(node, attribute, scratch.targets, n_thresholds + tuning.reserve);
            REQUIRE(scanned(node, attribute, {n_thresholds, false}, tuning, scratch) == expected);
            REQUIRE(scanned(plain, attribute, {n_thresholds, false}, sorting, scratch_of_sorted) == expected);

            if (is_pair) {
                ++n_pairs;
                continue;
            }
            scratch.values.gather(node.rows(), attribute);
            if (node.data().numeric_column(attribute)->is_coded())
                ++n_found[1];
            else if (TargetLookUps(node.rows(), attribute, scratch).find(n_thresholds))
                ++n_found[0];
        }
    }
    for (std::size_t const n : n_found)  // or nothing was compared
        CHECK(n > 100);
    CHECK(n_pairs > 100);
}

TEST_CASE("the rows of each of 256 values are counted, however many cuts are wanted") {
    std::vector<TargetRow> rows;
    for (int i = 0; i < 1024; ++i)
        rows.push_back({{static_cast<float>(i % 256)}, i});
    TargetNode const node(rows, {0}, always_looking_up(), 5);
    REQUIRE(node.data().numeric_column(0)->is_coded());
    for (std::uint32_t const n_thresholds : {kAllThresholds, 1U, 100U, 240U, 254U, 255U, 256U}) {
        ScanScratch scratch;
        ScanScratch scratch_of_sorted;
        CHECK(scanned(node, 0, {n_thresholds, true}, always_looking_up(), scratch) ==
              scanned(node, 0, {n_thresholds, true}, always_sorting(), scratch_of_sorted));
        require_sorted_cuts(node, 0, scratch.targets, n_thresholds + always_looking_up().reserve);
    }
}

TEST_CASE("uniform candidates leave the rows at their left that are at or below them, with their targets") {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        TargetNode const node(hostile_rows(random), kColumns, Tuning{}, seed);
        for (Attribute attribute = 0; attribute < node.data().n_attributes(); ++attribute) {
            ScanScratch scratch;
            Candidates candidates;
            candidates.start(1);
            if (scan_uniform_targets(node.rows(), attribute, {3, false}, candidates, scratch) == Finding::constant)
                continue;
            // The same candidates, with what is at the left of each added up by the definition.
            Candidates counted;
            counted.start(1);
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                Candidate const& its = candidates[i];
                Count& n_left = *counted.append(attribute, its.value, its.next, its.rank);
                n_left = 0;
                TargetSum sum = 0;
                for (Slot slot = 0; slot < node.rows().size(); ++slot) {
                    if (node.data().value(slot, attribute) > its.value)
                        continue;
                    n_left += node.data().vote(slot).weight;
                    sum += static_cast<TargetSum>(node.data().vote(slot).weight) * node.data().vote(slot).target;
                }
                counted.set_target_sum(i, sum);
            }
            REQUIRE(node.listed(candidates) == node.listed(counted));
        }
    }
}
