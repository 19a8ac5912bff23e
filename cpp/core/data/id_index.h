// From row ids to slots: an open-addressing table of slots. The ids themselves live in the data set, so the table holds
// no copy of them and takes 4 bytes a place. Ids come from users and from files, so they are hashed with a key that is
// random for each process: ids that collide in one are no trouble to another.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/keyed_hash.h"
#include "base/types.h"
#include "base/wiped.h"

namespace deciduous {

class IdIndex {
public:
    explicit IdIndex(HashKey key = process_key()) : key_(key) {}

    // `ids` gives the id of each slot in the index.
    [[nodiscard]] std::optional<Slot> find(RowId id, WipedVector<RowId> const& ids) const {
        if (places_.empty())
            return std::nullopt;
        for (std::size_t place = home(id);; place = next(place)) {
            if (places_[place] == kEmpty)
                return std::nullopt;
            if (ids[places_[place]] == id)
                return places_[place];
        }
    }

    // Makes room for more slots, so that adding them cannot fail.
    void reserve(std::size_t n_more, WipedVector<RowId> const& ids) {
        while (2 * (n_used_ + n_more) > places_.size())
            grow(ids);
    }

    // Adds a slot whose id is not in the index, or is that of a slot that leaves.
    void insert(Slot slot, WipedVector<RowId> const& ids) {
        reserve(1, ids);
        put(slot, ids);
        ++n_used_;
    }

    // Removes a slot that is in the index.
    void erase(Slot slot, WipedVector<RowId> const& ids) {
        std::size_t hole = home(ids[slot]);
        while (places_[hole] != slot)
            hole = next(hole);
        // Close the gap: move back every later entry of the run that the hole would hide from its home.
        for (std::size_t place = next(hole); places_[place] != kEmpty; place = next(place)) {
            std::size_t const distance = (place - home(ids[places_[place]])) & mask();
            if (distance >= ((place - hole) & mask())) {
                places_[hole] = places_[place];
                hole = place;
            }
        }
        places_[hole] = kEmpty;
        --n_used_;
    }

    [[nodiscard]] std::size_t size() const { return n_used_; }
    [[nodiscard]] std::size_t memory() const { return places_.capacity() * sizeof(Slot); }

    // How many places beyond the first one it takes to find all of them.
    [[nodiscard]] std::size_t n_steps(WipedVector<RowId> const& ids) const {
        std::size_t n = 0;
        for (std::size_t place = 0; place < places_.size(); ++place)
            if (places_[place] != kEmpty)
                n += (place - home(ids[places_[place]])) & mask();
        return n;
    }

private:
    static constexpr Slot kEmpty = ~Slot{0};

    [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
    [[nodiscard]] std::size_t home(RowId id) const { return keyed_hash(key_, static_cast<std::uint64_t>(id)) & mask(); }
    [[nodiscard]] std::size_t next(std::size_t place) const { return (place + 1) & mask(); }

    void put(Slot slot, WipedVector<RowId> const& ids) {
        std::size_t place = home(ids[slot]);
        while (places_[place] != kEmpty)
            place = next(place);
        places_[place] = slot;
    }

    void grow(WipedVector<RowId> const& ids) {
        std::vector<Slot> old(places_.empty() ? 16 : 2 * places_.size(), kEmpty);
        places_.swap(old);
        for (Slot const slot : old)
            if (slot != kEmpty)
                put(slot, ids);
    }

    HashKey key_;
    std::vector<Slot> places_;
    std::size_t n_used_ = 0;
};

}  // namespace deciduous
