#include "split/uniform_scan.h"

#include <algorithm>
#include <array>

#include "base/kernels.h"
#include "split/arrivals.h"
#include "split/impurity.h"
#include "split/noise.h"

namespace deciduous {

namespace {

constexpr Ordered kMissingOrdered = to_ordered(kMissing);

class UniformScan {
public:
    UniformScan(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : node_(node), attribute_(attribute), scratch_(scratch) {}

    Finding run(UniformRequest const& request, Candidates& candidates) {
        bool const are_few = node_.small != nullptr;
        if (auto const values = are_few ? std::nullopt : count_two_valued(node_, attribute_, scratch_.pair.at_high)) {
            scratch_.pair.values = *values;
            return take_pair(request, candidates);
        }
        scratch_.values.gather(node_, attribute_);
        if (!find_range(request.is_recorded))
            return Finding::constant;
        if (are_few && node_.size() == 2)
            offer_pair(request, candidates);
        else
            offer(request, candidates);
        return Finding::cuts;
    }

    void find_again(UniformRequest const& request) {
        scratch_.values.gather(node_, attribute_);
        (void)find_range(request.is_recorded);
        draw(request);
        count_points(found().points(), found().left(0));
    }

private:
    Finding take_pair(UniformRequest const& request, Candidates& candidates) {
        FoundPair const& pair = scratch_.pair;
        Count const n_high = sum(pair.at_high);
        if (n_high == 0 || n_high == sum(node_.totals))
            return Finding::constant;
        append_pair(attribute_, pair.values, pair.at_high.data(), node_.totals, candidates,
                    [&](std::span<Count const>) { return rank_of_pair(pair.values, request); });
        return Finding::pair;
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
        std::size_t const n = n_arrivals + (parts_missing ? 1 : 0);
        Ordered* const points = found().start(node_.n_classes(), n);
        if (has_range) {
            Value* const arrivals = scratch_.arrivals.take(n_arrivals + Arrivals::kMoreRoom);
            Arrivals(node_.key, attribute_, found().lowest, found().highest).take(n_arrivals, arrivals);
            std::transform(arrivals, arrivals + n_arrivals, points, [](Value value) { return to_ordered(value); });
        }
        if (parts_missing) {
            points[n_arrivals] = to_ordered(kInfinity);
            found().set_last_rank(request.n_arrivals);
        }
        if (request.is_recorded || may_be_noisy(node_.totals))
            found().sort();
    }

    // The only two rows, which have two values: all arrivals make the same split.
    void offer_pair(UniformRequest const& request, Candidates& candidates) {
        auto const [lowest, highest] = scratch_.values.range();
        TwoValues const values{from_ordered(lowest), from_ordered(highest)};
        scratch_.here[0] = lowest;
        count_points({scratch_.here.data(), 1},
                     candidates.append(attribute_, values.low, values.high, rank_of_pair(values, request)));
    }

    void offer(UniformRequest const& request, Candidates& candidates) {
        draw(request);
        Count* const left = candidates.append_many(found().size(), [&](std::size_t i, Candidate& its) {
            its.attribute = attribute_;
            its.value = found().threshold(i);
            its.next = kNoValue;
            its.rank = found().rank(i);
        });
        count_points(found().points(), left);
        if (request.is_recorded)
            std::copy_n(left, found().size() * node_.n_classes(), found().left(0));
    }

    // Rows per class at or below each of some points.
    void count_points(std::span<Ordered const> points, Count* left) const {
        std::size_t const n_classes = node_.n_classes();
        node_.for_each_class([&](std::size_t y, std::size_t first_row, std::size_t) {
            auto const values = scratch_.values.of_class(y);
            if (node_.weights.empty()) {
                kernels::chosen->count_below(points.data(), points.size(), values.data(), values.size(), left + y,
                                             n_classes);
                return;
            }
            for (std::size_t i = 0; i < points.size(); ++i) {
                Count n_below = 0;
                for (std::size_t row = 0; row < values.size(); ++row)
                    n_below += values[row] <= points[i] ? node_.weights[first_row + row] : 0;
                left[i * n_classes + y] = n_below;
            }
        });
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
