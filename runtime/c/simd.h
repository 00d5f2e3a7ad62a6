#ifndef GGUFSPEC_SIMD_H
#define GGUFSPEC_SIMD_H

/* Eight lanes of 32 bits: what the generated kernels say in vectors. Arithmetic is C's own on
 * vector types; the functions below are what C cannot say. GGUFSPEC_WIDE tells whether this
 * build has them; without, the kernels' plain loops are compiled. */

#include "kernel.h"

#if defined(__AVX2__) && defined(__F16C__)
#define GGUFSPEC_WIDE 1

#include <immintrin.h>

typedef float f32x8 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint8_t u8x32 __attribute__((vector_size(32)));

#define LANES static inline __attribute__((always_inline))

/* ---- one value in all lanes */

LANES f32x8 splat(float v) { return (f32x8)_mm256_set1_ps(v); }
LANES i32x8 splat_int(int32_t v) { return (i32x8)_mm256_set1_epi32(v); }
LANES i32x8 splat_word(const uint8_t *p) { return splat_int((int32_t)load_u32(p)); }
LANES f32x8 splat_half(const uint8_t *p) {
    return (f32x8)_mm256_cvtph_ps(_mm_set1_epi16((int16_t)load_u16(p)));
}

/* ---- eight stored values, widened */

LANES i32x8 widen_u8(const void *p) {
    return (i32x8)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
LANES i32x8 widen_i8(const void *p) {
    return (i32x8)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
LANES i32x8 widen_u16(const void *p) {
    return (i32x8)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
LANES i32x8 widen_i16(const void *p) {
    return (i32x8)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
}
LANES i32x8 load_words(const void *p) { return (i32x8)_mm256_loadu_si256((const __m256i *)p); }
LANES f32x8 widen_halves(const uint8_t *p) {
    return (f32x8)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
/* Two rows of four floats. */
LANES f32x8 join(const float *low, const float *high) {
    return (f32x8)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)),
                                       _mm_loadu_ps(high), 1);
}

/* ---- lanes */

LANES f32x8 to_float(i32x8 v) { return (f32x8)_mm256_cvtepi32_ps((__m256i)v); }
LANES i32x8 right(i32x8 v, int count) { return (i32x8)_mm256_srli_epi32((__m256i)v, count); }
LANES i32x8 left(i32x8 v, int count) { return (i32x8)_mm256_slli_epi32((__m256i)v, count); }
LANES i32x8 right_by(i32x8 v, i32x8 counts) {
    return (i32x8)_mm256_srlv_epi32((__m256i)v, (__m256i)counts);
}
LANES i32x8 left_by(i32x8 v, i32x8 counts) {
    return (i32x8)_mm256_sllv_epi32((__m256i)v, (__m256i)counts);
}
/* Entry (index & 3) of the four in each half of the table, which are the same. */
LANES f32x8 lookup4(f32x8 table, i32x8 index) {
    return (f32x8)_mm256_permutevar_ps((__m256)table, (__m256i)index);
}
/* `yes` where the lane's top bit is set. */
LANES f32x8 blend(f32x8 no, f32x8 yes, i32x8 top) {
    return (f32x8)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)top);
}
/* Minus where the lane's top bit is set; the other bits of `signs` are zero. */
LANES f32x8 flip(f32x8 v, i32x8 signs) { return (f32x8)((i32x8)v ^ signs); }
LANES i32x8 top_bit(i32x8 v) { return v & INT32_MIN; }
LANES void store(float *p, f32x8 v) { _mm256_storeu_ps(p, (__m256)v); }

/* ---- bytes */

LANES u8x32 splat_byte(uint8_t v) { return (u8x32)_mm256_set1_epi8((char)v); }
LANES u8x32 load_bytes(const uint8_t *p) {
    return (u8x32)_mm256_loadu_si256((const __m256i *)p);
}
/* Sixteen bytes, twice. */
LANES u8x32 twice(const void *p) {
    return (u8x32)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
/* Byte table[index & 15] of the same half; 0 where the index has its top bit. */
LANES u8x32 shuffle(u8x32 table, u8x32 index) {
    return (u8x32)_mm256_shuffle_epi8((__m256i)table, (__m256i)index);
}
/* All bytes shifted; bits cross from byte to byte, so the caller masks. */
LANES u8x32 right_bytes(u8x32 v, int count) {
    return (u8x32)_mm256_srli_epi16((__m256i)v, count);
}
LANES u8x32 left_bytes(u8x32 v, int count) { return (u8x32)_mm256_slli_epi16((__m256i)v, count); }
/* The leading base-3 digit of each byte (see load.h): 0, 1 or 2. */
LANES u8x32 leading_trits(u8x32 v) {
    const __m256i x = (__m256i)v;
    const __m256i one = _mm256_cmpeq_epi8(_mm256_max_epu8(x, _mm256_set1_epi8(86)), x);
    const __m256i two = _mm256_cmpeq_epi8(_mm256_max_epu8(x, _mm256_set1_epi8((char)171)), x);
    return (u8x32)_mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(one, two));
}

/* ---- through memory, where a load that widens is cheaper than shuffles between halves. The
 * empty asm keeps the compiler from replacing the reload by such shuffles. */

#define SETTLED(array) __asm__ volatile("" : "+m"(array))

LANES void store_bytes(uint8_t *slot, u8x32 v) { _mm256_store_si256((__m256i *)slot, (__m256i)v); }
LANES void stage_floats(float *slot, f32x8 v) { _mm256_store_ps(slot, (__m256)v); }
LANES void stage_ints(int32_t *slot, i32x8 v) { _mm256_store_si256((__m256i *)slot, (__m256i)v); }

#else
#define GGUFSPEC_WIDE 0
#endif

#endif
