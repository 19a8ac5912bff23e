// The forest checks itself: every stored statistic against a recount, and trees against each other.
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "stats/split_stats.h"
#include "tree/grow.h"
#include "tree/tree.h"

namespace deciduous {

// Debug builds recount the statistics of every node that an update keeps.
#ifdef DECIDUOUS_CHECKS
inline constexpr bool kChecksStatistics = true;
#else
inline constexpr bool kChecksStatistics = false;
#endif

// The first disagreement between a node's statistics and its rows, or nothing.
[[nodiscard]] std::optional<std::string> find_inconsistency(SplitStats const& stats, NodeRows const& node,
                                                            NodePath path, TreeContext const& context,
                                                            ThreadScratch& scratch);

// Ends the program if the statistics disagree with the rows. For debug builds.
void require_consistent(SplitStats const& stats, NodeRows const& node, NodePath path, TreeContext const& context,
                        ThreadScratch& scratch);

// The first disagreement between a tree and the rows it should hold (ascending), or nothing. Costs as much as a fit.
[[nodiscard]] std::optional<std::string> find_inconsistency(Tree const& tree, std::span<Slot const> rows,
                                                            TreeContext const& context, ThreadScratch& scratch);

// Where two trees without unbuilt nodes over the same rows differ first, in words, or nothing.
[[nodiscard]] std::optional<std::string> find_difference(Tree const& stored, Tree const& retrained);

}  // namespace deciduous
