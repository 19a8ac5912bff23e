// What a node of a regression forest remembers of an attribute, while rows come and go.
#include "stats/target_record.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "target_node.h"

using namespace deciduous;

namespace {

std::vector<std::uint32_t> const kOneColumn = {0};

// The rows of a node of one attribute, and the record of its cuts within a bound.
class Recorded {
public:
    Recorded(std::vector<TargetRow> rows, Key key) : rows_(std::move(rows)), key_(key) {}
    Recorded(std::vector<TargetRow> rows, Key key, Rank bound) : Recorded(std::move(rows), key) {
        TargetNode const its = node();
        ScanScratch scratch;
        find_target_cuts_again(its.rows(), 0, bound, scratch);
        TargetRecord::append(0, scratch.targets, words_);
    }

    // Makes the record of what a scan finds, unless the attribute is constant.
    [[nodiscard]] bool scan(std::uint32_t n_thresholds) {
        TargetNode const its = node();
        ScanScratch scratch;
        Candidates candidates;
        candidates.start(1);
        words_.clear();
        if (scan_valid_targets(its.rows(), 0, {n_thresholds, true}, Tuning{}, candidates, scratch) == Finding::constant)
            return false;
        TargetRecord::append(0, scratch.targets, words_);
        return true;
    }

    // The node after a row came or went; whether the record still knows so many candidates.
    [[nodiscard]] bool add(TargetRow const& row, std::uint32_t n_thresholds) {
        rows_.push_back(row);
        return update({}, {row}, n_thresholds);
    }
    [[nodiscard]] bool remove(TargetRow const& row, std::uint32_t n_thresholds) {
        auto const is_it = [&](TargetRow const& its) {
            return to_value(its.x[0]) == to_value(row.x[0]) && its.target == row.target && its.weight == row.weight;
        };
        auto const place = std::ranges::find_if(rows_, is_it);
        REQUIRE(place != rows_.end());
        TargetRow const gone = *place;
        rows_.erase(place);
        return update({gone}, {}, n_thresholds);
    }
    // The same for several at once.
    [[nodiscard]] bool replace(std::size_t n_removed, std::vector<TargetRow> const& coming,
                               std::uint32_t n_thresholds) {
        std::vector<TargetRow> const leaving(rows_.end() - static_cast<std::ptrdiff_t>(n_removed), rows_.end());
        rows_.resize(rows_.size() - n_removed);
        rows_.insert(rows_.end(), coming.begin(), coming.end());
        return update(leaving, coming, n_thresholds);
    }

    // Whether the record says what one that is made now would say, and offers what a scan finds.
    [[nodiscard]] bool is_like_new(std::uint32_t n_thresholds) {
        TargetNode const its = node();
        ScanScratch scratch;
        TargetRecord const record(words_.data(), its.ranks(0));
        find_target_cuts_again(its.rows(), 0, record.bound(), scratch);
        auto const count = [&](TargetCut const& cut, Target target) { return its.count_beside(0, cut, target); };
        return record.equals(scratch.targets, count) && offered(its, n_thresholds) == scanned(its, n_thresholds);
    }

    [[nodiscard]] std::vector<TargetRow>& rows() { return rows_; }
    [[nodiscard]] WipedVector<Word>& words() { return words_; }
    [[nodiscard]] TargetNode node() const {
        Tuning tuning;
        tuning.max_codes = 1;  // two values would have another record
        return {rows_, kOneColumn, tuning, key_};
    }

private:
    bool update(std::vector<TargetRow> const& removed, std::vector<TargetRow> const& added,
                std::uint32_t n_thresholds) {
        TargetNode const its = node();
        std::vector<Value> values;
        for (auto const* const rows : {&removed, &added})
            for (TargetRow const& row : *rows)
                values.push_back(to_value(row.x[0]));
        Value const* value = values.data();
        std::vector<ChangedRow> leaving;
        std::vector<ChangedRow> coming;
        for (TargetRow const& row : removed)
            leaving.push_back({0, row.vote(), value++});
        for (TargetRow const& row : added)
            coming.push_back({0, row.vote(), value++});
        return TargetRecord(words_.data(), its.ranks(0)).update(its.data(), {leaving, coming}, n_thresholds);
    }

