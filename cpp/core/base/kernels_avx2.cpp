// Kernels for processors with AVX2 (x86-64-v3).
#include "base/kernels_of.h"

#ifdef __AVX2__
#include <immintrin.h>

#include <array>

namespace deciduous::kernels {
namespace {

// For each mask of eight: where the numbers that it has come from, one behind the other.
constexpr auto kSources = [] {
    std::array<std::array<std::uint8_t, 8>, 256> sources{};
    for (unsigned mask = 0; mask < 256; ++mask)
        for (unsigned from = 0, to = 0; from < 8; ++from)
            if ((mask >> from & 1) != 0)
                sources[mask][to++] = static_cast<std::uint8_t>(from);
    return sources;
}();

struct Avx2 {
    using Vector = __m256i;
    using Mask = __m256i;
    static constexpr std::size_t kWidth = 8;
    using Doubles = double __attribute__((vector_size(32)));
    using Words = std::uint64_t __attribute__((vector_size(32)));

    static Vector load(Ordered const* numbers) { return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(numbers)); }
    static Vector load_first(Ordered const* numbers, std::size_t n) { return _mm256_maskload_epi32(numbers, first(n)); }
    static Vector all(Ordered number) { return _mm256_set1_epi32(number); }
    static Vector sum(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
    static Vector difference(Vector a, Vector b) { return _mm256_sub_epi32(a, b); }
    static Vector least(Vector a, Vector b) { return _mm256_min_epi32(a, b); }
    static Vector most(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
    static Vector select(Mask mask, Vector a, Vector b) { return _mm256_blendv_epi8(b, a, mask); }
    static Vector least_where(Mask mask, Vector a, Vector b) {
        return _mm256_blendv_epi8(a, _mm256_min_epi32(a, b), mask);
    }
    static Vector most_where(Mask mask, Vector a, Vector b) {
        return _mm256_blendv_epi8(a, _mm256_max_epi32(a, b), mask);
    }
    static Vector more_where(Mask mask, Vector a) { return _mm256_sub_epi32(a, mask); }
    static Ordered lowest(Vector numbers) {
        __m128i half = _mm_min_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
        half = _mm_min_epi32(half, _mm_shuffle_epi32(half, 0x4E));
        return _mm_cvtsi128_si32(_mm_min_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
    }
    static Ordered highest(Vector numbers) {
        __m128i half = _mm_max_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
        half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
        return _mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
    }

    static Mask greater(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
    static Mask equal(Vector a, Vector b) { return _mm256_cmpeq_epi32(a, b); }
    static Mask first(std::size_t n) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static Mask both(Mask a, Mask b) { return _mm256_and_si256(a, b); }
    static Mask either(Mask a, Mask b) { return _mm256_or_si256(a, b); }
    static Mask without(Mask a, Mask b) { return _mm256_andnot_si256(b, a); }
    static std::uint32_t bits(Mask mask) {
        return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
    }

    using Counter = std::uint32_t;
    static void count(Mask mask, Counter& counter) {
        counter += static_cast<std::uint32_t>(_mm_popcnt_u32(bits(mask)));
    }
    static std::uint32_t total(Counter counter) { return counter; }

    static std::size_t keep(std::uint32_t* to, Vector numbers, std::uint32_t bits) {
        store_from(to, numbers, bits);
        return static_cast<std::size_t>(_mm_popcnt_u32(bits));
    }
    static std::size_t keep_words(std::uint64_t* to, Vector numbers, std::uint32_t bits) {
        store_from(to, numbers, static_cast<std::uint32_t>(_pdep_u32(bits, 0x55)) * 3);  // both halves of each
        return static_cast<std::size_t>(_mm_popcnt_u32(bits));
    }
    static void store_from(void* to, Vector numbers, std::uint32_t bits) {
        __m128i const sources = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(kSources[bits].data()));
        _mm256_storeu_si256(static_cast<__m256i*>(to),
                            _mm256_permutevar8x32_epi32(numbers, _mm256_cvtepu8_epi32(sources)));
    }

    static std::uint32_t test_words(std::uint64_t const* words, std::uint64_t bit) {
        __m256i const wanted = _mm256_set1_epi64x(static_cast<long long>(bit));
        __m256i const those = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(words));
        __m256i const is_set = _mm256_cmpeq_epi64(_mm256_and_si256(those, wanted), wanted);
        return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_set)));
    }

    static std::uint32_t varying_words(std::uint64_t const* words, std::uint64_t set) {
        __m256i const all = _mm256_set1_epi64x(static_cast<long long>(set));
        __m256i const those = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(words)), all);
        __m256i const is_all = _mm256_cmpeq_epi64(those, all);
        __m256i const is_none = _mm256_cmpeq_epi64(those, _mm256_setzero_si256());
        return ~static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(is_all, is_none))));
    }

    static std::uint64_t spread_bits(std::uint64_t bits, std::uint64_t where) { return _pdep_u64(bits, where); }
    static std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t where) { return _pext_u64(bits, where); }
};

}  // namespace

extern Set const kAvx2;
Set const kAvx2 = KernelsOf<Avx2>::set("avx2");

}  // namespace deciduous::kernels
#endif
