#include "predict/tree_arrays.h"

#include <algorithm>

#include "base/wiped.h"
#include "predict/leaf_values.h"

namespace deciduous {

namespace {

class TreeExporter {
public:
    TreeExporter(Tree const& tree, Dataset const& data, std::size_t n_classes)
        : tree_(tree), data_(data), n_classes_(n_classes) {}

    TreeArrays run() {
        visit(Tree::kRoot, 0);
        for (std::size_t i = 0; i < sums_.size(); ++i)
            arrays_.means.push_back(arrays_.counts[i] == 0 ? 0.0 : mean_of(sums_[i], arrays_.counts[i]));
        return std::move(arrays_);
    }

private:
    void visit(NodeIndex index, std::uint32_t depth) {
        Node const& node = tree_.node(index);
        std::size_t const place = arrays_.kind.size();
        arrays_.kind.push_back(static_cast<std::uint8_t>(node.kind));
        arrays_.depth.push_back(depth);
        arrays_.attribute.push_back(node.attribute);
        arrays_.threshold.push_back(node.is_split() ? to_float(node.threshold()) : 0.0F);
        arrays_.right.push_back(0);
        arrays_.counts.resize(arrays_.counts.size() + n_classes_, 0);
        arrays_.n_ids.push_back(node.is_split() ? 0 : node.n_rows());
        if (data_.has_targets()) {
            sums_.push_back(0);
            arrays_.errors.push_back(0.0);
        }
        if (node.is_split())
            visit_children(node, place, depth);
        else
            add_rows(node, place);
    }

    void visit_children(Node const& node, std::size_t place, std::uint32_t depth) {
        for (Side const side : {Side::left, Side::right}) {
            std::size_t const child = arrays_.kind.size();
            arrays_.right[place] = static_cast<std::uint32_t>(child);
            visit(node.child(side), depth + 1);
            for (std::size_t y = 0; y < n_classes_; ++y)
                arrays_.counts[place * n_classes_ + y] += arrays_.counts[child * n_classes_ + y];
            if (data_.has_targets())
                sums_[place] += sums_[child];
        }
    }

    void add_rows(Node const& node, std::size_t place) {
        std::ranges::copy(tree_.counts(node), arrays_.counts.begin() + static_cast<std::ptrdiff_t>(place * n_classes_));
        auto const begin = static_cast<std::ptrdiff_t>(arrays_.ids.size());
        for (Slot const slot : tree_.rows(node))
            arrays_.ids.push_back(data_.id(slot));
        std::sort(arrays_.ids.begin() + begin, arrays_.ids.end());
        if (data_.has_targets()) {
            sums_[place] = sum_of_targets(data_, tree_.rows(node));
            arrays_.errors[place] = squared_errors(node, sums_[place]);
        }
    }

    // Around the mean rounded to an integer, so that nothing cancels, and all but the last step is exact.
    [[nodiscard]] double squared_errors(Node const& leaf, TargetSum sum) const {
        Count const n = tree_.counts(leaf)[0];
        if (n == 0)
            return 0.0;
        TargetSum const center = sum / n;
        TargetSum squares = 0;
        for (Slot const slot : tree_.rows(leaf)) {
            TargetSum const distance = data_.targets()[slot] - center;
            squares += data_.vote(slot).weight * distance * distance;
        }
        auto const rest = static_cast<double>(sum - n * center);
        return static_cast<double>(squares) - rest * rest / n;
    }

    Tree const& tree_;
    Dataset const& data_;
    std::size_t n_classes_;
    TreeArrays arrays_;
    WipedVector<TargetSum> sums_;  // of the targets of each node
};

}  // namespace

TreeArrays export_tree(Tree const& tree, Dataset const& data, std::size_t n_classes) {
    return TreeExporter(tree, data, n_classes).run();
}

}  // namespace deciduous
