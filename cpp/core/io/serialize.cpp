#include "io/serialize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "io/bytes.h"

namespace deciduous {

namespace {

enum class Encoding : std::uint8_t { plain = 0, coded = 1 };

void write_floats(std::span<Value const> values, ByteWriter& out) {
    WipedVector<float> floats(values.size());
    std::ranges::transform(values, floats.begin(), to_float);
    out.write_array(std::span<float const>(floats));
}

// Coded if there are few enough values now, whatever there was before: equal rows have equal bytes.
void write_column(Column const& column, std::span<Slot const> slots, ByteWriter& out) {
    constexpr std::size_t kMaxCodes = 256;
    WipedVector<Value> values(slots.size());
    std::ranges::transform(slots, values.begin(), [&](Slot slot) { return column[slot]; });
    WipedVector<Value> distinct;
    for (Value const value : values) {
        auto const place = std::ranges::lower_bound(distinct, value);
        if (place == distinct.end() || *place != value)
            distinct.insert(place, value);
        if (distinct.size() > kMaxCodes)
            break;
    }
    if (distinct.empty() || distinct.size() > kMaxCodes) {
        out.write(Encoding::plain);
        write_floats(values, out);
        return;
    }
    out.write(Encoding::coded);
    out.write(static_cast<std::uint32_t>(distinct.size()));
    write_floats(distinct, out);
    WipedVector<Code> codes(values.size());
    std::ranges::transform(values, codes.begin(), [&](Value value) {
        return static_cast<Code>(std::ranges::lower_bound(distinct, value) - distinct.begin());
    });
    out.write_array(std::span<Code const>(codes));
}

void require_admitted(std::span<float const> values, std::size_t column, Schema const& schema) {
    for (float const value : values) {
        if (std::isinf(value))
            throw CorruptData("column " + std::to_string(column) + " has an infinite value");
        if (!schema.admits(column, value))
            throw CorruptData("column " + std::to_string(column) + " has the unknown category " +
                              std::to_string(value));
    }
}

void read_column(ByteReader& in, std::size_t column, Schema const& schema, StoredRows& rows) {
    std::size_t const n_rows = rows.ids.size();
    auto const encoding = in.read<Encoding>();
    WipedVector<float> values;
    WipedVector<Code> codes;
    if (encoding == Encoding::plain) {
        values = in.read_array<float>(n_rows);
    } else if (encoding == Encoding::coded) {
        values = in.read_array<float>(in.read<std::uint32_t>());
        codes = in.read_array<Code>(n_rows);
        if (std::ranges::any_of(codes, [&](Code code) { return code >= values.size(); }))
            throw CorruptData("column " + std::to_string(column) + " has a code without a value");
    } else {
        throw CorruptData("column " + std::to_string(column) + " has an unknown encoding");
    }
    require_admitted(values, column, schema);
    for (std::size_t i = 0; i < n_rows; ++i)
        rows.values[i * schema.n_columns() + column] = codes.empty() ? values[i] : values[codes[i]];
}

WipedVector<WeightedLabel> read_votes(ByteReader& in, std::size_t n_rows, std::size_t n_classes, bool has_targets) {
    auto const weights_flag = in.read<std::uint8_t>();
    if (weights_flag > 1)
        throw CorruptData("its flag for weights is " + std::to_string(weights_flag));
    bool const has_weights = weights_flag == 1;
    auto const labels = in.read_array<Label>(n_rows);
    auto const weights = has_weights ? in.read_array<Count>(n_rows) : WipedVector<Count>(n_rows, 1);
    auto const targets = has_targets ? in.read_array<Target>(n_rows) : WipedVector<Target>(n_rows, 0);
    std::uint64_t total = 0;
    WipedVector<WeightedLabel> votes(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) {
        if (labels[i] >= n_classes)
            throw CorruptData("a row has class " + std::to_string(labels[i]) + " of " + std::to_string(n_classes));
        if (weights[i] == 0)
            throw CorruptData("a row has weight 0");
        if (targets[i] < -kMaxTarget || targets[i] > kMaxTarget)
            throw CorruptData("a row has a target beyond 2^40");
        votes[i] = {labels[i], weights[i], targets[i]};
        total += weights[i];
    }
    if (total >= kMaxRows)
        throw CorruptData("its rows weigh more than a forest can hold");
    return votes;
}

// The arrays of a tree section.
struct StoredTree {
    WipedVector<std::uint8_t> kinds;  // in preorder
    WipedVector<Attribute> attributes;
    WipedVector<float> thresholds;
};

class TreeReader {
public:
    TreeReader(StoredTree const& stored, Tree& tree, Grower& grower, std::size_t n_attributes)
        : stored_(stored), tree_(tree), grower_(grower), n_attributes_(n_attributes) {}

    void run(RowGroup& rows) {
        read(Tree::kRoot, {rows.slots, rows.ends}, 0);
        if (next_node_ != stored_.kinds.size())
            throw CorruptData("it has nodes that belong to no tree");
    }

private:
    void read(NodeIndex index, Rows const& rows, std::uint32_t depth) {
        if (next_node_ == stored_.kinds.size())
            throw CorruptData("it ends in the middle of a tree");
        auto const kind = static_cast<NodeKind>(stored_.kinds[next_node_++]);
        if (kind == NodeKind::leaf) {
            tree_.make_leaf(index, grower_.decider().count(rows));
            return;
        }
        Params const& params = grower_.decider().params();
        if (depth >= params.max_depth || (kind == NodeKind::random) != sampling_at(depth, params).is_random)
            throw CorruptData("a node at depth " + std::to_string(depth) + " is of the wrong kind");
        tree_.make_split(index, kind, next_split());
        Node const node = tree_.node(index);
        auto const [left, right] = grower_.divide(rows, node.attribute, node.threshold(), depth);
        if (left.size() == 0 || right.size() == 0)
            throw CorruptData("a split at depth " + std::to_string(depth) + " does not separate its rows");
        read(node.child(Side::left), left, depth + 1);
        read(node.child(Side::right), right, depth + 1);
    }

