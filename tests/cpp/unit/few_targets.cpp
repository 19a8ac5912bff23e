// The split of few rows of a regression forest, found at once, and by listing all candidates of the rows.
#include "split/few_targets.h"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "split/target_scan.h"
#include "target_node.h"

using namespace deciduous;

namespace {

constexpr std::uint32_t kNumeric = 4;
constexpr std::uint32_t kCategories = 3;
constexpr Sampling kSampling{false, CandidateScheme::valid, kNumeric + kCategories, 63};

// Columns of all kinds of values, and a categorical one; targets that tie, or are as large as they can be.
std::vector<TargetRow> hostile_rows(std::mt19937& random) {
    HostileVotes votes(random);
    std::vector<TargetRow> rows(2 + random() % 63);
    for (TargetRow& row : rows) {
        for (std::uint32_t column = 0; column < kNumeric; ++column)
            row.x.push_back(hostile_value(random, column));
        row.x.push_back(static_cast<float>(random() % kCategories));
        row.target = votes.target();
    }
    return rows;
}

std::optional<Split> split_of_listed(NodeRows const& node, Count min_samples_leaf) {
    ScanScratch scratch;
    Candidates candidates;
    candidates.start(1);
    for (Attribute attribute = 0; attribute < node.data.n_attributes(); ++attribute)
        (void)scan_attribute(node, attribute, kSampling, false, {}, candidates, scratch);
    Scoring const scoring{Criterion::squared_error, min_samples_leaf, node.totals, {}, sum_of_targets(node)};
    auto const its_rank = [&](Candidate const& its) { return rank_of(its, node.keys, kNoClass, kSampling); };
    auto const choice =
        candidates.choose(scoring, Noise({}, node.key, node.totals, {}), [](Candidate&, Count*) {}, its_rank);
    if (!choice)
        return std::nullopt;
    return split_of(candidates[*choice], candidates.n_left(*choice), node.key, kSampling);
}

}  // namespace

TEST_CASE("the split of few rows is the one that listing all candidates finds, for any set of them") {
    std::size_t n_splits = 0;
    std::size_t n_without = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        auto const rows = hostile_rows(random);
        std::vector<std::uint32_t> columns(kNumeric + 1, 0);
        columns.back() = kCategories;
        TargetNode const whole(rows, columns, {}, seed);
        SmallNode small;
        std::array<std::uint32_t, 1> const ends = {static_cast<std::uint32_t>(rows.size())};
        std::array<Attribute, kNumeric> const numeric = {0, 1, 2, 3};
        (void)small.take(whole.data(), whole.slots(), ends, numeric, {});
        FewTargetsScratch scratch;
        for (int round = 0; round < 8; ++round) {
            RowSet const some = round == 0 ? small.all() : small.all() & (RowSet{random()} << 32 | random());
            std::vector<TargetRow> its_rows;
            for_each_row(some, [&](std::size_t row) { its_rows.push_back(rows[row]); });
            if (its_rows.empty())
                continue;
            TargetNode const node(its_rows, columns, {}, seed);
            auto const min_samples_leaf = static_cast<Count>(random() % 4);
            FewTargets few(whole.data(), small, some, seed, min_samples_leaf, scratch);
            REQUIRE(few.have_one_target() == !two_targets_of(node.rows()).differ());
            if (few.have_one_target())
                continue;
            std::vector<Attribute> pairs;
            for (Attribute attribute = 0; attribute < kNumeric + kCategories; ++attribute) {
                if (node.is_constant(attribute))
                    CHECK((whole.data().row_bits().is_binary(attribute) || !few.take(attribute)));
                else if (whole.data().row_bits().is_binary(attribute))
                    pairs.push_back(attribute);
                else
                    CHECK(few.take(attribute));
            }
            few.take_pairs(pairs);
            auto const found = few.best(kSampling);
            auto const expected = split_of_listed(node.rows(), min_samples_leaf);
            REQUIRE(found.has_value() == expected.has_value());
            ++(found ? n_splits : n_without);
            if (found) {
                CHECK(found->attribute == expected->attribute);
                CHECK(found->threshold == expected->threshold);
                CHECK(found->n_left == expected->n_left);
            }
        }
    }
    CHECK(n_splits > 1000);
    CHECK(n_without > 10);
}
