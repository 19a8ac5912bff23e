// A node of a tree, and where it stands.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/types.h"

namespace deciduous {

enum class NodeKind : std::uint32_t { leaf, random, greedy, unbuilt };
enum class Side : std::uint32_t { left = kLeft, right = kRight };

// 16 bytes. Children are allocated in pairs, so one link leads to both.
struct Node {
    NodeKind kind : 2 = NodeKind::leaf;
    std::uint32_t has_alternates : 1 = 0;      // split
    std::uint32_t leads_to_postponed : 1 = 0;  // split: if not, nothing was postponed here and below
    Attribute attribute : kAttributeBits = 0;  // split
    std::uint32_t threshold_or_n = 0;          // split: threshold; leaf and unbuilt: number of rows
    std::uint32_t link = kNone;  // split: left child, the right one follows; leaf and unbuilt: block of counts and rows
    std::uint32_t stats = kNone;  // split: its statistics, if any

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    [[nodiscard]] bool is_split() const { return kind == NodeKind::random || kind == NodeKind::greedy; }
    [[nodiscard]] Value threshold() const { return threshold_or_n; }
    [[nodiscard]] Count n_rows() const { return threshold_or_n; }
    [[nodiscard]] NodeIndex child(Side side) const { return link + static_cast<NodeIndex>(side); }
};
static_assert(sizeof(Node) == 16);

// Where a node stands: all that its subtree depends on beside its rows.
struct NodePath {
    std::uint32_t depth;
    Key key;
    [[nodiscard]] NodePath child(Side side) const { return {depth + 1, hash(key, static_cast<std::uint64_t>(side))}; }
};

}  // namespace deciduous
