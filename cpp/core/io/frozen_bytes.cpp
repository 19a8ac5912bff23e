#include "io/frozen_bytes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "io/bytes.h"
#include "predict/flat_tree.h"

namespace deciduous {

namespace {

// Numbers below n are stored in as few bytes as they need.
[[nodiscard]] std::size_t width_of(std::uint64_t n) {
    if (n <= (std::uint64_t{1} << 8))
        return 1;
    return n <= (std::uint64_t{1} << 16) ? 2 : 4;
}

template <typename T>
void write_as(std::span<std::uint32_t const> numbers, ByteWriter& out) {
    std::vector<T> const narrow(numbers.begin(), numbers.end());
    out.write_array(std::span<T const>(narrow));
}

void write_numbers(std::span<std::uint32_t const> numbers, std::uint64_t bound, ByteWriter& out) {
    switch (width_of(bound)) {
        case 1:
            return write_as<std::uint8_t>(numbers, out);
        case 2:
            return write_as<std::uint16_t>(numbers, out);
        default:
            return out.write_array(numbers);
    }
}

template <typename T>
[[nodiscard]] std::vector<std::uint32_t> read_as(std::uint64_t n, ByteReader& in) {
    auto const narrow = in.read_array<T>(n);
    return {narrow.begin(), narrow.end()};
}

// Each is less than the bound.
[[nodiscard]] std::vector<std::uint32_t> read_numbers(std::uint64_t n, std::uint64_t bound, char const* what,
                                                      ByteReader& in) {
    std::size_t const width = width_of(bound);
    auto numbers = width == 1   ? read_as<std::uint8_t>(n, in)
                   : width == 2 ? read_as<std::uint16_t>(n, in)
                                : read_as<std::uint32_t>(n, in);
    auto const outside = std::ranges::find_if(numbers, [&](std::uint32_t number) { return number >= bound; });
    if (outside != numbers.end())
        throw CorruptData("it names " + std::string(what) + " " + std::to_string(*outside) + " of " +
                          std::to_string(bound));
    return numbers;
}

// In place of the number of classes: every leaf has the mean of its targets.
constexpr std::uint32_t kMeans = 0;

}  // namespace

// Which nodes split, and the leaf value of each leaf, of all trees in preorder. The splits are in that order already.
class FrozenWriter {
public:
    explicit FrozenWriter(FrozenForest const& forest) : forest_(forest), shape_((forest.n_nodes() + 7) / 8, 0) {}

    WipedVector<std::uint8_t> run() {
        for (FrozenForest::FrozenTree const& tree : forest_.trees_)
            visit(tree.root);
        std::vector<Attribute> attributes;
        WipedVector<float> thresholds;
        for (Fork const& split : forest_.splits()) {
            attributes.push_back(split.attribute());
            thresholds.push_back(to_float(split.threshold));
        }
        ByteWriter out;
        out.write(static_cast<std::uint32_t>(forest_.n_attributes()));
        out.write(static_cast<std::uint32_t>(forest_.are_means_ ? kMeans : forest_.n_classes_));
        out.write(static_cast<std::uint32_t>(forest_.n_trees()));
        out.write(static_cast<std::uint32_t>(forest_.n_leaf_values()));
        out.write(std::uint64_t{forest_.n_nodes()});
        out.write_array(std::span<double const>(forest_.leaf_values_));
        out.write_array(std::span<std::uint8_t const>(shape_));
        write_numbers(attributes, forest_.n_attributes(), out);
        out.write_array(std::span<float const>(thresholds));
        write_numbers(leaves_, forest_.n_leaf_values(), out);
        return out.take();
    }

private:
    void visit(Fork::Link link) {
        std::size_t const place = n_visited_++;
        if (link >= forest_.first_leaf_) {
            leaves_.push_back(link - forest_.first_leaf_);
            return;
        }
        shape_[place / 8] |= static_cast<std::uint8_t>(1U << (place % 8));
        visit(forest_.forks_[link].left);
        visit(forest_.forks_[link].right);
    }

    FrozenForest const& forest_;
    std::vector<std::uint8_t> shape_;
    std::vector<std::uint32_t> leaves_;
    std::size_t n_visited_ = 0;
};

class FrozenReader {
public:
    explicit FrozenReader(std::span<std::uint8_t const> bytes) : in_(bytes) {}

    FrozenForest run(Schema schema, bool are_means) {
        auto const n_attributes = in_.read<std::uint32_t>();
        auto const n_classes_or_means = in_.read<std::uint32_t>();
        std::uint32_t const n_classes = are_means ? 1 : n_classes_or_means;
        auto const n_trees = in_.read<std::uint32_t>();
        auto const n_leaf_values = in_.read<std::uint32_t>();
        n_nodes_ = in_.read<std::uint64_t>();
        if (n_attributes == 0 || (n_classes_or_means == kMeans) != are_means || n_trees == 0 ||
            n_leaf_values >= kLeafMark)
            throw CorruptData("it has " + std::to_string(n_trees) + " trees over " + std::to_string(n_attributes) +
                              " attributes with " + std::to_string(n_leaf_values) + " different leaves of " +
                              std::to_string(n_classes_or_means) + " classes");
        if (n_attributes != schema.n_attributes())
            throw CorruptData("its trees are over " + std::to_string(n_attributes) + " attributes");
        FrozenForest forest(std::move(schema), n_classes, are_means);
        auto const leaf_values = in_.read_array<double>(std::uint64_t{n_leaf_values} * n_classes);
        forest.leaf_values_.assign(leaf_values.begin(), leaf_values.end());
        are_means ? require_means(forest) : require_shares(forest);
        read_nodes(forest, n_leaf_values);
        read_trees(forest, n_trees);
        forest.append_leaves();
        return forest;
    }

private:
    static void require_means(FrozenForest const& forest) {
        constexpr auto kMost = static_cast<double>(kMaxTarget);
        for (std::size_t i = 0; i < forest.n_leaf_values(); ++i) {
            double const mean = forest.leaf_values_[i];
            if (!(mean >= -kMost && mean <= kMost) || (mean == 0 && std::signbit(mean)))
                throw CorruptData("the mean of a leaf is no target");
            if (i > 0 && forest.leaf_values_[i - 1] >= mean)
                throw CorruptData("its means are not in ascending order");
        }
    }

