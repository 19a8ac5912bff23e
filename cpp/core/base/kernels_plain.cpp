// Kernels for any processor: compilers make of these loops what it can do.
#include "base/kernels_of.h"

namespace deciduous::kernels {
namespace {

struct Plain {
    static constexpr std::size_t kWidth = 4;
    using Vector = Ordered __attribute__((vector_size(kWidth * sizeof(Ordered))));
    using Doubles = double __attribute__((vector_size(16)));
    using Words = std::uint64_t __attribute__((vector_size(16)));
    using Mask = Vector;  // -1 where it holds

    static Vector load(Ordered const* numbers) { return load_first(numbers, kWidth); }
    static Vector load_first(Ordered const* numbers, std::size_t n) {
        Vector vector{};
        std::memcpy(&vector, numbers, n * sizeof(Ordered));
        return vector;
    }
    static Vector all(Ordered number) { return Vector{} + number; }
    static Vector sum(Vector a, Vector b) { return a + b; }
    static Vector difference(Vector a, Vector b) { return a - b; }
    static Vector least(Vector a, Vector b) { return a < b ? a : b; }
    static Vector most(Vector a, Vector b) { return a > b ? a : b; }
    static Vector select(Mask mask, Vector a, Vector b) { return mask ? a : b; }
    static Vector least_where(Mask mask, Vector a, Vector b) { return (mask & (b < a)) ? b : a; }
    static Vector most_where(Mask mask, Vector a, Vector b) { return (mask & (b > a)) ? b : a; }
    static Vector more_where(Mask mask, Vector a) { return a - mask; }
    static Ordered lowest(Vector numbers) {
        Ordered lowest = numbers[0];
        for (std::size_t i = 1; i < kWidth; ++i)
            lowest = numbers[i] < lowest ? numbers[i] : lowest;
        return lowest;
    }
    static Ordered highest(Vector numbers) { return ~lowest(~numbers); }

    static Mask greater(Vector a, Vector b) { return a > b; }
    static Mask equal(Vector a, Vector b) { return a == b; }
    static Mask first(std::size_t n) { return Vector{0, 1, 2, 3} < static_cast<Ordered>(n); }
    static Mask both(Mask a, Mask b) { return a & b; }
    static Mask either(Mask a, Mask b) { return a | b; }
    static Mask without(Mask a, Mask b) { return a & ~b; }
    static std::uint32_t bits(Mask mask) {
        Vector const weighted = mask & Vector{1, 2, 4, 8};
        return static_cast<std::uint32_t>(weighted[0] + weighted[1] + weighted[2] + weighted[3]);
    }
    using Counter = Vector;
    static void count(Mask mask, Counter& counter) { counter -= mask; }
    static std::uint32_t total(Counter counter) {
        return static_cast<std::uint32_t>(counter[0] + counter[1] + counter[2] + counter[3]);
    }

    static std::size_t keep(std::uint32_t* to, Vector numbers, std::uint32_t bits) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < kWidth; ++i) {
            to[n] = static_cast<std::uint32_t>(numbers[i]);
            n += bits >> i & 1;
        }
        return n;
    }
    static std::size_t keep_words(std::uint64_t* to, Vector numbers, std::uint32_t bits) {
        std::uint64_t words[kWidth / 2];
        std::memcpy(words, &numbers, sizeof words);
        to[0] = words[0];
        to[bits & 1] = words[1];
        return (bits & 1) + (bits >> 1);
    }

    static std::uint32_t test_words(std::uint64_t const* words, std::uint64_t bit) {
        return ((words[0] & bit) != 0 ? 1 : 0) | ((words[1] & bit) != 0 ? 2 : 0);
    }

    static std::uint32_t varying_words(std::uint64_t const* words, std::uint64_t set) {
        auto const is_varying = [&](std::uint64_t word) { return (word & set) != 0 && (word & set) != set; };
        return (is_varying(words[0]) ? 1U : 0U) | (is_varying(words[1]) ? 2U : 0U);
    }

    static std::uint64_t spread_bits(std::uint64_t bits, std::uint64_t where) {
        std::uint64_t spread = 0;
        for (; where != 0; where &= where - 1, bits >>= 1)
            spread |= (bits & 1) != 0 ? where & (~where + 1) : 0;
        return spread;
    }
    static std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t where) {
        std::uint64_t gathered = 0;
        for (std::size_t i = 0; where != 0; where &= where - 1, ++i)
            gathered |= std::uint64_t{(bits & where & (~where + 1)) != 0} << i;
        return gathered;
    }
};

}  // namespace

extern Set const kPlain;
Set const kPlain = KernelsOf<Plain>::set("plain");

}  // namespace deciduous::kernels
