#ifndef GGUFSPEC_STRATEGY_H
#define GGUFSPEC_STRATEGY_H

/* What every quantizer strategy stands on. A strategy knows a block as numbers (scales,
 * sub-blocks, levels) and its type's constants; the type's generated file gives it a function
 * that stores a block's numbers, and calls it with constants that the compiler can fold.
 *
 * A quantizer takes `blocks` blocks of floats, finite unless it `stops`. Where there is an importance they are a
 * row, `importance` has a weight for each of its elements, and `row_mean` is the row's mean
 * square if the type's constants ask for it; else `importance` is NULL. It returns how many blocks it wrote: fewer than asked when the
 * next one has a scale that its stored format does not hold. */

#include "kernel.h"
#include "lanes.h"
#include "neighbours.h"

#define GGUFSPEC_QUANTIZE_ARGS                                                                     \
    const float *restrict x, uint8_t *restrict dst, size_t blocks,                                 \
        const float *restrict importance, float row_mean

typedef struct {
    size_t (*run)(GGUFSPEC_QUANTIZE_ARGS);
    int row_mean; /* whether it looks at the row's mean square */
    int stops; /* whether without an importance it stops at a block that is not finite */
    const ggufspec_grid *grid; /* the grid whose neighbours it looks up, or NULL */
} ggufspec_quantizer;

/* Strategies are templates: every one is compiled anew into each type. */
#define GGUFSPEC_STRATEGY static inline __attribute__((always_inline))

/* Blocks of which the scales are computed first, and then the levels: two short chains of
 * dependent operations a block, which a processor overlaps, instead of one long one. */
enum { RUN = 32 };

/* A finite float32 to IEEE half, to nearest even; infinite when it is too large. */
static inline uint16_t half_bits(float v) {
#if defined(__F16C__)
    return _cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT);
#else
    const uint32_t bits = single_bits(v), magnitude = bits & 0x7fffffff;
    const uint32_t tiny = single_bits(single_value(magnitude) + 0.5f) - single_bits(0.5f);
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const uint32_t finite = magnitude < 113u << 23 ? tiny : normal;
    return (uint16_t)(bits >> 16 & 0x8000) | (uint16_t)(magnitude < 0x477ff000 ? finite : 0x7c00);
#endif
}

/* A finite float32 to bfloat16, to nearest even. */
static inline uint16_t bfloat_bits(float v) {
    const uint32_t bits = single_bits(v);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline int finite_half(uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }
static inline int finite_bfloat(uint16_t bits) { return (bits & 0x7f80) != 0x7f80; }
static inline int finite_single(uint32_t bits) { return (bits & 0x7f800000) != 0x7f800000; }

/* As `nearest` of lanes.h, for one number. */
static inline int32_t nearest_one(float v) {
    return (int32_t)(single_bits(v + 0x1.8p23f) & 0x7fffff) - 0x400000;
}

/* The first of n floats (a multiple of LANES) that equals `wanted` under `mask`, as bits; there
 * is one. Up to 64 are compared without a branch. */
static inline float first_equal(const float *x, int n, int32_t mask, int32_t wanted) {
    uint64_t found = 0;
    int start = 0;
    do {
        for (int i = 0; i < n - start && i < 64; i += LANES) {
            const ilanes bits = (ilanes)load_lanes(x + start + i) & mask;
            found |= (uint64_t)mask_bits(bits == wanted) << i;
        }
        start += 64;
    } while (!found && start < n);
    return x[start - 64 + __builtin_ctzll(found)];
}

/* The largest magnitude of n floats. */
static inline float largest_magnitude(const float *x, int n) {
    ilanes most = {0};
    for (int i = 0; i < n; i += LANES) most = ihigher(most, (ilanes)magnitude(load_lanes(x + i)));
    return single_value((uint32_t)largest(most));
}

/* The first of n floats whose magnitude none exceeds; +0 if all are zeros. */
static inline float first_largest(const float *x, int n) {
    const int32_t most = (int32_t)single_bits(largest_magnitude(x, n));
    const float first = first_equal(x, n, 0x7fffffff, most);
    return most != 0 ? first : 0;
}

/* The same for any numbers: a NaN exceeds nothing. */
static inline float first_largest_number(const float *x, int n) {
    float most = 0;
    for (int i = 0; i < n; i++)
        if (single_value(single_bits(x[i]) & 0x7fffffff) >
            single_value(single_bits(most) & 0x7fffffff))
            most = x[i];
    return most;
}

/* Bit `low` of each of eight bytes, side by side, the first byte's lowest: a product adds them
 * up in its top byte, each at its place. */
static inline uint8_t eight_bits(const uint8_t *bytes, int low) {
    const uint64_t bits = load_u64(bytes) >> low & 0x0101010101010101u;
    return (uint8_t)(bits * 0x0102040810204080u >> 56);
}

/* The byte of a base-3 number 0..242: a fraction of 256 that decodes to its digits. */
static inline uint8_t sealed_trits(int32_t number) { return (uint8_t)((number * 256 + 242) / 243); }

#endif
