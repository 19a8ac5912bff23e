#include "predict/flat_tree.h"

#include "base/room.h"
#include "predict/leaf_shares.h"

namespace deciduous {

FlatTree::FlatTree(Tree const& tree, std::size_t n_classes, std::span<std::uint32_t const> class_weights) {
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
        auto const number = static_cast<Fork::Link>(place / n_classes);  // NOLINT(*.DivideZero): there are classes
        leaf_shares_.resize(place + n_classes, 0.0);
        add_leaf_shares(counts, class_weights, &leaf_shares_[place]);
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
