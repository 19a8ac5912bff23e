#include "predict/frozen.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"

namespace deciduous {

// ------------------------------------------------------------------------------------------------------- predicting

std::span<double const> FrozenForest::leaf_value(std::size_t number) const {
    return std::span(leaf_values_).subspan(number * n_classes_, n_classes_);
}

// After all splits: a leaf for each leaf value.
void FrozenForest::append_leaves() {
    first_leaf_ = static_cast<Fork::Link>(forks_.size());
    forks_.reserve(forks_.size() + n_leaf_values());
    for (std::size_t i = 0; i < n_leaf_values(); ++i)
        forks_.push_back(Fork::leaf(static_cast<Fork::Link>(first_leaf_ + i)));
}

std::vector<FlatTreeView<LeafForks::own>> FrozenForest::views() const {
    std::vector<FlatTreeView<LeafForks::own>> views;
    views.reserve(trees_.size());
    for (std::size_t t = 0; t < trees_.size(); ++t) {
        std::size_t const begin = trees_[t].first_split;
        std::size_t const end = t + 1 < trees_.size() ? trees_[t + 1].first_split : first_leaf_;
        views.emplace_back(forks_.data(), trees_[t].root, first_leaf_, leaf_values_.data(),
                           splits().subspan(begin, end - begin));
    }
    return views;
}

// Adds in the order of the trees and divides once, as Forest::predict does: the same sums to the last bit.
std::vector<double> FrozenForest::predict(Matrix const& rows, std::size_t n_threads) const {
    if (rows.n_columns != schema_.n_columns())
        throw InvalidArgument("The rows have " + std::to_string(rows.n_columns) + " columns instead of " +
                              std::to_string(schema_.n_columns()) + ".");
    std::vector<double> shares(rows.n_rows * n_classes_, 0.0);
    add_shares_of_rows<FlatTreeView<LeafForks::own>>(views(), rows, schema_, n_classes_, n_threads, shares);
    for (double& share : shares)
        share /= static_cast<double>(trees_.size());
    return shares;
}

std::vector<std::uint8_t> FrozenForest::used_attributes() const {
    std::vector<std::uint8_t> used(n_attributes(), 0);
    for (Fork const& split : splits())
        used[split.attribute()] = 1;
    return used;
}

FrozenForest FrozenForest::with_attributes(Schema schema, std::span<Attribute const> kept) const {
    FrozenForest result = *this;
    result.schema_ = std::move(schema);
    for (Fork& split : result.splits()) {
        auto const place = std::ranges::lower_bound(kept, split.attribute());
        if (place == kept.end() || *place != split.attribute())
            throw InvalidArgument("A split asks for attribute " + std::to_string(split.attribute()) + ".");
        split.place = Fork::place_of(static_cast<Attribute>(place - kept.begin()));
    }
    if (kept.size() != result.n_attributes())
        throw InvalidArgument("These are not the attributes of the columns.");
    return result;
}

std::size_t FrozenForest::memory() const {
    return sizeof(FrozenForest) + trees_.capacity() * sizeof(FrozenTree) + forks_.capacity() * sizeof(Fork) +
           leaf_values_.capacity() * sizeof(double);
}

// --------------------------------------------------------------------------------------------------------- freezing

WipedVector<double> Freezer::values_of(Tree const& tree, Node const& leaf) const {
    WipedVector<double> all(tree.counts(leaf).size(), 0.0);
    values_.add(tree, leaf, all.data());
    WipedVector<double> chosen;
    std::ranges::transform(classes_, std::back_inserter(chosen), [&](Label label) { return all[label]; });
    return chosen;
}

void Freezer::add(Tree const& tree) {
    auto const number_of = [&](Node const& leaf) {
        auto const number = static_cast<Fork::Link>(leaf_values_.size());
        return leaf_values_.try_emplace(values_of(tree, leaf), number).first->second;
    };
    auto const first_split = static_cast<Fork::Link>(forest_.forks_.size());
    Fork::Link const root = append_splits(tree, Tree::kRoot, number_of, forest_.forks_);
    if (forest_.forks_.size() >= kLeafMark || leaf_values_.size() >= kLeafMark)
        throw InvalidArgument("The forest has too many splits to be frozen.");
    forest_.trees_.push_back({first_split, root});
}

FrozenForest Freezer::finish() {
    std::vector<Fork::Link> links(leaf_values_.size());  // of the leaves, by the numbers that they got as they were met
    auto link = static_cast<Fork::Link>(forest_.forks_.size());
    forest_.leaf_values_.reserve(leaf_values_.size() * forest_.n_classes_);
    for (auto const& [shares, number] : leaf_values_) {
        links[number] = link++;
        forest_.leaf_values_.insert(forest_.leaf_values_.end(), shares.begin(), shares.end());
    }
    auto const settle = [&](Fork::Link& its_link) {
        if (its_link >= kLeafMark)
            its_link = links[its_link - kLeafMark];
    };
    for (Fork& split : forest_.forks_) {
        settle(split.left);
        settle(split.right);
    }
    for (FrozenForest::FrozenTree& tree : forest_.trees_)
        settle(tree.root);
    forest_.append_leaves();
    forest_.forks_.shrink_to_fit();
    return std::move(forest_);
}

}  // namespace deciduous
