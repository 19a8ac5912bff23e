#include "predict/out_of_bag.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/parallel.h"
#include "data/occupancy.h"

namespace deciduous {

namespace {

class OutOfBag {
public:
    OutOfBag(std::span<Tree const> trees, Dataset const& data, Params const& params, LeafValues const& values)
        : trees_(trees), data_(data), occupancy_(params), values_(values), is_in_(trees.size()) {}

    void predict(Slot row, std::span<double> result) {
        std::ranges::fill(is_in_, std::uint8_t{0});
        for (std::uint32_t const tree : occupancy_.trees_of(data_.id(row)))
            is_in_[tree] = 1;
        std::size_t n_trees = 0;
        std::ranges::fill(result, 0.0);
        for (std::size_t t = 0; t < trees_.size(); ++t) {
            if (is_in_[t] != 0)
                continue;
            Node const& leaf = leaf_of(trees_[t], row);
            if (leaf.n_rows() == 0)  // then the tree has none
                continue;
            values_.add(trees_[t], leaf, result.data());
            ++n_trees;
        }
        for (double& value : result)
            value = n_trees == 0 ? std::numeric_limits<double>::quiet_NaN() : value / static_cast<double>(n_trees);
    }

private:
    [[nodiscard]] Node const& leaf_of(Tree const& tree, Slot row) const {
        Node const* node = &tree.node(Tree::kRoot);
        while (node->is_split()) {
            bool const goes_left = data_.value(row, node->attribute) <= node->threshold();
            node = &tree.node(node->child(goes_left ? Side::left : Side::right));
        }
        return *node;
    }

    std::span<Tree const> trees_;
    Dataset const& data_;
    Occupancy occupancy_;
    LeafValues values_;
    std::vector<std::uint8_t> is_in_;
};

}  // namespace

std::vector<double> out_of_bag_values(std::span<Tree const> trees, Dataset const& data, Params const& params,
                                      std::span<Slot const> rows, LeafValues const& values, std::size_t n_values,
                                      std::size_t n_threads) {
    constexpr std::size_t kChunk = 64;
    std::vector<double> result(rows.size() * n_values);
    std::vector<OutOfBag> predictors;
    parallel_for_with(
        predictors, [&] { return OutOfBag(trees, data, params, values); }, (rows.size() + kChunk - 1) / kChunk,
        n_threads,
        [&](std::size_t chunk, OutOfBag& predictor) {
            std::size_t const end = std::min(rows.size(), (chunk + 1) * kChunk);
            for (std::size_t i = chunk * kChunk; i < end; ++i)
                predictor.predict(rows[i], std::span(result).subspan(i * n_values, n_values));
        });
    return result;
}

}  // namespace deciduous
