#ifndef GGUFSPEC_STRATEGY_ABSMAX_H
#define GGUFSPEC_STRATEGY_ABSMAX_H

/* The element of largest magnitude takes the outermost level; the others are rounded to the
 * nearest level, half away from zero. */

#include "strategy.h"

typedef struct {
    int elements, reach, zero, top, clamp, sum;
} absmax_constants;

enum { ABSMAX_ELEMENTS = 256 };

typedef struct {
    uint16_t scale, sum;
    uint8_t level[ABSMAX_ELEMENTS];
} absmax_codes;

GGUFSPEC_STRATEGY ilanes absmax_level(const absmax_constants *k, lanes steps) {
    const ilanes level = rounded_away(steps) + k->zero;
    return k->clamp ? ilower(ihigher(level, (ilanes){0}), ieach(k->top)) : level;
}

static inline float absmax_sum(const uint8_t *level, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += (int8_t)level[i];
    return (float)sum;
}

/* An element that is not finite is the largest, and makes a scale that is not. */
GGUFSPEC_STRATEGY size_t absmax(const absmax_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                int (*store)(uint8_t *, size_t, const absmax_codes *)) {
    (void)importance, (void)row_mean;
    for (size_t start = 0; start < blocks; start += RUN) {
        const size_t stop = blocks - start < RUN ? blocks : start + RUN;
        float scale[RUN], steps[RUN];
        for (size_t b = start; b < stop; b++) {
            const float d =
                largest_magnitude(x + b * (size_t)k->elements, k->elements) / (float)k->reach;
            scale[b - start] = d;
            steps[b - start] = d != 0 ? 1 / d : 0;
        }
        for (size_t b = start; b < stop; b++) {
            const float d = scale[b - start], *at = x + b * (size_t)k->elements;
            absmax_codes codes = {.scale = half_bits(d)};
            ilanes level[ABSMAX_ELEMENTS / LANES];
            for (int i = 0; i < k->elements; i += LANES)
                level[i / LANES] = absmax_level(k, load_lanes(at + i) * steps[b - start]);
            store_bytes(codes.level, level, k->elements);
            if (k->sum) codes.sum = half_bits(absmax_sum(codes.level, k->elements) * d);
            if (!store(dst, b, &codes)) return b;
        }
    }
    return blocks;
}

#endif
