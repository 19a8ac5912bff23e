// Trees as they are, and laid out, against a plain walk.
#include "predict/walk.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "predict/flat_tree.h"
#include "predict/grown_tree.h"
#include "predict/leaf_values.h"

using namespace deciduous;

namespace {

std::vector<std::uint32_t> const kColumns = {0, 0, 4};  // the last one categorical
std::vector<std::uint32_t> const kWeights = {1, 5, 2};
constexpr std::size_t kClasses = 3;
std::vector<std::uint32_t> const kNoRows(kClasses, 0);  // of any class

// Splits a node at random, and what is below it; leaves have some counts.
void grow_at_random(Tree& tree, NodeIndex index, std::uint32_t depth, std::mt19937& random) {
    if (depth == 0 || random() % 6 == 0) {
        std::vector<Count> const counts = {1 + static_cast<Count>(random() % 3), static_cast<Count>(random() % 3),
                                           static_cast<Count>(random() % 2)};
        tree.make_leaf(index, {counts, {}, kNoRows});
        return;
    }
    auto const attribute = static_cast<Attribute>(random() % 6);
    auto const number = static_cast<float>(static_cast<int>(random() % 9) - 4);
    tree.make_split(index, NodeKind::greedy, {.attribute = attribute, .threshold = to_value(number / 4)});
    for (Side const side : {Side::left, Side::right})
        grow_at_random(tree, tree.node(index).child(side), depth - 1, random);
}

std::vector<Tree> random_trees(std::size_t n, std::uint32_t depth) {
    std::mt19937 random(5);
    std::vector<Tree> trees;
    for (std::size_t i = 0; i < n; ++i) {
        trees.emplace_back(Key{i}, kClasses);
        grow_at_random(trees.back(), Tree::kRoot, depth, random);
    }
    return trees;
}

std::vector<float> random_rows(std::size_t n) {
    std::mt19937 random(6);
    std::vector<float> x;
    for (std::size_t i = 0; i < n; ++i) {
        x.push_back(static_cast<float>(static_cast<int>(random() % 9) - 4) / 4);  // a threshold now and then
        x.push_back(random() % 7 == 0 ? to_float(kMissing) : static_cast<float>(random() % 100) / 50 - 1);
        x.push_back(static_cast<float>(random() % 4));
    }
    return x;
}

// As docs/algorithm.md has it: a row goes left if its value is at most the threshold.
std::vector<double> plainly_walked(std::vector<Tree> const& trees, Schema const& schema, Matrix const& rows) {
    std::vector<double> shares(rows.n_rows * kClasses, 0.0);
    for (Tree const& tree : trees)
        for (std::size_t i = 0; i < rows.n_rows; ++i) {
            NodeIndex index = Tree::kRoot;
            while (tree.node(index).is_split()) {
                Node const node = tree.node(index);
                bool const goes_left = schema.value(rows.row(i), node.attribute) <= node.threshold();
                index = node.child(goes_left ? Side::left : Side::right);
            }
            add_leaf_shares(tree.counts(tree.node(index)), kWeights, &shares[i * kClasses]);
        }
    return shares;
}

template <typename WalkedTree>
std::vector<double> walked(std::vector<WalkedTree> const& trees, Schema const& schema, Matrix const& rows,
                           std::size_t n_threads) {
    std::vector<double> shares(rows.n_rows * kClasses, 0.0);
    add_shares_of_rows<WalkedTree>(trees, rows, schema, kClasses, n_threads, shares);
    return shares;
}

}  // namespace

TEST_CASE("a leaf predicts the shares of its classes, by their weights") {
    std::vector<Count> const counts = {3, 1, 0};
    std::vector<double> shares(3, 0.0);
    add_leaf_shares(counts, {}, shares.data());
    CHECK(shares == std::vector{0.75, 0.25, 0.0});
    add_leaf_shares(counts, kWeights, shares.data());
    CHECK(shares == std::vector{0.75 + 0.375, 0.25 + 0.625, 0.0});
}

TEST_CASE("rows arrive where a plain walk leads, in trees as they are and in flat ones") {
    Schema const schema(kColumns);
    Dataset const data(schema, Tuning{});
    LeafValues const values(data, kWeights);
    for (std::uint32_t const depth : {0, 1, 8}) {
        auto const trees = random_trees(7, depth);
        std::vector<GrownTree> grown;
        std::vector<FlatTree> flat;
        std::vector<FlatTreeView<LeafForks::own>> views;
        for (Tree const& tree : trees) {
            grown.emplace_back(tree, values);
            flat.emplace_back(tree, kClasses, values);
        }
        for (FlatTree const& tree : flat)
            views.push_back(tree.view<LeafForks::own>());
        for (std::size_t const n_rows : {0, 1, 2, 3, 9, 10, 11, 500}) {
            auto const x = random_rows(n_rows);
            Matrix const rows{x.data(), n_rows, kColumns.size()};
            auto const expected = plainly_walked(trees, schema, rows);
            CHECK(walked(grown, schema, rows, 1) == expected);
            CHECK(walked(views, schema, rows, 1) == expected);
            CHECK(walked(views, schema, rows, 3) == expected);
        }
    }
}

TEST_CASE("in a flat tree all leaves with rows of the same single class are one") {
    Tree tree(Key{1}, 2);
    tree.make_split(Tree::kRoot, NodeKind::random, {.attribute = 0, .threshold = to_value(0)});
    std::vector<Count> const counts = {4, 0};
    for (Side const side : {Side::left, Side::right})
        tree.make_leaf(tree.node(Tree::kRoot).child(side), {counts, {}, kNoRows});
    Dataset const data(Schema(kColumns), Tuning{});
    FlatTree const flat(tree, 2, {data, {}});
    auto const view = flat.view<LeafForks::own>();
    Value const low = to_value(-1);
    Value const high = to_value(1);
    CHECK(leaves_of<1>(view, &low) == leaves_of<1>(view, &high));
}
