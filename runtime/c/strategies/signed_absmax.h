#ifndef GGUFSPEC_STRATEGY_SIGNED_ABSMAX_H
#define GGUFSPEC_STRATEGY_SIGNED_ABSMAX_H

/* The first element of largest magnitude takes level 0, whatever its sign: the scale is
 * negative where it is positive. So a block uses one level more on that side. An element that is
 * not finite is the largest, and makes a scale that is not. */

#include "strategy.h"

typedef struct {
    int elements, zero, top;
} signed_absmax_constants;

enum { SIGNED_ABSMAX_ELEMENTS = 32 };

typedef struct {
    uint16_t scale;
    uint8_t level[SIGNED_ABSMAX_ELEMENTS];
} signed_absmax_codes;

GGUFSPEC_STRATEGY size_t signed_absmax(const signed_absmax_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                       int (*store)(uint8_t *, size_t,
                                                    const signed_absmax_codes *)) {
    (void)importance, (void)row_mean;
    for (size_t start = 0; start < blocks; start += RUN) {
        const size_t stop = blocks - start < RUN ? blocks : start + RUN;
        float scale[RUN], steps[RUN];
        for (size_t b = start; b < stop; b++) {
            const float d = first_largest(x + b * (size_t)k->elements, k->elements) / (float)-k->zero;
            scale[b - start] = d;
            steps[b - start] = d != 0 ? 1 / d : 0;
        }
        for (size_t b = start; b < stop; b++) {
            signed_absmax_codes codes = {.scale = half_bits(scale[b - start])};
            ilanes level[SIGNED_ABSMAX_ELEMENTS / LANES];
            const float *at = x + b * (size_t)k->elements;
            for (int i = 0; i < k->elements; i += LANES) {
                const lanes v = load_lanes(at + i) * steps[b - start] + ((float)k->zero + 0.5f);
                /* Through a signed byte, as in ggml. */
                level[i / LANES] = ilower(truncated(v) << 24 >> 24, ieach(k->top));
            }
            store_bytes(codes.level, level, k->elements);
            if (!store(dst, b, &codes)) return b;
        }
    }
    return blocks;
}

#endif