    static void require_shares(FrozenForest const& forest) {
        constexpr auto kOne = std::bit_cast<std::uint64_t>(1.0);
        for (std::size_t i = 0; i < forest.n_leaf_values(); ++i) {
            auto const shares = forest.leaf_value(i);
            double total = 0.0;
            for (double const share : shares) {
                // The bits of doubles from 0 to 1 are in the order of the numbers; all other doubles come after.
                if (std::bit_cast<std::uint64_t>(share) > kOne)
                    throw CorruptData("a leaf has a class share that is no share");
                total += share;
            }
            if (std::abs(total - 1.0) > 1e-6)
                throw CorruptData("the class shares of a leaf do not sum up to 1");
            if (i > 0 && !std::ranges::lexicographical_compare(forest.leaf_value(i - 1), shares))
                throw CorruptData("its class shares are not in ascending order");
        }
    }

    void read_nodes(FrozenForest& forest, std::uint32_t n_leaf_values) {
        shape_ = in_.read_array<std::uint8_t>(n_nodes_ / 8 + (n_nodes_ % 8 != 0 ? 1 : 0));
        if (n_nodes_ % 8 != 0 && (shape_.back() >> (n_nodes_ % 8)) != 0)
            throw CorruptData("it has nodes after the last one");
        std::uint64_t n_splits = 0;
        for (std::uint8_t const byte : shape_)
            n_splits += static_cast<std::uint64_t>(std::popcount(byte));
        auto const attributes = read_numbers(n_splits, forest.n_attributes(), "attribute", in_);
        auto const thresholds = in_.read_array<float>(n_splits);
        leaves_ = read_numbers(n_nodes_ - n_splits, n_leaf_values, "leaf", in_);
        in_.require_end();
        require_all_used(n_leaf_values);
        if (n_splits >= kLeafMark)
            throw CorruptData("it has more splits than forests can have");
        forest.forks_.reserve(n_splits + n_leaf_values);
        for (std::size_t i = 0; i < n_splits; ++i) {
            if (std::isnan(thresholds[i]) || thresholds[i] == -std::numeric_limits<float>::infinity())
                throw CorruptData("a split has no usable threshold");
            forest.forks_.push_back(Fork::split(attributes[i], to_value(thresholds[i])));
        }
    }

    // Else something could be hidden among them.
    void require_all_used(std::uint32_t n_leaf_values) const {
        std::vector<bool> is_used(n_leaf_values, false);
        for (std::uint32_t const leaf : leaves_)
            is_used[leaf] = true;
        if (std::ranges::find(is_used, false) != is_used.end())
            throw CorruptData("it has class shares of no leaf");
    }

    void read_trees(FrozenForest& forest, std::uint32_t n_trees) {
        if (n_trees > leaves_.size())
            throw CorruptData("it has " + std::to_string(n_trees) + " trees but " + std::to_string(leaves_.size()) +
                              " leaves");
        forest.trees_.reserve(n_trees);
        for (std::uint32_t tree = 0; tree < n_trees; ++tree) {
            auto const first_split = static_cast<Fork::Link>(next_split_);
            Fork::Link const root = read_subtree(forest, 0);
            forest.trees_.push_back({first_split, root});
        }
        if (next_node_ != n_nodes_)
            throw CorruptData("it has nodes that belong to no tree");
    }

    Fork::Link read_subtree(FrozenForest& forest, std::uint32_t depth) {
        if (next_node_ == n_nodes_)
            throw CorruptData("it ends in the middle of a tree");
        std::uint64_t const node = next_node_++;
        if ((shape_[node / 8] >> (node % 8) & 1) == 0)
            return static_cast<Fork::Link>(forest.forks_.size() + leaves_[next_leaf_++]);
        std::size_t const place = next_split_++;
        if (depth >= kMaxDepth)
            throw CorruptData("a tree is larger than trees can be");
        forest.forks_[place].left = read_subtree(forest, depth + 1);
        forest.forks_[place].right = read_subtree(forest, depth + 1);
        return static_cast<Fork::Link>(place);
    }

    ByteReader in_;
    std::uint64_t n_nodes_ = 0;
    WipedVector<std::uint8_t> shape_;
    std::vector<std::uint32_t> leaves_;
    std::uint64_t next_node_ = 0;
    std::size_t next_split_ = 0;
    std::size_t next_leaf_ = 0;
};

WipedVector<std::uint8_t> write_frozen(FrozenForest const& forest) {
    return FrozenWriter(forest).run();
}

FrozenForest read_frozen(std::span<std::uint8_t const> bytes, Schema schema, bool are_means) {
    return FrozenReader(bytes).run(std::move(schema), are_means);
}

}  // namespace deciduous
