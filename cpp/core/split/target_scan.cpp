#include "split/target_scan.h"

#include <algorithm>
#include <numeric>

#include "base/kernels.h"
#include "split/attribute_scan.h"
#include "split/target_codes.h"
#include "split/target_look_ups.h"

namespace deciduous {

namespace {

// The rows of a node in the order of their values of an attribute.
class SortedRows {
public:
    // If the node is not small, its values were gathered.
    SortedRows(NodeRows const& node, Attribute attribute, ScanScratch& scratch)
        : node_(node),
          attribute_(attribute),
          scratch_(scratch),
          ranks_(node.keys, attribute, node.dominant),
          n_(node.size()),
          values_(scratch.values.in_any_order()),
          targets_(scratch.sorted_targets.take(n_)) {
        for (auto* const its : {&scratch.near_labels, &scratch.labels_beside, &scratch.cut_places})
            if (its->size() < n_ + kernels::kLanes)
                its->resize(2 * n_ + kernels::kLanes);
        numbers_ = scratch.near_labels.data();
        if (node.small != nullptr) {
            values_ = scratch.near_values.take(n_ + kernels::kLanes);
            list(*node.small, node.small->sorted(node.data, attribute, node.set));
        } else {
            sort();
        }
    }

    [[nodiscard]] bool are_constant() const { return values_[0] == values_[n_ - 1]; }

    void offer(ValidRequest const& request, std::uint32_t reserve, Candidates& candidates) {
        bool const are_all_wanted = request.n_thresholds == kAllThresholds;
        list_valid();
        if (request.is_recorded || (!are_all_wanted && n_listed_ > request.n_thresholds)) {
            rank_listed();
            if (request.is_recorded)
                find_cuts(are_all_wanted ? kEverything
                                         : last_wanted(scratch_.valid_ranks, request.n_thresholds + reserve));
            if (!are_all_wanted)
                drop_beyond(last_wanted(scratch_.valid_ranks, request.n_thresholds));
        }
        offer_listed(candidates);
    }

    // Finds all cuts above values whose rank is within the bound.
    void find_cuts(Rank bound) {
        FoundTargets& found = scratch_.targets;
        found.bound = bound;
        found.cuts.clear();
        TargetCut cut;
        for (std::size_t begin = 0; begin < n_;) {
            std::size_t const end = end_of_value(begin);
            if (cut.next == kNoValue) {  // the one below waits for the next value
                cut.next = from_ordered(values_[begin]);
                cut.n_next = take_beside(begin, end, cut);
                found.cuts.push_back(cut);
                cut = {};
            }
            for (std::size_t row = begin; row < end; ++row) {
                cut.n_rows += weight(row);
                cut.sum += static_cast<TargetSum>(weight(row)) * targets_[row];
            }
            if (Value const value = from_ordered(values_[begin]); ranks_.above(value) <= bound) {
                cut.value = value;
                cut.next = kNoValue;
                cut.n_at = take_beside(begin, end, cut);
            }
            begin = end;
        }
        if (cut.next == kNoValue)
            found.cuts.push_back(cut);
    }

private:
    void list(SmallNode const& small, KnownValues const& known) {
        std::size_t n = 0;
        known.for_each_in_order(node_.set, [&](std::size_t row) {
            values_[n] = known.values[row];
            targets_[n++] = small.targets()[row];
        });
    }

    void sort() {
        std::iota(numbers_, numbers_ + n_, 0U);
        kernels::chosen->sort(values_, numbers_, n_, scratch_.values_beside.take(n_ + kernels::kLanes),
                              scratch_.labels_beside.data());
        for (std::size_t row = 0; row < n_; ++row)
            targets_[row] = node_.targets[numbers_[row]];
    }

    [[nodiscard]] Count weight(std::size_t row) const { return node_.weight(numbers_[row]); }

