// How rows go down trees, and what they find there: the one loop that does it, for trees as they are and for trees that
// are laid out for it.
//
// Several rows go side by side: while one waits for its next node to come from memory, the others go on. A row that has
// arrived stays where it is until all have, so no step depends on a question that the processor would have to guess.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "base/types.h"
#include "data/schema.h"
#include "predict/dense_rows.h"

namespace deciduous {

inline constexpr std::size_t kRowsSideBySide = 10;  // as many as common processors have registers for

// Fewer rows go one by one: the values of a block would take longer to write than the walk gains.
inline constexpr std::size_t kFewestSideBySide = 3;

// The number of a node where a walk is; as wide as an address, so that no step has to widen it.
using WalkLink = std::size_t;

// Where the rows of a block arrive. A tree has
//   root()                   where they start,
//   next<kRows>(link, row)   where a row goes from there, its value of attribute a being row[a * kRows]; a leaf leads
//                            back to itself,
//   are_leaves(links)        whether all of them are leaves.
template <std::size_t kRows, typename WalkedTree>
std::array<WalkLink, kRows> leaves_of(WalkedTree const& tree, Value const* block) {
    asm("" : "+r"(block));  // in one register: else compilers may keep an address for each row
    std::array<WalkLink, kRows> links;
    links.fill(tree.root());
    do {
        for (int step = 0; step < 2; ++step)
            for (std::size_t i = 0; i < kRows; ++i)
                links[i] = tree.template next<kRows>(links[i], block + i);
    } while (!tree.are_leaves(links));
    return links;
}

// Adds the class shares of the leaves where rows in blocks of kRows arrive, tree after tree. A tree has, besides,
//   add_shares(leaf, n_classes, shares)   which adds those of a leaf,
//   fetcher(n_rows, rows_per_step)        whose step() brings a part of it into the cache while so many rows walk down
//                                         the tree before it.
template <std::size_t kRows, typename WalkedTree, typename NumberOfClasses>
void add_shares_of_blocks(std::span<WalkedTree const> trees, DenseRows const& rows, NumberOfClasses n_classes,
                          double* shares) {
    for (std::size_t t = 0; t < trees.size(); ++t) {
        auto fetcher = trees[(t + 1) % trees.size()].fetcher(rows.n_rows(), kRows);
        for (std::size_t begin = 0; begin < rows.n_rows(); begin += kRows) {
            fetcher.step();
            auto const leaves = leaves_of<kRows>(trees[t], rows.block(begin / kRows));
            std::size_t const n = std::min(kRows, rows.n_rows() - begin);
            for (std::size_t i = 0; i < n; ++i)
                trees[t].add_shares(leaves[i], n_classes, shares + (begin + i) * n_classes);
        }
    }
}

// Adds the class shares of the leaves where the rows arrive, tree after tree, to those of the rows.
template <typename WalkedTree>
void add_shares_of_rows(std::span<WalkedTree const> trees, Matrix const& rows, Schema const& schema,
                        std::size_t n_classes, std::size_t n_threads, std::span<double> shares) {
    std::size_t const rows_per_block = rows.n_rows < kFewestSideBySide ? 1 : kRowsSideBySide;
    for_dense_chunks(rows, schema, rows_per_block, n_threads, [&](DenseRows const& dense, std::size_t begin) {
        double* const its_shares = shares.data() + begin * n_classes;
        if (rows_per_block == 1)
            add_shares_of_blocks<1>(trees, dense, n_classes, its_shares);
        else if (n_classes == 2)  // as in most forests: nothing has to be counted then
            add_shares_of_blocks<kRowsSideBySide>(trees, dense, std::integral_constant<std::size_t, 2>{}, its_shares);
        else
            add_shares_of_blocks<kRowsSideBySide>(trees, dense, n_classes, its_shares);
    });
}

}  // namespace deciduous
