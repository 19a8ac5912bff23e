#include "uniform_candidates.h"

#include <algorithm>

#include "arrivals.h"
#include "pairs.h"

namespace deciduous {

namespace {

template <typename NClasses>
class UniformCuts {
public:
    UniformCuts(NClasses n_classes, Word* record) : n_classes_(n_classes), words_(record) {}

    [[nodiscard]] static std::size_t words_per_cut(NClasses n_classes) { return 2 + n_classes; }

    // Begins with no rows.
    void start() const {
        low() = kNoValue;
        high() = n_low() = n_high() = n_missing() = 0;
    }

    // Counts a value in the range of the numbers, or among the missing ones.
    void include(Value value) const {
        if (value == kMissing) {
            ++n_missing();
            return;
        }
        if (value < low()) {
            low() = value;
            n_low() = 0;
        }
        if (value > high()) {
            high() = value;
            n_high() = 0;
        }
        n_low() += value == low() ? 1 : 0;
        n_high() += value == high() ? 1 : 0;
    }

    [[nodiscard]] bool is_constant() const { return n_low() == 0 || (low() == high() && n_missing() == 0); }
    [[nodiscard]] bool has_range() const { return low() < high(); }
    [[nodiscard]] bool has_missing() const { return n_missing() > 0; }
    [[nodiscard]] Value lowest() const { return low(); }
    [[nodiscard]] Value highest() const { return high(); }

    void count(Value value, Label label, Count weight) const {
        if (std::size_t const cut = first_cut_from(value); cut < size())
            bucket(cut)[label] += weight;
    }

    void remove(Value value, Vote vote) const {
        n_missing() -= value == kMissing ? 1 : 0;
        n_low() -= value == low() ? 1 : 0;
        n_high() -= value == high() ? 1 : 0;
        if (std::size_t const cut = first_cut_from(value); cut < size())
            bucket(cut)[vote.label] -= vote.weight;
    }

    // False if the value widens the range.
    [[nodiscard]] bool add(Value value, Vote vote) const {
        if (value != kMissing && (value < low() || value > high()))
            return false;
        include(value);
        count(value, vote.label, vote.weight);
        return true;
    }

    [[nodiscard]] bool update(Dataset const& data, Changes const& changes) const {
        Attribute const attribute = record_attribute(words_);
        bool const had_missing = has_missing();
        for (ChangedRow const& row : changes.removed)
            remove(row.value(data, attribute), row.vote);
        for (ChangedRow const& row : changes.added)
            if (!add(row.value(data, attribute), row.vote))
                return false;
        return n_low() > 0 && n_high() > 0 && had_missing == has_missing() && !is_constant();
    }

    void offer(BestSplit& best, Workspace& work) const {
        work.left.assign(n_classes_, 0);
        for (std::size_t cut = 0; cut < size(); ++cut) {
            for (std::size_t y = 0; y < n_classes_; ++y)
                work.left[y] += bucket(cut)[y];
            best.offer(
                n_classes_, record_attribute(words_), work.left.data(), [&] { return std::uint64_t{at(cut)[1]}; },
                [&] { return at(cut)[0]; });
        }
    }

private:
    [[nodiscard]] std::size_t size() const { return words_[2]; }
    [[nodiscard]] Word& low() const { return words_[3]; }
    [[nodiscard]] Word& high() const { return words_[4]; }
    [[nodiscard]] Word& n_low() const { return words_[5]; }
    [[nodiscard]] Word& n_high() const { return words_[6]; }
    [[nodiscard]] Word& n_missing() const { return words_[7]; }
    [[nodiscard]] Word* at(std::size_t cut) const { return words_ + kUniformHeader + cut * words_per_cut(n_classes_); }
    [[nodiscard]] Count* bucket(std::size_t cut) const { return at(cut) + 2; }

    [[nodiscard]] std::size_t first_cut_from(Value value) const {
        std::size_t begin = 0;
        for (std::size_t n = size(); n > 0;) {
            std::size_t const half = (n + 1) / 2;
            begin += at(begin + half - 1)[0] < value ? half : 0;
            n -= half;
        }
        return begin;
    }