    [[nodiscard]] std::size_t end_of_value(std::size_t begin) const {
        std::size_t end = begin + 1;
        while (end < n_ && values_[end] == values_[begin])
            ++end;
        return end;
    }

    // Takes the rows of one of the two values of a cut in; how many they are, by weight.
    [[nodiscard]] Count take_beside(std::size_t begin, std::size_t end, TargetCut& cut) const {
        Count n = 0;
        for (std::size_t row = begin; row < end; ++row) {
            n += weight(row);
            cut.beside.add(targets_[row], weight(row));
        }
        return n;
    }

    // Lists the last rows of values that are valid candidates together with the next value: unless all rows at both
    // have one target. That shows at the last row of the next value. Without branches, as the outcomes would be random.
    void list_valid() {
        Ordered const* const values = values_;
        Target const* const targets = targets_;
        std::uint32_t* const places = scratch_.cut_places.data();
        std::size_t n_listed = 0;
        std::size_t lower = 0;      // the last row of the value before
        std::size_t has_lower = 0;  // whether there is one
        std::size_t differ = 0;     // whether its rows have several targets, or another one than the row behind them
        std::size_t is_mixed = 0;   // whether the rows of this value have several
        for (std::size_t row = 1; row < n_; ++row) {
            bool const is_new = values[row] != values[row - 1];
            std::size_t const is_other = targets[row] != targets[row - 1] ? 1 : 0;
            places[n_listed] = static_cast<std::uint32_t>(lower);
            n_listed += is_new ? has_lower & (differ | is_mixed) : 0;
            lower = is_new ? row - 1 : lower;
            differ = is_new ? is_mixed | is_other : differ;
            is_mixed = is_new ? 0 : is_mixed | is_other;
            has_lower |= is_new ? 1 : 0;
        }
        places[n_listed] = static_cast<std::uint32_t>(lower);
        n_listed_ = n_listed + (has_lower & (differ | is_mixed));
    }

    void rank_listed() {
        Ordered* const lower = scratch_.valid_values.take(n_listed_ + kernels::kLanes);
        for (std::size_t i = 0; i < n_listed_; ++i)
            lower[i] = values_[scratch_.cut_places[i]];
        scratch_.valid_ranks.resize(n_listed_);
        ranks_.find_above(lower, n_listed_, scratch_.valid_ranks.data());
    }

    // Of the listed ones.
    void drop_beyond(Rank last) {
        std::size_t n_kept = 0;
        for (std::size_t i = 0; i < n_listed_; ++i) {
            scratch_.cut_places[n_kept] = scratch_.cut_places[i];
            n_kept += from_ordered(scratch_.valid_ranks[i]) <= last ? 1 : 0;
        }
        n_listed_ = n_kept;
    }

    // Offers what is listed. The targets are not needed any more then.
    void offer_listed(Candidates& candidates) {
        std::size_t const first = candidates.size();
        std::uint32_t const* const places = scratch_.cut_places.data();
        Count* const left = candidates.append_many(n_listed_, [&](std::size_t i, Candidate& its) {
            its.attribute = attribute_;
            its.value = from_ordered(values_[places[i]]);
            its.next = from_ordered(values_[places[i] + 1]);
            its.rank = 1;
        });
        if (node_.has_light_sums()) {
            std::inclusive_scan(targets_, targets_ + n_, targets_);
            for (std::size_t i = 0; i < n_listed_; ++i) {
                left[i] = places[i] + 1;
                candidates.set_target_sum(first + i, targets_[places[i]]);
            }
            return;
        }
        TargetSum sum = 0;
        Count n_left = 0;
        for (std::size_t i = 0, row = 0; i < n_listed_; ++i) {
            for (; row <= places[i]; ++row) {
                sum += static_cast<TargetSum>(weight(row)) * targets_[row];
                n_left += weight(row);
            }
            left[i] = n_left;
            candidates.set_target_sum(first + i, sum);
        }
    }

