// All that one thread needs to work on trees of a forest, kept from one node and one tree to the next.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/params.h"
#include "base/types.h"
#include "data/changes.h"
#include "split/attributes.h"
#include "split/scan.h"
#include "split/small_node.h"
#include "stats/split_stats.h"
#include "tree/node.h"
#include "tree/tree.h"

namespace deciduous {

// Things lent out and taken back, so that walking a tree again does not make them again. They come as they were left.
template <typename Thing>
class Pool {
public:
    class Loan {
    public:
        explicit Loan(Pool& owner) : owner_(&owner) {
            if (owner.free_.empty()) {
                owner.free_.reserve(owner.n_things_ + 1);  // so that whatever is lent out can be taken back
                owner.free_.push_back(std::make_unique<Thing>());
                ++owner.n_things_;
            }
            thing_ = std::move(owner.free_.back());
            owner.free_.pop_back();
        }
        ~Loan() { owner_->free_.push_back(std::move(thing_)); }
        Loan(Loan const&) = delete;
        Loan& operator=(Loan const&) = delete;

        Thing& operator*() const { return *thing_; }
        Thing* operator->() const { return thing_.get(); }

    private:
        Pool* owner_;
        std::unique_ptr<Thing> thing_;
    };

    // Calls the function with everything that is not lent out.
    template <typename Function>
    void for_each_free(Function const& function) {
        for (auto const& thing : free_)
            function(*thing);
    }

private:
    std::vector<std::unique_ptr<Thing>> free_;
    std::size_t n_things_ = 0;
};

struct ThreadScratch {
    explicit ThreadScratch(std::size_t n_attributes) : active(n_attributes) {}

    ScanScratch scan;
    Candidates candidates;
    ActiveAttributes active;
    AttributeOrder order;
    Pool<RowGroup> row_groups;
    Pool<SmallNode> small_nodes;
    Pool<ScratchBuffer<RowBits::Bits>> node_bits;
    TreeScratch tree;
    Tree growing = Tree::unmade();  // a whole tree on its way

    // Of the node that is looked at.
    std::vector<Slot> slots;  // of a small one
    std::vector<std::uint32_t> ends;
    std::vector<Count> totals;
    std::vector<Count> weights;
    ScratchBuffer<Target> targets;
    ScratchBuffer<RowBits::Bits> bits;  // if they are gathered for it alone
    std::vector<RowBits::Bits> varying;
    std::vector<std::uint8_t> is_present;  // per attribute: whether some rows are of that category
    std::vector<Attribute> listed;         // attributes that may vary
    std::vector<Attribute> others;
    std::vector<Attribute> pairs;  // attributes of two values

    // On the way down: the classes of the children of a node, by the depth of the children.
    std::array<std::vector<std::uint32_t>, 2 * (kMaxDepth + 1)> child_ends;
    std::vector<std::uint64_t> marks;  // a bit for each row that goes left
    std::vector<Slot> right;
    ScratchBuffer<RowBits::Bits> right_bits;
    ScratchBuffer<Ordered> divided;  // values by which rows are divided

    ChangedRowList removed;  // of the walk over a tree
    ChangedRowList added;
    ChangedRowList going_right;
    Pool<ChangedRowList> row_lists;
    Pool<std::vector<NodeIndex>> node_lists;
    std::vector<bool> is_stale;  // records of a node that must be made again
    SplitStats found;            // statistics of a node whose split was searched
    SplitStats planned;          // statistics of a node as they would be after a change

    // Overwrites values of rows, some of which may just have been deleted.
    void wipe_values() {
        scan.wipe_values();
        divided.wipe_written();
        bits.wipe_written();
        right_bits.wipe_written();
        node_bits.for_each_free([](auto& its) { its.wipe_written(); });
        small_nodes.for_each_free([](SmallNode& node) { node.wipe_values(); });
        targets.wipe_written();
        candidates.wipe_values();
        for (ChangedRowList* const rows : {&removed, &added, &going_right})
            wipe_and_clear(*rows);
        row_lists.for_each_free(wipe_and_clear<ChangedRow>);
        found.wipe();
        planned.wipe();
    }
};

}  // namespace deciduous
