#include "predict/quantiles.h"

#include <algorithm>
#include <cstdint>

#include "base/wiped.h"
#include "predict/dense_rows.h"
#include "predict/grown_tree.h"
#include "predict/walk.h"

namespace deciduous {

namespace {

// The targets of the rows in some leaves. Every leaf weighs the same, and its rows share that by their weights; weights
// are integers, so that they add up to the same in any order.
class TargetsAround {
public:
    explicit TargetsAround(Dataset const& data) : data_(data) {}

    void clear() { weighted_.clear(); }

    void add(Tree const& tree, Node const& leaf) {
        std::uint64_t const part = kLeafWeight / tree.counts(leaf)[0];
        for (Slot const slot : tree.rows(leaf)) {
            WeightedLabel const vote = data_.vote(slot);
            weighted_.push_back({vote.target, vote.weight * part});
        }
    }

    void sort() {
        std::ranges::sort(weighted_, {}, &Weighted::target);
        reached_.resize(weighted_.size());
        Sum sum = 0;
        for (std::size_t i = 0; i < weighted_.size(); ++i)
            reached_[i] = static_cast<double>(sum += weighted_[i].weight);
    }

    // The lowest target that, with all lower ones, has at least this share of the weight. They are sorted.
    [[nodiscard]] double quantile(double share) const {
        double const wanted = (share - kRounding) * reached_.back();
        auto const place = std::ranges::lower_bound(reached_, wanted) - reached_.begin();
        return static_cast<double>(weighted_[static_cast<std::size_t>(place)].target);
    }

private:
    static constexpr std::uint64_t kLeafWeight = std::uint64_t{1} << 60;
    static constexpr double kRounding = 0x1p-50;  // more than shares lose as doubles, less than any row has
    __extension__ using Sum = unsigned __int128;

    struct Weighted {
        Target target;
        std::uint64_t weight;
    };

    Dataset const& data_;
    WipedVector<Weighted> weighted_;
    std::vector<double> reached_;  // the weight of each target and all lower ones
};

}  // namespace

std::vector<double> quantiles_of_rows(std::span<Tree const* const> trees, Dataset const& data, Matrix const& rows,
                                      std::span<double const> shares, std::size_t n_threads, Progress const& progress) {
    std::vector<double> quantiles(rows.n_rows * shares.size());
    auto const visit = [&](DenseRows const& dense, std::size_t begin) {
        TargetsAround around(data);
        for (std::size_t row = 0; row < dense.n_rows(); ++row) {
            around.clear();
            for (Tree const* const tree : trees) {
                GrownTree const walked(*tree, {data, {}});
                around.add(*tree, tree->node(static_cast<NodeIndex>(leaves_of<1>(walked, dense.block(row))[0])));
            }
            around.sort();
            for (std::size_t i = 0; i < shares.size(); ++i)
                quantiles[(begin + row) * shares.size() + i] = around.quantile(shares[i]);
        }
    };
    for_dense_chunks(rows, data.schema(), 1, n_threads, visit, progress);
    return quantiles;
}

}  // namespace deciduous
