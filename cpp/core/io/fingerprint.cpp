#include "io/fingerprint.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "predict/leaf_values.h"

namespace deciduous {

namespace {

// Classes with rows, by ascending key: what the digest knows of the classes does not depend on their numbers.
std::vector<Label> present_classes(std::span<Count const> counts, std::span<ClassKey const> class_keys) {
    std::vector<Label> present;
    for (Label y = 0; y < counts.size(); ++y)
        if (counts[y] > 0)
            present.push_back(y);
    std::ranges::sort(present, {}, [&](Label y) { return class_keys[y]; });
    return present;
}

class TreeHasher {
public:
    TreeHasher(Tree& tree, Dataset const& data, std::span<ClassKey const> class_keys)
        : tree_(tree), data_(data), class_keys_(class_keys) {}

    TreeDigest run() {
        Digest const root = digest(Tree::kRoot);
        return {root, n_nodes_hashed_};
    }

private:
    Digest digest(NodeIndex index) {
        Node const node = tree_.node(index);
        if (!node.is_split())
            return leaf_digest(node);
        SplitStats* const stats = tree_.stats(index);
        if (stats != nullptr && stats->digest)
            return *stats->digest;
        Digest const result = split_digest(node);
        if (stats != nullptr)
            stats->digest = std::make_unique<Digest>(result);
        return result;
    }

    Digest leaf_digest(Node const& node) {
        ++n_nodes_hashed_;
        Blake2b hasher;
        data_.has_targets() ? update_targets(node, hasher) : update_classes(node, hasher);
        ids_.clear();
        for (Slot const slot : tree_.rows(node))
            ids_.push_back(data_.id(slot));
        std::ranges::sort(ids_);
        hasher.update_number(std::uint64_t{ids_.size()});
        for (RowId const id : ids_)
            hasher.update_number(id);
        return hasher.finish();
    }

    void update_classes(Node const& node, Blake2b& hasher) const {
        auto const counts = tree_.counts(node);
        hasher.update_number(std::uint8_t{0});
        auto const present = present_classes(counts, class_keys_);
        hasher.update_number(static_cast<std::uint32_t>(present.size()));
        for (Label const y : present) {
            hasher.update(class_keys_[y]);
            hasher.update_number(std::uint64_t{counts[y]});
        }
    }

    void update_targets(Node const& node, Blake2b& hasher) const {
        TargetSum const sum = sum_of_targets(data_, tree_.rows(node));
        hasher.update_number(std::uint8_t{3});
        hasher.update_number(std::uint64_t{tree_.counts(node)[0]});
        hasher.update_number(static_cast<std::uint64_t>(sum));
        hasher.update_number(static_cast<std::uint64_t>(sum >> 64));
    }

    Digest split_digest(Node const& node) {
        Digest const left = digest(node.child(Side::left));
        Digest const right = digest(node.child(Side::right));
        ++n_nodes_hashed_;
        Blake2b hasher;
        hasher.update_number(static_cast<std::uint8_t>(node.kind == NodeKind::random ? 1 : 2));
        hasher.update_number(static_cast<std::uint32_t>(node.attribute));
        hasher.update_number(to_float(node.threshold()));
        hasher.update(left);
        hasher.update(right);
        return hasher.finish();
    }

    Tree& tree_;
    Dataset const& data_;
    std::span<ClassKey const> class_keys_;
    std::vector<RowId> ids_;
    std::size_t n_nodes_hashed_ = 0;
};

}  // namespace

TreeDigest tree_digest(Tree& tree, Dataset const& data, std::span<ClassKey const> class_keys) {
    return TreeHasher(tree, data, class_keys).run();
}

namespace {

// Begins the digest of a forest of so many trees.
void begin(Blake2b& hasher, std::string_view title, DigestHead const& head, std::size_t n_trees) {
    hasher.update({reinterpret_cast<std::uint8_t const*>(title.data()), title.size()});
    hasher.update_number(head.n_attributes);
    hasher.update_number(static_cast<std::uint32_t>(n_trees));
    hasher.update_number(head.n_rows);
}

}  // namespace

Digest regression_digest(DigestHead const& head, TargetScale const& scale, std::span<Digest const> trees) {
    Blake2b hasher;
    begin(hasher, "deciduous-regression-1", head, trees.size());
    hasher.update_number(scale.exponent);
    hasher.update_number(scale.offset);
    for (Digest const& tree : trees)
        hasher.update(tree);
    return hasher.finish();
}

Digest forest_digest(DigestHead const& head, std::vector<ClassKey> classes, std::span<Digest const> trees) {
    Blake2b hasher;
    begin(hasher, "deciduous-forest-2", head, trees.size());
    std::ranges::sort(classes);
    hasher.update_number(static_cast<std::uint32_t>(classes.size()));
    for (ClassKey const& key : classes)
        hasher.update(key);
    for (Digest const& tree : trees)
        hasher.update(tree);
    return hasher.finish();
}

}  // namespace deciduous
