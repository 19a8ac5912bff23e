// Kernels for processors with AVX-512 (x86-64-v4).
#include "base/kernels_of.h"

#ifdef __AVX512F__
#include <immintrin.h>

namespace deciduous::kernels {
namespace {

struct Avx512 {
    using Vector = __m512i;
    using Mask = __mmask16;
    static constexpr std::size_t kWidth = 16;
    using Doubles = double __attribute__((vector_size(64)));
    using Words = std::uint64_t __attribute__((vector_size(64)));

    static Vector load(Ordered const* numbers) { return _mm512_loadu_si512(numbers); }
    static Vector load_first(Ordered const* numbers, std::size_t n) {
        return _mm512_maskz_loadu_epi32(first(n), numbers);
    }
    static Vector all(Ordered number) { return _mm512_set1_epi32(number); }
    static Vector sum(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
    static Vector difference(Vector a, Vector b) { return _mm512_sub_epi32(a, b); }
    static Vector least(Vector a, Vector b) { return _mm512_min_epi32(a, b); }
    static Vector most(Vector a, Vector b) { return _mm512_max_epi32(a, b); }
    static Vector select(Mask mask, Vector a, Vector b) { return _mm512_mask_blend_epi32(mask, b, a); }
    static Vector least_where(Mask mask, Vector a, Vector b) { return _mm512_mask_min_epi32(a, mask, a, b); }
    static Vector most_where(Mask mask, Vector a, Vector b) { return _mm512_mask_max_epi32(a, mask, a, b); }
    static Vector more_where(Mask mask, Vector a) { return _mm512_mask_add_epi32(a, mask, a, all(1)); }
    static Ordered lowest(Vector numbers) { return _mm512_reduce_min_epi32(numbers); }
    static Ordered highest(Vector numbers) { return _mm512_reduce_max_epi32(numbers); }

    static Mask greater(Vector a, Vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
    static Mask equal(Vector a, Vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Mask first(std::size_t n) { return static_cast<Mask>((1U << n) - 1); }
    static Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
    static Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
    static Mask without(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
    static std::uint32_t bits(Mask mask) { return mask; }

    using Counter = std::uint32_t;
    static void count(Mask mask, Counter& counter) { counter += static_cast<std::uint32_t>(_mm_popcnt_u32(mask)); }
    static std::uint32_t total(Counter counter) { return counter; }

    // In a register first: some processors take long to compress to memory.
    static std::size_t keep(std::uint32_t* to, Vector numbers, std::uint32_t bits) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<Mask>(bits), numbers));
        return static_cast<std::size_t>(_mm_popcnt_u32(bits));
    }
    static std::size_t keep_words(std::uint64_t* to, Vector numbers, std::uint32_t bits) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), numbers));
        return static_cast<std::size_t>(_mm_popcnt_u32(bits));
    }

    static std::uint32_t test_words(std::uint64_t const* words, std::uint64_t bit) {
        return _mm512_test_epi64_mask(_mm512_loadu_si512(words), _mm512_set1_epi64(static_cast<long long>(bit)));
    }

    static std::uint32_t varying_words(std::uint64_t const* words, std::uint64_t set) {
        __m512i const all = _mm512_set1_epi64(static_cast<long long>(set));
        __m512i const those = _mm512_and_si512(_mm512_loadu_si512(words), all);
        return _mm512_mask_cmpneq_epi64_mask(_mm512_test_epi64_mask(those, those), those, all);
    }

    static std::uint64_t spread_bits(std::uint64_t bits, std::uint64_t where) { return _pdep_u64(bits, where); }
    static std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t where) { return _pext_u64(bits, where); }
};

}  // namespace

extern Set const kAvx512;
Set const kAvx512 = KernelsOf<Avx512>::set("avx512");

}  // namespace deciduous::kernels
#endif