    NodeRows const& node_;
    Attribute attribute_;
    ScanScratch& scratch_;
    Ranks ranks_;
    std::size_t n_;
    Ordered* values_;
    Target* targets_;
    std::uint32_t* numbers_ = nullptr;  // of the rows, unless they are few: these have no weights
    std::size_t n_listed_ = 0;          // candidates in cut_places
};

// Of the targets of the rows for which `is_wanted(i)`.
template <typename IsWanted>
TargetSum sum_of_targets_where(NodeRows const& node, IsWanted const& is_wanted) {
    if (node.has_light_sums()) {
        Target sum = 0;
        for (std::size_t i = 0; i < node.targets.size(); ++i)
            sum += is_wanted(i) ? node.targets[i] : 0;
        return sum;
    }
    TargetSum sum = 0;
    for (std::size_t i = 0; i < node.targets.size(); ++i)
        sum += is_wanted(i) ? node.weighted_target(i) : 0;
    return sum;
}

// The sum of the targets at the lower value of an attribute of two values.
TargetSum sum_at_low(NodeRows const& node, Attribute attribute, Value low) {
    auto const bit = node.data.bit_of(attribute);
    if (!node.bits.empty() && bit) {
        RowBits::Bits const* const words = node.bits.word(*bit / RowBits::kBitsPerWord);
        auto const shift = static_cast<unsigned>(*bit % RowBits::kBitsPerWord);
        bool const is_set_at_low = node.data.values_of_bits(attribute)->set == low;
        if (node.has_light_sums())
            return kernels::chosen->sum_where_bit(words, node.targets.data(), node.size(), shift, is_set_at_low);
        return sum_of_targets_where(node,
                                    [&](std::size_t i) { return ((words[i] >> shift & 1) != 0) == is_set_at_low; });
    }
    return node.data.visit(attribute, [&](auto view) {
        return sum_of_targets_where(node, [&](std::size_t i) { return view(node.slots[i]) == low; });
    });
}

// Sums the targets of the rows at or below the values of the candidates from `first` on.
void sum_left(NodeRows const& node, std::span<Ordered const> values, std::size_t first, Candidates& candidates,
              ScanScratch& scratch) {
    std::size_t const n = candidates.size() - first;
    auto& order = scratch.cut_places;
    order.resize(std::max(order.size(), n));
    std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), 0U);
    auto const value_of = [&](std::uint32_t i) { return to_ordered(candidates[first + i].value); };
    std::ranges::sort(std::span(order).first(n), {}, value_of);
    Ordered* const bounds = scratch.valid_values.take(n + kernels::kLanes);
    for (std::size_t i = 0; i < n; ++i)
        bounds[i] = value_of(order[i]);
    auto& sums = scratch.target_sums;  // between one bound and the next
    sums.assign(n + 1, 0);
    auto& places = scratch.target_look_ups.places;
    if (places.size() < values.size() + kernels::kLanes)
        places.resize(2 * values.size() + kernels::kLanes);
    kernels::chosen->find_places_among(bounds, n, values.data(), values.size(), places.data());
    for (std::size_t row = 0; row < values.size(); ++row)
        sums[places[row]] += node.weighted_target(row);
    TargetSum left = 0;
    for (std::size_t i = 0; i < n; ++i)
        candidates.set_target_sum(first + order[i], left += sums[i]);
}

// Offers those of the cuts that were found.
void offer_found(NodeRows const& node, Attribute attribute, std::uint32_t n_thresholds, Candidates& candidates,
                 ScanScratch& scratch) {
    Ranks const ranks(node.keys, attribute, node.dominant);
    Rank const last = last_wanted(scratch.valid_ranks, n_thresholds);
    offer_cuts(
        attribute, scratch.targets.cuts.size(), [&](std::size_t i) { return scratch.targets.cuts[i]; },
        [&](TargetCut const& cut) { return ranks.above(cut.value) <= last; }, candidates);
}

