// Quantiles of targets in a forest that was made by hand.
#include "predict/quantiles.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "target_node.h"

using namespace deciduous;

namespace {

std::vector<std::uint32_t> const kColumns = {0};

void make_leaf(Tree& tree, NodeIndex index, Dataset const& data, std::vector<Slot> const& slots) {
    Count n = 0;
    for (Slot const slot : slots)
        n += data.vote(slot).weight;
    std::vector<Count> const counts = {n};
    std::vector<std::uint32_t> const ends = {static_cast<std::uint32_t>(slots.size())};
    tree.make_leaf(index, {counts, slots, ends});
}

Tree single_leaf(Dataset const& data, std::vector<Slot> const& slots) {
    Tree tree(Key{1}, 1);
    make_leaf(tree, Tree::kRoot, data, slots);
    return tree;
}

// Rows up to zero go left.
Tree stump(Dataset const& data, std::vector<Slot> const& left, std::vector<Slot> const& right) {
    Tree tree(Key{2}, 1);
    tree.make_split(Tree::kRoot, NodeKind::greedy, {.attribute = 0, .threshold = to_value(0)});
    make_leaf(tree, tree.node(Tree::kRoot).child(Side::left), data, left);
    make_leaf(tree, tree.node(Tree::kRoot).child(Side::right), data, right);
    return tree;
}

// The quantiles of one row.
std::vector<double> quantiles(std::vector<Tree const*> const& trees, Dataset const& data, float x,
                              std::vector<double> const& shares) {
    return quantiles_of_rows(trees, data, {&x, 1, 1}, shares, 1);
}

// Four rows, whose targets do not ascend with their slots.
TargetNode four_rows(Count weight_of_first = 1) {
    return {{{{-2}, 40, weight_of_first}, {{-1}, 10}, {{1}, 30}, {{2}, 20}}, kColumns, Tuning{}, Key{1}};
}

}  // namespace

TEST_CASE("a quantile is the lowest target that has its share of the rows together with those below") {
    TargetNode const node = four_rows();
    Tree const tree = single_leaf(node.data(), {0, 1, 2, 3});
    CHECK(quantiles({&tree}, node.data(), 0, {0.0, 0.25, 0.250001, 0.5, 0.75, 0.750001, 1.0}) ==
          std::vector<double>{10, 10, 20, 20, 30, 40, 40});
}

TEST_CASE("only the rows of the leaf count where a row arrives") {
    TargetNode const node = four_rows();
    Tree const tree = stump(node.data(), {0, 1}, {2, 3});
    CHECK(quantiles({&tree}, node.data(), -5, {0.0, 0.5, 1.0}) == std::vector<double>{10, 10, 40});
    CHECK(quantiles({&tree}, node.data(), 0, {0.0, 0.5, 1.0}) == std::vector<double>{10, 10, 40});
    CHECK(quantiles({&tree}, node.data(), 5, {0.0, 0.5, 1.0}) == std::vector<double>{20, 20, 30});
    CHECK(quantiles({&tree}, node.data(), to_float(kMissing), {0.5}) == std::vector<double>{20});
}

TEST_CASE("a row of weight 3 counts as three rows") {
    TargetNode const node = four_rows(3);
    Tree const tree = single_leaf(node.data(), {0, 1, 2, 3});
    CHECK(quantiles({&tree}, node.data(), 0, {0.16, 0.34, 0.5, 0.51}) == std::vector<double>{10, 30, 30, 40});
}

TEST_CASE("every tree has the same say, however many rows are in its leaf") {
    TargetNode const node = four_rows();
    Tree const all = single_leaf(node.data(), {0, 1, 2, 3});
    Tree const two = stump(node.data(), {0, 1}, {2, 3});
    // At the left: 10 and 40 weigh 1/2 + 1/4 each, 20 and 30 weigh 1/4 each; of all that, two.
    CHECK(quantiles({&all, &two}, node.data(), -5, {0.375, 0.376, 0.5, 0.501, 0.625, 0.626}) ==
          std::vector<double>{10, 20, 20, 30, 30, 40});
}

TEST_CASE("shares of leaves that are no powers of two are rounded down, and add up nevertheless") {
    TargetNode const node({{{0}, 1}, {{0}, 2}, {{0}, 3}}, kColumns, Tuning{}, Key{1});
    Tree const tree = single_leaf(node.data(), {0, 1, 2});
    double const third = 1.0 / 3;
    CHECK(quantiles({&tree}, node.data(), 0, {third, 0.33334, 2 * third, 0.66667, 1.0}) ==
          std::vector<double>{1, 2, 2, 3, 3});
}

TEST_CASE("shares that are no doubles are not missed by a rounding, however many trees there are") {
    TargetNode const node({{{0}, 1}, {{0}, 2}, {{0}, 3}, {{0}, 4}, {{0}, 5}}, kColumns, Tuning{}, Key{1});
    Tree const tree = single_leaf(node.data(), {0, 1, 2, 3, 4});
    for (std::size_t const n_trees : {1, 3, 7, 10, 100, 1000})
        CHECK(quantiles(std::vector(n_trees, &tree), node.data(), 0, {0.2, 0.4, 0.6, 0.1 + 0.7, 1 - 0.2, 1.0}) ==
              std::vector<double>{1, 2, 3, 4, 4, 5});
}

TEST_CASE("targets at the limits and rows as heavy as can be are no matter") {
    TargetNode const node({{{0}, kMaxTarget, kMaxRows - 2}, {{0}, -kMaxTarget, 1}}, kColumns, Tuning{}, Key{1});
    Tree const tree = single_leaf(node.data(), {0, 1});
    std::vector<Tree const*> const trees(1000, &tree);
    auto const limit = static_cast<double>(kMaxTarget);
    CHECK(quantiles(trees, node.data(), 0, {0.0, 1e-10, 1e-8, 1.0}) ==
          std::vector<double>{-limit, -limit, limit, limit});
}

TEST_CASE("many rows have the quantiles that each has alone, in their order, with any number of threads") {
    TargetNode const node = four_rows();
    Tree const tree = stump(node.data(), {0, 1}, {2, 3});
    std::vector<Tree const*> const trees = {&tree};
    std::vector<double> const shares = {0.1, 0.9};
    std::vector<float> x(1000);
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = i % 3 == 0 ? 1.0F : -1.0F;
        for (double const quantile : quantiles(trees, node.data(), x[i], shares))
            expected.push_back(quantile);
    }
    for (std::size_t const n_threads : {1, 3})
        CHECK(quantiles_of_rows(trees, node.data(), {x.data(), x.size(), 1}, shares, n_threads) == expected);
}
