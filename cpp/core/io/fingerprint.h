// The canonical bytes of a forest and their digest (docs/algorithm.md, 2.9).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/blake2b.h"
#include "base/params.h"
#include "data/dataset.h"
#include "tree/tree.h"

namespace deciduous {

// A class, named by its label alone.
using ClassKey = std::array<std::uint8_t, 16>;

struct TreeDigest {
    Digest digest;
    std::size_t n_nodes_hashed = 0;
};

// The digest of a tree without unbuilt nodes. Large nodes remember theirs, so that after a change only the changed
// paths and small subtrees beside them are hashed again.
[[nodiscard]] TreeDigest tree_digest(Tree& tree, Dataset const& data, std::span<ClassKey const> class_keys);

// What the digest of a forest says beside its trees.
struct DigestHead {
    Attribute n_attributes;
    std::uint64_t n_rows;
};

// The digest of the forest from those of its trees. The classes are those that have rows, in any order.
[[nodiscard]] Digest forest_digest(DigestHead const& head, std::vector<ClassKey> classes,
                                   std::span<Digest const> trees);

// The same for a regression forest.
[[nodiscard]] Digest regression_digest(DigestHead const& head, TargetScale const& scale, std::span<Digest const> trees);

}  // namespace deciduous
