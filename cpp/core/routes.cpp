#include "routes.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "dense_rows.h"
#include "room.h"

namespace deciduous {

namespace {

using Links = std::array<std::size_t, kRowsSideBySide>;

std::size_t next(Fork const& fork, Value value) {
    // Both are read before one is chosen: else compilers may jump, and processors guess wrong half of the time.
    Fork::Link left = fork.left;
    Fork::Link right = fork.right;
    asm("" : "+r"(left), "+r"(right));
    return value > fork.threshold ? right : left;
}

// Where the rows of a block arrive.
Links leaves_of(Routes const& tree, Value const* block) {
    Fork const* const forks = tree.forks;
    asm("" : "+r"(block));  // in one register: else compilers may keep an address for each row
    Links links;
    links.fill(tree.root);
    do {
        for (int step = 0; step < 2; ++step)
            for (std::size_t i = 0; i < kRowsSideBySide; ++i) {
                Fork const& fork = forks[links[i]];
                links[i] = next(fork, (block + fork.place)[i]);
            }
    } while (std::ranges::min(links) < tree.first_leaf);
    return links;
}

template <typename NumberOfClasses>
void add_block(Routes const& tree, Links const& leaves, std::size_t n_rows, NumberOfClasses n_classes, double* shares) {
    for (std::size_t i = 0; i < n_rows; ++i) {
        double const* const its_shares = tree.leaf_shares + (leaves[i] - tree.first_leaf) * n_classes;
        for (std::size_t y = 0; y < n_classes; ++y)
            shares[i * n_classes + y] += its_shares[y];
    }
}

// Brings the forks of a tree into the cache while rows walk down the one before it.
class Fetcher {
public:
    Fetcher(std::span<Fork const> forks, std::size_t n_steps)
        : forks_(forks), n_per_step_((forks.size() / kForksPerLine) / std::max<std::size_t>(1, n_steps) + 1) {}

    void step() {
        for (std::size_t i = 0; i < n_per_step_ && next_ < forks_.size(); ++i, next_ += kForksPerLine)
            __builtin_prefetch(&forks_[next_], 0, 2);
    }

private:
    static constexpr std::size_t kForksPerLine = 64 / sizeof(Fork);

    std::span<Fork const> forks_;
    std::size_t n_per_step_;
    std::size_t next_ = 0;
};

template <typename NumberOfClasses>
void add_side_by_side(std::span<Routes const> trees, DenseRows const& rows, NumberOfClasses n_classes, double* shares) {
    for (std::size_t t = 0; t < trees.size(); ++t) {
        Fetcher fetcher(trees[(t + 1) % trees.size()].own, rows.n_rows() / kRowsSideBySide);
        for (std::size_t i = 0; i < rows.n_rows(); i += kRowsSideBySide) {
            fetcher.step();
            Links const leaves = leaves_of(trees[t], rows.block(i / kRowsSideBySide));
            add_block(trees[t], leaves, std::min(kRowsSideBySide, rows.n_rows() - i), n_classes,
                      shares + i * n_classes);
        }
    }
}

// Rows in blocks of one.
void add_one_by_one(std::span<Routes const> trees, DenseRows const& rows, std::size_t n_classes, double* shares) {
    for (Routes const& tree : trees)
        for (std::size_t i = 0; i < rows.n_rows(); ++i) {
            Fork::Link link = tree.root;
            while (link < tree.first_leaf) {
                Fork const& fork = tree.forks[link];
                link = rows.block(i)[fork.attribute()] > fork.threshold ? fork.right : fork.left;
            }
            double const* const its_shares = tree.leaf_shares + (link - tree.first_leaf) * n_classes;
            for (std::size_t y = 0; y < n_classes; ++y)
                shares[i * n_classes + y] += its_shares[y];
        }
}

}  // namespace

void add_leaf_shares(std::span<Routes const> trees, Matrix const& rows, Schema const& schema, std::size_t n_classes,
                     std::size_t n_threads, std::span<double> shares) {
    std::size_t const rows_per_block = rows.n_rows < kRowsSideBySide ? 1 : kRowsSideBySide;
    for_dense_chunks(rows, schema, rows_per_block, n_threads, [&](DenseRows const& dense, std::size_t begin) {
        double* const its_shares = shares.data() + begin * n_classes;
        if (rows_per_block == 1)
            add_one_by_one(trees, dense, n_classes, its_shares);
        else if (n_classes == 2)  // as in most forests: nothing has to be counted then
            add_side_by_side(trees, dense, std::integral_constant<std::size_t, 2>{}, its_shares);
        else
            add_side_by_side(trees, dense, n_classes, its_shares);
    });
}

RoutedTree::RoutedTree(Tree const& tree, std::size_t n_classes, AddShares const& add_shares) {
    constexpr Fork::Link kNone = kLeafMark;
    std::vector<Fork::Link> pure(n_classes, kNone);  // the leaf for rows of a single class, by class
    auto const number_of = [&](Node const& leaf) {
        auto const counts = tree.counts(leaf);
        std::size_t n_present = 0;
        Label last = 0;
        for (Label y = 0; y < n_classes; ++y) {
            n_present += counts[y] > 0 ? 1 : 0;
            last = counts[y] > 0 ? y : last;
        }
        if (n_present == 1 && pure[last] != kNone)
            return pure[last];
        std::size_t const place = leaf_shares_.size();
        auto const number = static_cast<Fork::Link>(place / n_classes);
        leaf_shares_.resize(place + n_classes, 0.0);
        add_shares(counts, std::span(leaf_shares_).subspan(place));
        if (n_present == 1)
            pure[last] = number;
        return number;
    };
    forks_.reserve(tree.n_nodes() / 2 + tree.n_nodes() / 16 + n_classes);  // most leaves are of a single class
    Fork::Link const root = append_splits(tree, Tree::kRoot, number_of, forks_);
    first_leaf_ = static_cast<Fork::Link>(forks_.size());
    auto const settled = [&](Fork::Link link) { return link < kLeafMark ? link : link - kLeafMark + first_leaf_; };
    for (Fork& fork : forks_) {
        fork.left = settled(fork.left);
        fork.right = settled(fork.right);
    }
    root_ = settled(root);
    for (std::size_t i = 0; i < leaf_shares_.size() / n_classes; ++i)
        forks_.push_back(Fork::leaf(static_cast<Fork::Link>(first_leaf_ + i)));
    trim(forks_);
    trim(leaf_shares_);
}

}  // namespace deciduous
