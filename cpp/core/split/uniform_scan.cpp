#include "split/uniform_scan.h"

#include <algorithm>
#include <array>

#include "base/kernels.h"
#include "split/arrivals.h"
#include "split/impurity.h"

namespace deciduous {

namespace {

constexpr Ordered kMissingOrdered = to_ordered(kMissing);

class UniformScan {
public:
    UniformScan(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : node_(node), attribute_(attribute), scratch_(scratch) {}

    Finding run(UniformRequest const& request, Candidates& candidates) {
        if (auto const values = count_two_valued(node_, attribute_, scratch_.pair.at_high)) {
            scratch_.pair.values = *values;
            return take_pair(request, candidates);
        }
        scratch_.values.gather(node_, attribute_);
        if (!find_range(request.is_recorded))
            return Finding::constant;
        find_thresholds(request);
        offer(candidates);
        return Finding::cuts;
    }

    void find_again(UniformRequest const& request) {
        scratch_.values.gather(node_, attribute_);
        (void)find_range(request.is_recorded);
        find_thresholds(request);
    }

private:
    Finding take_pair(UniformRequest const& request, Candidates& candidates) {
        auto const& [values, at_high] = scratch_.pair;
        Count const n_high = sum(at_high);
        if (n_high == 0 || n_high == sum(node_.totals))
            return Finding::constant;
        append_pair(attribute_, values, at_high.data(), node_.totals, candidates,
                    [&](std::span<Count const>) { return rank_of_pair(scratch_.pair.values, request); });
        return Finding::pair;
    }

    void find_thresholds(UniformRequest const& request) {
        draw(request);
        count();
    }

    [[nodiscard]] FoundThresholds& found() { return scratch_.thresholds; }

    [[nodiscard]] Count count_equal(Ordered value) const {
        auto const values = scratch_.values.all();
        Count n_equal = 0;
        kernels::chosen->count_equal(&value, 1, values.data(), values.size(), &n_equal);
        return n_equal;
    }

    // The range of the numbers, and how many rows hold its ends. False if there is a single value.
    bool find_range(bool is_recorded) {
        auto [lowest, highest] = scratch_.values.range();
        if (lowest == highest)
            return false;
        found().n_missing = 0;
        if (highest == kMissingOrdered) {
            found().n_missing = count_equal(kMissingOrdered);
            highest = lowest;
            for (Ordered const value : scratch_.values.all())
                highest = value < kMissingOrdered ? std::max(highest, value) : highest;
        }
        found().lowest = from_ordered(lowest);
        found().highest = from_ordered(highest);
        if (is_recorded) {
            auto const values = scratch_.values.all();
            scratch_.here[0] = lowest;
            scratch_.here[1] = highest;
            std::array<Count, 2> n_equal{};
            kernels::chosen->count_equal(scratch_.here.data(), 2, values.data(), values.size(), n_equal.data());
            found().n_lowest = n_equal[0];
            found().n_highest = n_equal[1];
        }
        return true;
    }

    void draw(UniformRequest const& request) {
        bool const has_range = found().lowest < found().highest;
        bool const parts_missing = found().n_missing > 0 && !(has_range && request.is_random_node);
        std::uint32_t const n_arrivals = has_range ? request.n_arrivals : 0;
        found().start(node_.n_classes(), n_arrivals + (parts_missing ? 1 : 0));
        if (has_range) {
            Value* const points = scratch_.arrivals.take(n_arrivals + Arrivals::kMoreRoom);
            Arrivals(node_.key, attribute_, found().lowest, found().highest).take(n_arrivals, points);
            for (std::uint32_t i = 0; i < n_arrivals; ++i)
                found().set(i, points[i], i);
        }
        if (parts_missing)
            found().set(n_arrivals, kInfinity, request.n_arrivals);
        if (request.is_recorded)
            found().sort();
    }

    // Rows per class at or below each threshold.
    void count() {
        std::size_t const n = found().size();
        Ordered* const points = scratch_.valid_values.take(n);
        for (std::size_t i = 0; i < n; ++i)
            points[i] = to_ordered(found().threshold(i));
        scratch_.left.resize(std::max(scratch_.left.size(), n));
        Count* const counts = scratch_.left.data();
        node_.for_each_class([&](std::size_t y, std::size_t first, std::size_t) {
            count_class({points, n}, scratch_.values.of_class(y), first, counts);
            for (std::size_t i = 0; i < n; ++i)
                found().left(i)[y] = counts[i];
        });
    }

    void count_class(std::span<Ordered const> points, std::span<Ordered const> values, std::size_t first_row,
                     Count* counts) const {
        if (node_.weights.empty()) {
            kernels::chosen->count_below(points.data(), points.size(), values.data(), values.size(), counts);
            return;
        }
        for (std::size_t i = 0; i < points.size(); ++i) {
            counts[i] = 0;
            for (std::size_t row = 0; row < values.size(); ++row)
                counts[i] += values[row] <= points[i] ? node_.weights[first_row + row] : 0;
        }
    }

    void offer(Candidates& candidates) {
        Count* const left = candidates.append_many(found().size(), [&](std::size_t i, Candidate& its) {
            its.attribute = attribute_;
            its.value = found().threshold(i);
            its.next = kNoValue;
            its.rank = found().rank(i);
        });
        std::copy_n(found().left(0), found().size() * node_.n_classes(), left);
    }

    NodeRows const& node_;
    Attribute attribute_;
    ScanScratch& scratch_;
};

}  // namespace

Finding scan_uniform(NodeRows const& node, Attribute attribute, UniformRequest const& request, Candidates& candidates,
                     ScanScratch& scratch) {
    return UniformScan(node, attribute, scratch).run(request, candidates);
}

void find_thresholds_again(NodeRows const& node, Attribute attribute, UniformRequest const& request,
                           ScanScratch& scratch) {
    UniformScan(node, attribute, scratch).find_again(request);
}

Value uniform_threshold(Key node, Candidate const& candidate) {
    if (candidate.next == kNoValue)
        return candidate.value;
    if (candidate.next == kMissing)
        return kInfinity;
    return Arrivals(node, candidate.attribute, candidate.value, candidate.next).first();
}

}  // namespace deciduous
