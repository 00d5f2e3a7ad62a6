#ifndef GGUFSPEC_STRATEGY_MIN_MAX_H
#define GGUFSPEC_STRATEGY_MIN_MAX_H

/* The smallest element takes level 0, the largest the top level. */

#include "strategy.h"

typedef struct {
    int elements, top;
} min_max_constants;

enum { MIN_MAX_ELEMENTS = 32 };

typedef struct {
    uint16_t scale, offset;
    uint8_t level[MIN_MAX_ELEMENTS];
} min_max_codes;

/* Of zeros of both signs the first counts. Both are NaN where an element is not finite: it is
 * what is not 0 subtracted from itself. */
static inline void extremes(const float *x, int n, float *min, float *max) {
    lanes low = load_lanes(x), high = low, none = low - low;
    for (int i = LANES; i < n; i += LANES) {
        const lanes v = load_lanes(x + i);
        low = lower(v, low);
        high = higher(v, high);
        none += v - v;
    }
    if (mask_bits(none != none)) {
        *min = *max = single_value(0x7fc00000);
        return;
    }
    *min = lowest(low);
    *max = highest(high);
    if (*min == 0) *min = first_equal(x, n, 0x7fffffff, 0);
    if (*max == 0) *max = first_equal(x, n, 0x7fffffff, 0);
}

GGUFSPEC_STRATEGY size_t min_max(const min_max_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                 int (*store)(uint8_t *, size_t, const min_max_codes *)) {
    (void)importance, (void)row_mean;
    for (size_t start = 0; start < blocks; start += RUN) {
        const size_t stop = blocks - start < RUN ? blocks : start + RUN;
        float scale[RUN], offset[RUN] = {0}, most[RUN] = {0}, steps[RUN];
        for (size_t b = start; b < stop; b++)
            extremes(x + b * (size_t)k->elements, k->elements, &offset[b - start],
                     &most[b - start]);
        for (int i = 0; i < RUN; i += LANES) {
            const lanes d = (load_lanes(most + i) - load_lanes(offset + i)) / (float)k->top;
            store_lanes(scale + i, d);
            store_lanes(steps + i, choose(d != 0, 1.0f / d, (lanes){0}));
        }
        for (size_t b = start; b < stop; b++) {
            const float min = offset[b - start];
            min_max_codes codes = {half_bits(scale[b - start]), half_bits(min), {0}};
            ilanes level[MIN_MAX_ELEMENTS / LANES];
            const float *at = x + b * (size_t)k->elements;
            for (int i = 0; i < k->elements; i += LANES) {
                const lanes v = (load_lanes(at + i) - min) * steps[b - start] + 0.5f;
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
