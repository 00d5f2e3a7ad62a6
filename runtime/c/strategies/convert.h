#ifndef GGUFSPEC_STRATEGY_CONVERT_H
#define GGUFSPEC_STRATEGY_CONVERT_H

/* Each element by its own, rounded to nearest even. A block is one element. What is not finite
 * is looked for here: the one pass there is takes about as long as memory does. */

#include "strategy.h"

typedef enum { SCALAR_F32, SCALAR_F16, SCALAR_BF16 } convert_scalar;

typedef struct {
    convert_scalar scalar;
} convert_constants;

typedef struct {
    uint32_t value;
} convert_codes;

enum { CONVERT_RUN = 256 };

static inline void convert_run(convert_scalar scalar, const float *restrict x,
                               uint32_t *restrict bits, int n) {
    int i = 0;
    switch (scalar) {
    case SCALAR_F32:
        for (; i < n; i++) bits[i] = single_bits(x[i]);
        break;
    case SCALAR_BF16:
        for (; i < n; i++) bits[i] = bfloat_bits(x[i]);
        break;
    case SCALAR_F16:
#if defined(__AVX2__) && defined(__F16C__)
        for (; i + 8 <= n; i += 8) {
            const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
            _mm256_storeu_si256((__m256i *)(bits + i), _mm256_cvtepu16_epi32(eight));
        }
#endif
        for (; i < n; i++) bits[i] = half_bits(x[i]);
    }
}

GGUFSPEC_STRATEGY size_t convert(const convert_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                 int (*store)(uint8_t *, size_t, const convert_codes *)) {
    (void)importance, (void)row_mean;
    uint32_t bits[CONVERT_RUN];
    for (size_t done = 0; done < blocks; done += CONVERT_RUN) {
        const size_t left = blocks - done;
        const int n = left < CONVERT_RUN ? (int)left : CONVERT_RUN;
        convert_run(k->scalar, x + done, bits, n);
        int finite = 1;
        for (int i = 0; i < n; i++) {
            const convert_codes codes = {bits[i]};
            finite &= finite_single(single_bits(x[done + (size_t)i])) &
                      store(dst, done + (size_t)i, &codes);
        }
        if (!finite) {
            size_t bad = done;
            while (finite_single(single_bits(x[bad])) &&
                   store(dst, bad, &(convert_codes){bits[bad - done]}))
                bad++;
            return bad;
        }
    }
    return blocks;
}

#endif
