#include "predict/flat_tree.h"

#include <bit>

#include "base/keyed_hash.h"
#include "base/room.h"

namespace deciduous {

namespace {

// The numbers of leaves as they are met. Those with rows of the same single class are one.
class LeavesByShares {
public:
    LeavesByShares(Tree const& tree, std::size_t n_classes, LeafValues const& values, WipedVector<double>& shares)
        : tree_(tree), values_(values), shares_(shares), pure_(n_classes, kLeafMark) {}

    Fork::Link operator()(Node const& leaf) {
        std::size_t const n_classes = pure_.size();
        auto const counts = tree_.counts(leaf);
        std::size_t n_present = 0;
        Label last = 0;
        for (Label y = 0; y < n_classes; ++y) {
            n_present += counts[y] > 0 ? 1 : 0;
            last = counts[y] > 0 ? y : last;
        }
        if (n_present == 1 && pure_[last] != kLeafMark)
            return pure_[last];
        std::size_t const place = shares_.size();
        auto const number = static_cast<Fork::Link>(place / n_classes);  // NOLINT(*.DivideZero): there are classes
        shares_.resize(place + n_classes, 0.0);
        values_.add(tree_, leaf, &shares_[place]);
        if (n_present == 1)
            pure_[last] = number;
        return number;
    }

private:
    Tree const& tree_;
    LeafValues values_;
    WipedVector<double>& shares_;
    std::vector<Fork::Link> pure_;  // the leaf for rows of a single class, by class
};

// The same in a regression forest, where those of one mean are one: targets often repeat.
class LeavesByMean {
public:
    LeavesByMean(Tree const& tree, LeafValues const& values, WipedVector<double>& means)
        : tree_(tree), values_(values), means_(means), numbers_(std::bit_ceil(tree.n_nodes() + 1), kLeafMark) {}

    Fork::Link operator()(Node const& leaf) {
        double mean = 0.0;
        values_.add(tree_, leaf, &mean);
        std::size_t place = keyed_hash(key_, std::bit_cast<std::uint64_t>(mean));
        for (;; ++place) {
            Fork::Link& number = numbers_[place & (numbers_.size() - 1)];
            if (number == kLeafMark) {
                number = static_cast<Fork::Link>(means_.size());
                means_.push_back(mean);
            }
            if (means_[number] == mean)
                return number;
        }
    }

private:
    Tree const& tree_;
    LeafValues values_;
    WipedVector<double>& means_;
    HashKey key_ = process_key();
    std::vector<Fork::Link> numbers_;  // where a mean was put that has this hash, or one before it
};

}  // namespace

FlatTree::FlatTree(Tree const& tree, std::size_t n_values, LeafValues const& values) {
    forks_.reserve(tree.n_nodes() / 2 + tree.n_nodes() / 16 + n_values);  // most leaves are of a single class
    Fork::Link const root =
        values.are_means()
            ? append_splits(tree, Tree::kRoot, LeavesByMean(tree, values, leaf_shares_), forks_)
            : append_splits(tree, Tree::kRoot, LeavesByShares(tree, n_values, values, leaf_shares_), forks_);
    first_leaf_ = static_cast<Fork::Link>(forks_.size());
    auto const settled = [&](Fork::Link link) { return link < kLeafMark ? link : link - kLeafMark + first_leaf_; };
    for (Fork& fork : forks_) {
        fork.left = settled(fork.left);
        fork.right = settled(fork.right);
    }
    root_ = settled(root);
    std::size_t const n_leaves = leaf_forks(values) == LeafForks::one ? 1 : leaf_shares_.size() / n_values;
    for (std::size_t i = 0; i < n_leaves; ++i)
        forks_.push_back(Fork::leaf(static_cast<Fork::Link>(first_leaf_ + i)));
    trim(forks_);
    trim(leaf_shares_);
}

}  // namespace deciduous