    TargetNode::Listed offered(TargetNode const& its, std::uint32_t n_thresholds) {
        ScanScratch scratch;
        Candidates candidates;
        candidates.start(1);
        TargetRecord(words_.data(), its.ranks(0)).offer(n_thresholds, candidates, scratch);
        return its.listed(candidates);
    }

    static TargetNode::Listed scanned(TargetNode const& its, std::uint32_t n_thresholds) {
        ScanScratch scratch;
        Candidates candidates;
        candidates.start(1);
        (void)scan_valid_targets(its.rows(), 0, {n_thresholds, false}, Tuning{}, candidates, scratch);
        return its.listed(candidates);
    }

    std::vector<TargetRow> rows_;
    Key key_;
    WipedVector<Word> words_;
};

Rank rank_of(Key key, float value) {
    return Ranks(CandidateKeys(key), 0, kNoClass).above(to_value(value));
}

// A node with three rows at each of 10, 20, …, 90, two of them with the target 1 and one with 2, and a record of the
// cuts above 20 and 50. Values that some tests add have ranks beyond the bound.
Key key_of_two_cuts() {
    for (Key key = 0;; ++key) {
        Rank const bound = std::max(rank_of(key, 20), rank_of(key, 50));
        auto const is_beyond = [&](float value) { return rank_of(key, value) > bound; };
        if (std::ranges::all_of(std::vector<float>{5, 10, 25, 30, 40, 45, 55, 60, 70, 75, 80, 90, 95}, is_beyond))
            return key;
    }
}

Key const kKey = key_of_two_cuts();
Rank const kBound = std::max(rank_of(kKey, 20), rank_of(kKey, 50));

Recorded two_cuts() {
    std::vector<TargetRow> rows;
    for (int tens = 1; tens <= 9; ++tens)
        for (Target const target : {1, 1, 2})
            rows.push_back({{static_cast<float>(10 * tens)}, target});
    return {rows, kKey, kBound};
}

}  // namespace

TEST_CASE("a record follows rows that leave at a cut, at its next value, and elsewhere") {
    for (float const value : {50.0F, 60.0F, 20.0F, 30.0F, 10.0F, 40.0F, 90.0F}) {
        Recorded its = two_cuts();
        REQUIRE(its.is_like_new(2));
        CHECK(its.remove({{value}, 1}, 2));
        CHECK(its.is_like_new(2));
        CHECK(its.remove({{value}, 2}, 2));
        CHECK(its.is_like_new(2));
    }
}

TEST_CASE("a record follows rows that come to values that there are, and beyond the bound to others") {
    for (float const value : {50.0F, 60.0F, 20.0F, 30.0F, 10.0F, 40.0F, 5.0F, 45.0F, 75.0F, 95.0F}) {
        Recorded its = two_cuts();
        for (Target const target : {kMaxTarget, -kMaxTarget}) {
            CHECK(its.add({{value}, target, 1000000}, 2));
            CHECK(its.is_like_new(2));
        }
    }
}

TEST_CASE("what is beyond the last row at the next value of a cut is not known") {
    Recorded its = two_cuts();
    CHECK(its.remove({{60}, 1}, 2));
    CHECK(its.remove({{60}, 1}, 2));
    CHECK_FALSE(its.remove({{60}, 2}, 2));
}

TEST_CASE("whether a cut is still a candidate is not known when the last row of one of its two targets left") {
    Recorded its = two_cuts();
    CHECK(its.remove({{50}, 2}, 2));
    CHECK(its.is_like_new(2));
    CHECK_FALSE(its.remove({{60}, 2}, 2));
}

TEST_CASE("a value between a cut and its next one is news, and so is one whose rank is within the bound") {
    CHECK_FALSE(two_cuts().add({{55}, 1}, 2));
    CHECK_FALSE(two_cuts().add({{25}, 1}, 2));
    float within = 61;
    while (rank_of(kKey, within) > kBound)
        within += 0.25F;
    CHECK_FALSE(two_cuts().add({{within}, 1}, 2));
}