// Appends the candidate between two values, if both have rows; it is valid, as not all rows of the node have one
// target.
Finding take_target_pair(NodeRows const& node, Attribute attribute, FoundPair& pair, Candidates& candidates) {
    Finding const finding = take_pair(node, attribute, pair, candidates);
    if (finding == Finding::pair) {
        pair.sum_at_low = sum_at_low(node, attribute, pair.values.low);
        candidates.set_target_sum(candidates.size() - 1, pair.sum_at_low);
    }
    return finding;
}

}  // namespace

void find_target_cuts_again(NodeRows const& node, Attribute attribute, Rank bound, ScanScratch& scratch) {
    scratch.values.gather(node, attribute);
    SortedRows(node, attribute, scratch).find_cuts(bound);
}

Finding scan_valid_targets(NodeRows const& node, Attribute attribute, ValidRequest const& request, Tuning const& tuning,
                           Candidates& candidates, ScanScratch& scratch) {
    if (node.small != nullptr) {
        SortedRows rows(node, attribute, scratch);
        if (rows.are_constant())
            return Finding::constant;
        rows.offer(request, tuning.reserve, candidates);
        return Finding::cuts;
    }
    if (auto const values = count_two_valued(node, attribute, scratch.pair.at_high)) {
        scratch.pair.values = *values;
        return take_target_pair(node, attribute, scratch.pair, candidates);
    }
    bool const are_all_wanted = request.n_thresholds == kAllThresholds;
    std::uint32_t const n_wanted =
        are_all_wanted ? kAllThresholds : request.n_thresholds + (request.is_recorded ? tuning.reserve : 0);
    if (TargetCodes::pays(*node.data.numeric_column(attribute), node.size(), tuning)) {
        if (!TargetCodes(node, attribute, scratch).find(n_wanted, request.is_recorded))
            return Finding::constant;
        offer_found(node, attribute, request.n_thresholds, candidates, scratch);
        return Finding::cuts;
    }
    scratch.values.gather(node, attribute);
    if (scratch.values.is_constant())
        return Finding::constant;
    TargetLookUps look_ups(node, attribute, scratch);
    if (!are_all_wanted && look_ups.pays(n_wanted, tuning) && look_ups.find(n_wanted)) {
        offer_found(node, attribute, request.n_thresholds, candidates, scratch);
        return Finding::cuts;
    }
    SortedRows(node, attribute, scratch).offer(request, tuning.reserve, candidates);
    return Finding::cuts;
}

Finding scan_uniform_targets(NodeRows const& node, Attribute attribute, UniformRequest const& request,
                             Candidates& candidates, ScanScratch& scratch) {
    std::size_t const first = candidates.size();
    Finding const finding = scan_uniform(node, attribute, request, candidates, scratch);
    if (finding == Finding::constant)
        return finding;
    if (finding == Finding::pair)
        scratch.values.gather(node, attribute);
    sum_left(node, scratch.values.all(), first, candidates, scratch);
    return finding;
}

TargetSum sum_of_targets(NodeRows const& node) {
    return sum_of_targets_where(node, [](std::size_t) { return true; });
}

TwoTargets two_targets_of(NodeRows const& node) {
    if (node.targets.empty())
        return {};
    Target const first = node.targets[0];
    auto const other = std::ranges::find_if(node.targets, [&](Target target) { return target != first; });
    if (other == node.targets.end())
        return {first, 0, sum(node.totals), 0};
    auto const count = [&](Target wanted) {
        if (node.weights.empty())
            return static_cast<Count>(std::ranges::count(node.targets, wanted));
        Count n = 0;
        for (std::size_t i = 0; i < node.targets.size(); ++i)
            n += node.targets[i] == wanted ? node.weights[i] : 0;
        return n;
    };
    return {first, *other, count(first), count(*other)};
}

}  // namespace deciduous