    NClasses n_classes_;
    Word* words_;
};

// A cut as a number that orders by value, then by rank.
std::uint64_t packed_cut(Value value, std::uint32_t rank) {
    return std::uint64_t{value} << 32 | rank;
}

// Makes the record in work.record; false if the attribute is constant.
template <typename NClasses>
bool make_record(NClasses n_classes, NodeView const& node, Attribute attribute, UniformShape shape, Workspace& work) {
    work.record.assign(kUniformHeader, 0);
    UniformCuts<NClasses> const range(n_classes, work.record.data());
    range.start();
    node.data.visit(attribute, [&](auto view) {
        for (Slot const slot : node.slots)
            range.include(view(slot));
    });
    if (range.is_constant())
        return false;
    auto& cuts = work.packed;
    cuts.clear();
    if (range.has_range()) {
        Arrivals arrivals(node.key, attribute, range.lowest(), range.highest());
        for (std::uint32_t rank = 0; rank < shape.n_arrivals; ++rank)
            cuts.push_back(packed_cut(arrivals.next(), rank));
    }
    if (range.has_missing() && !(range.has_range() && shape.is_random_node))
        cuts.push_back(packed_cut(kInfinity, shape.n_arrivals));
    cuts.note_size();
    std::ranges::sort(cuts);
    for (std::uint64_t const cut : cuts) {
        work.record.push_back(static_cast<Value>(cut >> 32));
        work.record.push_back(static_cast<Word>(cut));
        work.record.resize(work.record.size() + n_classes, 0);
    }
    work.record.note_size();
    work.record[0] = record_tag(RecordKind::uniform, attribute);
    work.record[1] = static_cast<Word>(work.record.size());
    work.record[2] = static_cast<Word>(cuts.size());
    UniformCuts<NClasses> const counted(n_classes, work.record.data());
    node.data.visit(attribute, [&](auto view) {
        for (std::size_t i = 0; i < node.slots.size(); ++i)
            counted.count(view(node.slots[i]), node.labels[i], node.weight(i));
    });
    return true;
}

// Of two values, all arrivals between them make the same split, so the first one wins.
template <typename NClasses>
void offer_uniform_pair(NClasses n_classes, Key node, Attribute attribute, TwoValued values, Count const* at_high,
                        UniformShape shape, BestSplit& best, Workspace& work) {
    bool const is_missing_cut = values.high == kMissing;
    offer_pair(
        n_classes, attribute, at_high, best, work, [&] { return std::uint64_t{is_missing_cut ? shape.n_arrivals : 0}; },
        [&] { return is_missing_cut ? kInfinity : Arrivals(node, attribute, values.low, values.high).next(); });
}

// False if the attribute is constant. The rows at the higher value are in work.at_high.
template <typename NClasses>
bool take_pair(NClasses n_classes, NodeView const& node, Attribute attribute, TwoValued values, UniformShape shape,
               BestSplit& best, WipedVector<Word>* records, Workspace& work) {
    Count const n_high = sum(work.at_high);
    if (n_high == 0 || n_high == best.scoring().n_rows)
        return false;
    offer_uniform_pair(n_classes, node.key, attribute, values, work.at_high.data(), shape, best, work);
    if (records != nullptr)
        append_pair(attribute, values, work.at_high, *records);
    return true;
}

}  // namespace

bool scan_uniform(NodeView const& node, Attribute attribute, UniformShape shape, BestSplit& best,
                  WipedVector<Word>* records, Workspace& work) {
    return with_classes(node.totals.size(), [&](auto n_classes) {
        if (auto const values = count_two_valued(node, attribute, work))
            return take_pair(n_classes, node, attribute, *values, shape, best, records, work);
        if (!make_record(n_classes, node, attribute, shape, work))
            return false;
        UniformCuts(n_classes, work.record.data()).offer(best, work);
        if (records != nullptr)
            records->insert(records->end(), work.record.begin(), work.record.end());
        return true;
    });
}

bool update_uniform(Word* record, std::size_t n_classes, Dataset const& data, Changes const& changes) {
    return with_classes(n_classes, [&](auto n) { return UniformCuts(n, record).update(data, changes); });
}

void offer_uniform(Word const* record, Key node, UniformShape shape, BestSplit& best, Workspace& work) {
    with_classes(best.scoring().totals.size(), [&](auto n_classes) {
        if (record_kind(record) == RecordKind::pair)
            offer_uniform_pair(n_classes, node, record_attribute(record), pair_values(record), record + kPairHeader,
                               shape, best, work);
        else
            UniformCuts(n_classes, const_cast<Word*>(record)).offer(best, work);
    });
}

bool uniform_equals_recount(Word const* record, NodeView const& node, UniformShape shape, Workspace& work) {
    return make_record(node.totals.size(), node, record_attribute(record), shape, work) &&
           std::equal(record, record + record_length(record), work.record.begin(), work.record.end());
}

}  // namespace deciduous