TEST_CASE("a cut vanishes with the last row at its value, and its rows are counted with those of the next one") {
    for (bool const is_enough : {true, false}) {
        Recorded its = two_cuts();
        CHECK(its.remove({{20}, 1}, 2));
        CHECK(its.remove({{20}, 1}, 2));
        CHECK(its.remove({{20}, 2}, is_enough ? 1 : 2) == is_enough);
        CHECK(its.is_like_new(1));
        CHECK(its.add({{30}, 5}, 1));  // which is beside no cut any more
        CHECK(its.is_like_new(1));
    }
    Recorded its = two_cuts();  // the last cut has none behind it
    for (Target const target : {1, 1, 2})
        CHECK(its.remove({{50}, target}, 1));
    CHECK(its.is_like_new(1));
}

TEST_CASE("nothing is left of a cut that vanished") {
    Recorded its = two_cuts();
    auto const remembers = [&](float value) {
        return std::ranges::find(its.words(), to_value(value)) != its.words().end();
    };
    REQUIRE(remembers(50));
    for (Target const target : {1, 1, 2})
        CHECK(its.remove({{50}, target}, 1));
    CHECK_FALSE(remembers(50));
    CHECK_FALSE(remembers(60));
    CHECK(remembers(20));
}

TEST_CASE("a record of everything knows that the attribute becomes constant") {
    Recorded its({{{1}, 3}, {{2}, 3}, {{2}, 4}}, kKey, kEverything);
    CHECK(its.is_like_new(kAllThresholds));
    CHECK_FALSE(its.remove({{1}, 3}, kAllThresholds));
    Recorded other({{{1}, 3}, {{1}, 4}, {{2}, 3}}, kKey, kEverything);
    CHECK_FALSE(other.remove({{2}, 3}, 1));
}

TEST_CASE("cuts beside rows of one target are kept, and offered once there is another") {
    Recorded its({{{1}, 3}, {{2}, 3}, {{3}, 3}, {{3}, 4}}, kKey, kEverything);
    CHECK(its.is_like_new(kAllThresholds));
    CHECK(its.add({{1}, 5}, kAllThresholds));
    CHECK(its.is_like_new(kAllThresholds));
}

TEST_CASE("a record that counts wrongly is found out") {
    Recorded its = two_cuts();
    TargetNode const node = its.node();
    ScanScratch scratch;
    find_target_cuts_again(node.rows(), 0, kBound, scratch);
    auto const count = [&](TargetCut const& cut, Target target) { return node.count_beside(0, cut, target); };
    std::size_t const head = TargetRecord::length(0);
    constexpr std::size_t kWordOfCut = sizeof(TargetCut) / sizeof(Word);
    // value, next, rows above the cut before, at the value, at the next one; both targets and their rows; the sum
    for (std::size_t const word : {0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 15})
        for (std::size_t cut = 0; cut < 2; ++cut) {
            WipedVector<Word> wrong = its.words();
            ++wrong[head + cut * kWordOfCut + word];
            CHECK_FALSE(TargetRecord(wrong.data(), node.ranks(0)).equals(scratch.targets, count));
        }
    CHECK(TargetRecord(its.words().data(), node.ranks(0)).equals(scratch.targets, count));
}

TEST_CASE("whatever rows come and go, a record that says that it knows says what a new one would say") {
    std::size_t n_known = 0;
    std::size_t n_unknown = 0;
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
        std::mt19937 random(seed);
        std::uint32_t const kind = random() % 4;
        auto const n_thresholds = random() % 5;  // 0: all of them
        HostileVotes votes(random);
        auto const row = [&] { return TargetRow{{hostile_value(random, kind)}, votes.target(), votes.weight()}; };
        std::vector<TargetRow> rows(20 + random() % 60);
        std::ranges::generate(rows, row);
        Recorded its(rows, seed);
        if (!its.scan(n_thresholds))
            continue;
        for (int step = 0; step < 40; ++step) {
            std::shuffle(its.rows().begin(), its.rows().end(), random);
            std::vector<TargetRow> coming(random() % 3);
            std::ranges::generate(coming, row);
            std::size_t const n_leaving = std::min<std::size_t>(random() % 3, its.rows().size() - 1);
            bool const is_known = its.replace(n_leaving, coming, n_thresholds);
            ++(is_known ? n_known : n_unknown);
            if (is_known)
                REQUIRE(its.is_like_new(n_thresholds));
            else if (!its.scan(n_thresholds))
                break;
        }
    }
    CHECK(n_known > 1000);
    CHECK(n_unknown > 1000);
}
