#ifndef GGUFSPEC_LANES_H
#define GGUFSPEC_LANES_H

/* LANES floats side by side, each lane running one and the same scalar sequence: that is how
 * sums keep their order. Vector types of the compiler do the arithmetic; what it has no
 * operator for is here, with the processor's instruction where there is one. */

#include "kernel.h"

#if defined(__AVX2__)
#include <immintrin.h>
#define LANES 8
#else
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#define LANES 4
#endif

typedef float lanes __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ilanes __attribute__((vector_size(4 * LANES), may_alias));

/* The constant in every lane. */
static inline lanes each(float v) { return v - (lanes){0}; }
static inline ilanes ieach(int32_t v) { return v - (ilanes){0}; }

static inline lanes load_lanes(const float *p) {
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_lanes(float *p, lanes v) { memcpy(p, &v, sizeof v); }

/* The low bytes of n integers, n a multiple of 2 * LANES. Who reads them soon reads as many at
 * a time as are written here: a wider load would wait for the stores. */
static inline void store_bytes(uint8_t *p, const ilanes *v, int n) {
    int i = 0;
#if defined(__AVX2__)
    const __m256i low = _mm256_set1_epi32(0xff);
    for (; i < n; i += 32) {
        __m256i words[2];
        for (int j = 0; j < 2; j++) {
            const int at = i / 8 + (i + 16 < n ? 2 * j : 0);
            words[j] = _mm256_packus_epi32(_mm256_and_si256((__m256i)v[at], low),
                                           _mm256_and_si256((__m256i)v[at + 1], low));
        }
        /* Pairs of four stand at 0, 4, 1, 5, 2, 6, 3, 7. */
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words[0], words[1]),
                                                          _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        if (i + 16 < n)
            _mm256_storeu_si256((__m256i *)(p + i), bytes);
        else
            _mm_storeu_si128((__m128i *)(p + i), _mm256_castsi256_si128(bytes));
    }
#else
    for (; i < n; i++) p[i] = (uint8_t)v[i / LANES][i % LANES];
#endif
}

/* a where the mask (all ones or zeros a lane) is set, b elsewhere. */
static inline lanes choose(ilanes mask, lanes a, lanes b) {
#if defined(__AVX2__)
    return (lanes)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (lanes)(((ilanes)a & mask) | ((ilanes)b & ~mask));
#endif
}

/* a < b ? a : b, and a > b ? a : b. */
static inline lanes lower(lanes a, lanes b) {
#if defined(__AVX2__)
    return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (lanes)_mm_min_ps((__m128)a, (__m128)b);
#else
    return choose(a < b, a, b);
#endif
}

static inline lanes higher(lanes a, lanes b) {
#if defined(__AVX2__)
    return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (lanes)_mm_max_ps((__m128)a, (__m128)b);
#else
    return choose(a > b, a, b);
#endif
}

static inline ilanes ilower(ilanes a, ilanes b) {
#if defined(__AVX2__)
    return (ilanes)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    const ilanes mask = a < b;
    return (a & mask) | (b & ~mask);
#endif
}

static inline ilanes ihigher(ilanes a, ilanes b) {
#if defined(__AVX2__)
    return (ilanes)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    const ilanes mask = a > b;
    return (a & mask) | (b & ~mask);
#endif
}

static inline lanes magnitude(lanes v) { return (lanes)((ilanes)v & 0x7fffffff); }

static inline lanes square_root(lanes v) {
#if defined(__AVX2__)
    return (lanes)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
    return (lanes)_mm_sqrt_ps((__m128)v);
#else
    for (int i = 0; i < LANES; i++) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}

/* Towards zero; a number that int32_t does not hold gives its smallest, as on x86-64. */
static inline ilanes truncated(lanes v) {
#if defined(__AVX2__)
    return (ilanes)_mm256_cvttps_epi32((__m256)v);
#elif defined(__SSE2__)
    return (ilanes)_mm_cvttps_epi32((__m128)v);
#else
    const ilanes fits = (v >= each(-0x1p31f)) & (v < each(0x1p31f));
    const ilanes whole = __builtin_convertvector((lanes)((ilanes)v & fits), ilanes);
    return (whole & fits) | (ieach(INT32_MIN) & ~fits);
#endif
}

/* Half away from zero, by the largest number below one half. */
static inline ilanes rounded_away(lanes v) {
    const ilanes half = ((ilanes)v & INT32_MIN) | (ilanes)each(0x1.fffffep-2f);
    return truncated(v + (lanes)half);
}

/* Half to even by adding 1.5 * 2^23 and taking 23 bits of the sum: so ggml rounds, and beyond
 * 2^22 it wraps. */
static inline ilanes nearest(lanes v) {
    return ((ilanes)(v + 0x1.8p23f) & 0x7fffff) - 0x400000;
}

/* The same as a float, for numbers below 2^22 in magnitude. */
static inline lanes nearest_small(lanes v) { return v + 0x1.8p23f - 0x1.8p23f; }

static inline lanes to_float(ilanes v) { return __builtin_convertvector(v, lanes); }

/* One bit a lane, lane 0 lowest. */
static inline uint32_t mask_bits(ilanes mask) {
#if defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (uint32_t)(mask[i] & 1) << i;
    return bits;
#endif
}

/* The largest of non-negative integers. */
static inline int32_t largest(ilanes v) {
#if defined(__AVX2__)
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128((__m256i)v),
                                 _mm256_extracti128_si256((__m256i)v, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtsi128_si32(four);
#else
    int32_t most = v[0];
    for (int i = 1; i < LANES; i++) most = v[i] > most ? v[i] : most;
    return most;
#endif
}

/* The smallest and the largest of all lanes; of zeros of both signs any. */
static inline float lowest(lanes v) {
#if defined(__AVX2__)
    __m128 four = _mm_min_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    four = _mm_min_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_min_ss(four, _mm_shuffle_ps(four, four, 1)));
#else
    float least = v[0];
    for (int i = 1; i < LANES; i++) least = v[i] < least ? v[i] : least;
    return least;
#endif
}

static inline float highest(lanes v) { return -lowest(-v); }

/* LANES rows of `length` floats (a multiple of LANES) side by side: element e of row i becomes
 * lane i of out[e * stride]. */
static inline void transpose(lanes *out, int stride, const float *const *rows, int length) {
#if defined(__AVX2__)
    for (int e = 0; e < length; e += 8) {
        __m256 r[8], s[8];
        for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(rows[i] + e);
        for (int i = 0; i < 8; i += 2) {
            s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
            s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
        }
        for (int i = 0; i < 8; i += 4) {
            r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
            r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
            r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
            r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
        }
        for (int i = 0; i < 4; i++) {
            out[(e + i) * stride] = (lanes)_mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
            out[(e + i + 4) * stride] = (lanes)_mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
        }
    }
#else
    for (int e = 0; e < length; e++) {
        float column[LANES];
        for (int i = 0; i < LANES; i++) column[i] = rows[i][e];
        out[e * stride] = load_lanes(column);
    }
#endif
}

#endif