    Split next_split() {
        Attribute const attribute = stored_.attributes[next_split_];
        float const threshold = stored_.thresholds[next_split_++];
        if (attribute >= n_attributes_)
            throw CorruptData("a split is on attribute " + std::to_string(attribute) + " of " +
                              std::to_string(n_attributes_));
        if (std::isnan(threshold) || threshold == -std::numeric_limits<float>::infinity())
            throw CorruptData("a split has no usable threshold");
        return {.attribute = attribute, .threshold = to_value(threshold)};
    }

    StoredTree const& stored_;
    Tree& tree_;
    Grower& grower_;
    std::size_t n_attributes_;
    std::size_t next_node_ = 0;
    std::size_t next_split_ = 0;
};

void append_preorder(Tree const& tree, NodeIndex index, StoredTree& stored) {
    Node const& node = tree.node(index);
    stored.kinds.push_back(static_cast<std::uint8_t>(node.kind));
    if (!node.is_split())
        return;
    stored.attributes.push_back(node.attribute);
    stored.thresholds.push_back(to_float(node.threshold()));
    append_preorder(tree, node.child(Side::left), stored);
    append_preorder(tree, node.child(Side::right), stored);
}

}  // namespace

WipedVector<std::uint8_t> write_rows(Dataset const& data, std::span<Count const> class_totals) {
    WipedVector<Label> numbers(class_totals.size());
    for (std::size_t label = 1; label < numbers.size(); ++label)
        numbers[label] = numbers[label - 1] + (class_totals[label - 1] > 0 ? 1 : 0);
    std::vector<Slot> slots = data.slots();
    std::ranges::sort(slots, {}, [&](Slot slot) { return data.id(slot); });
    WipedVector<RowId> ids;
    WipedVector<Label> labels;
    WipedVector<Count> weights;
    WipedVector<Target> targets;
    for (Slot const slot : slots) {
        ids.push_back(data.id(slot));
        labels.push_back(numbers[data.vote(slot).label]);
        weights.push_back(data.vote(slot).weight);
        targets.push_back(data.vote(slot).target);
    }
    bool const has_weights = std::ranges::any_of(weights, [](Count weight) { return weight != 1; });
    ByteWriter out;
    out.write(std::uint64_t{ids.size()});
    out.write_array(std::span<RowId const>(ids));
    out.write(static_cast<std::uint8_t>(has_weights ? 1 : 0));
    out.write_array(std::span<Label const>(labels));
    if (has_weights)
        out.write_array(std::span<Count const>(weights));
    if (data.has_targets())
        out.write_array(std::span<Target const>(targets));
    for (Column const& column : data.columns())
        write_column(column, slots, out);
    return out.take();
}

StoredRows read_rows(std::span<std::uint8_t const> bytes, Schema const& schema, std::size_t n_classes,
                     bool has_targets) {
    ByteReader in(bytes);
    StoredRows rows;
    auto const n_rows = in.read<std::uint64_t>();
    rows.ids = in.read_array<RowId>(n_rows);
    if (std::ranges::adjacent_find(rows.ids, std::ranges::greater_equal{}) != rows.ids.end())
        throw CorruptData("its row ids are not in ascending order");
    rows.votes = read_votes(in, n_rows, n_classes, has_targets);
    std::size_t const n_columns = schema.n_columns();
    // Every column takes at least a byte, and every value of it one more: the section bounds this allocation.
    if (n_columns > bytes.size() || n_rows > bytes.size() / std::max<std::size_t>(1, n_columns))
        throw CorruptData("it is too short for its rows");
    rows.values.resize(n_rows * n_columns);
    for (std::size_t column = 0; column < n_columns; ++column)
        read_column(in, column, schema, rows);
    in.require_end();
    return rows;
}

WipedVector<std::uint8_t> write_tree(Tree const& tree) {
    StoredTree stored;
    append_preorder(tree, Tree::kRoot, stored);
    ByteWriter out;
    out.write(static_cast<std::uint32_t>(stored.kinds.size()));
    out.write(static_cast<std::uint32_t>(stored.attributes.size()));
    out.write_array(std::span<std::uint8_t const>(stored.kinds));
    out.write_array(std::span<Attribute const>(stored.attributes));
    out.write_array(std::span<float const>(stored.thresholds));
    return out.take();
}

void read_tree(std::span<std::uint8_t const> bytes, Tree& tree, RowGroup& rows, Grower& grower,
               std::size_t n_attributes) {
    ByteReader in(bytes);
    StoredTree stored;
    auto const n_nodes = in.read<std::uint32_t>();
    auto const n_splits = in.read<std::uint32_t>();
    stored.kinds = in.read_array<std::uint8_t>(n_nodes);
    auto const is_split = [](std::uint8_t kind) { return kind == 1 || kind == 2; };
    if (std::ranges::any_of(stored.kinds, [&](std::uint8_t kind) { return kind != 0 && !is_split(kind); }))
        throw CorruptData("it has a node of an unknown kind");
    if (std::ranges::count_if(stored.kinds, is_split) != static_cast<std::ptrdiff_t>(n_splits))
        throw CorruptData("it has another number of splits than it says");
    stored.attributes = in.read_array<Attribute>(n_splits);
    stored.thresholds = in.read_array<float>(n_splits);
    in.require_end();
    TreeReader(stored, tree, grower, n_attributes).run(rows);
}

}  // namespace deciduous
