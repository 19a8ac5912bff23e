// What the core throws of its own. Besides, memory or threads may run out, and a progress callback may throw.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace deciduous {

// A value that the caller should have checked.
struct InvalidArgument : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Rows that the forest does not hold.
struct UnknownRow : std::runtime_error {
    explicit UnknownRow(std::vector<std::int64_t> unknown)
        : std::runtime_error("unknown rows"), ids(std::move(unknown)) {}
    std::vector<std::int64_t> ids;
};

// Stored bytes that no forest would have written; says what is wrong with them.
struct CorruptData : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A prediction asked of a forest without rows.
struct EmptyForest : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A forest that another thread was changing when this process was forked: what is here is half of the change.
struct BrokenForest : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace deciduous
