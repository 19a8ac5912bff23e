// Random nodes of a regression forest, whose only candidate wins whatever its score is.
#include <doctest/doctest.h>

#include <vector>

#include "target_node.h"
#include "tree/consistency.h"
#include "tree/grow.h"

using namespace deciduous;

TEST_CASE("a random node of few rows is grown after greedy ones of sums that are large") {
    // Two random levels: below the root, heavy rows are at the left, whose greedy nodes are grown first.
    std::vector<TargetRow> rows;
    for (int i = 0; i < 40; ++i)
        rows.push_back({{static_cast<float>(i) / 40}, i % 2 == 0 ? kMaxTarget : kMaxTarget - i, 1U << 23});
    for (int i = 0; i < 40; ++i)
        rows.push_back({{9 + static_cast<float>(i) / 40}, i});
    Params params;
    params.criterion = Criterion::squared_error;
    params.random_depth = 2;
    Tuning const tuning;
    TargetNode const node(rows, {0}, tuning, Key{0});
    TreeContext const context{params, tuning, node.data(), 1, {}};
    ThreadScratch scratch(1);
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        Tree tree(root_key(seed, 0), 1);
        RowGroup all;
        group_by_class(node.data().slots(), node.data().labels(), 1, all);
        Grower(context, scratch).grow(tree, Tree::kRoot, {all.slots, all.ends}, tree.root());
        CHECK(tree.node(Tree::kRoot).kind == NodeKind::random);
        CHECK_FALSE(find_inconsistency(tree, node.data().slots(), context, scratch));
    }
}
