// What a split remembers, and what is left of it while nobody has looked.
#include "stats/split_stats.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace deciduous;

namespace {

constexpr Word kSecret = 0x1B2C3D4E;

// Records of the attributes 5, 6 and 7, four words each; the one of 6 has a secret.
SplitStats three_records() {
    SplitStats stats;
    stats.start(std::array<Count, 2>{10, 20}, nullptr);
    for (Attribute attribute = 5; attribute < 8; ++attribute) {
        std::array<Word, 4> const record{record_tag(RecordKind::pair, attribute), 4, attribute == 6 ? kSecret : 1, 2};
        stats.append(record.data());
    }
    return stats;
}

}  // namespace

TEST_CASE("an undecided split forgets the records that nobody knows, and keeps the others where they follow") {
    SplitStats stats = three_records();
    CHECK_FALSE(stats.is_undecided());
    stats.leave_undecided({false, true, false});
    CHECK(stats.is_undecided());
    Word const* record = stats.first_record();
    std::array const kinds = {RecordKind::pair, RecordKind::unknown, RecordKind::pair};
    for (Attribute i = 0; i < 3; ++i, record += record_length(record)) {
        CHECK(record_kind(record) == kinds[i]);
        CHECK(record_attribute(record) == 5 + i);
        CHECK(record_length(record) == (i == 1 ? kRecordHead : 4));
    }
    auto const& words = stats.words();
    CHECK(record == words.data() + words.size());
    CHECK(std::ranges::find(words, kSecret) == words.end());
}

TEST_CASE("a split that lost by what is known of it is undecided with all of its records") {
    SplitStats stats = three_records();
    std::size_t const n_words = stats.n_words();
    stats.leave_undecided({false, false, false});
    CHECK(stats.is_undecided());
    CHECK(stats.n_words() == n_words);
    SplitStats copy;
    copy.assign(stats);
    CHECK(copy.is_undecided());
    copy.note_decided();
    CHECK_FALSE(copy.is_undecided());
}

TEST_CASE("the widths of counts do not change the kind of a record") {
    for (RecordKind const kind : {RecordKind::pair, RecordKind::thresholds, RecordKind::prefix, RecordKind::boundaries})
        for (Word const width : {Word{0}, kNarrow, kNarrowest}) {
            std::array<Word, 3> const record{record_tag(kind, 7) | width, 3, 0};
            CHECK(record_kind(record.data()) == kind);
            CHECK(record_attribute(record.data()) == 7);
        }
}
