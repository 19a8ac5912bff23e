// Little-endian bytes, written and read in bulk, in memory that is overwritten before it is given back. The reader
// trusts nothing: every length is checked against what is left.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/wiped.h"

namespace deciduous {

static_assert(std::endian::native == std::endian::little, "model files are defined on little-endian bytes");

class ByteWriter {
public:
    template <typename T>
    void write(T value) {
        write_array(std::span<T const>(&value, 1));
    }

    template <typename T>
    void write_array(std::span<T const> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::size_t const before = bytes_.size();
        bytes_.resize(before + values.size_bytes());
        if (!values.empty())
            std::memcpy(bytes_.data() + before, values.data(), values.size_bytes());
    }

    [[nodiscard]] WipedVector<std::uint8_t> take() { return std::move(bytes_); }

private:
    WipedVector<std::uint8_t> bytes_;
};

class ByteReader {
public:
    explicit ByteReader(std::span<std::uint8_t const> bytes) : bytes_(bytes) {}

    template <typename T>
    [[nodiscard]] T read() {
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }

    // Allocates only after it has seen that the bytes are there.
    template <typename T>
    [[nodiscard]] WipedVector<T> read_array(std::uint64_t n) {
        if (n > bytes_.size() / sizeof(T))
            throw CorruptData("it ends in the middle of an array of " + std::to_string(n) + " elements");
        auto const source = take(n * sizeof(T));
        WipedVector<T> values(n);
        if (n > 0)
            std::memcpy(values.data(), source.data(), source.size());
        return values;
    }

    void require_end() const {
        if (!bytes_.empty())
            throw CorruptData("it has " + std::to_string(bytes_.size()) + " bytes too many");
    }

private:
    std::span<std::uint8_t const> take(std::size_t n) {
        if (n > bytes_.size())
            throw CorruptData("it ends too early");
        auto const taken = bytes_.first(n);
        bytes_ = bytes_.subspan(n);
        return taken;
    }

    std::span<std::uint8_t const> bytes_;
};

}  // namespace deciduous
