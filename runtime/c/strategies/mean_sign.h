#ifndef GGUFSPEC_STRATEGY_MEAN_SIGN_H
#define GGUFSPEC_STRATEGY_MEAN_SIGN_H

/* One bit an element: its sign; the scale is the mean magnitude. One block a lane, since the
 * mean is a sum in order. */

#include "strategy.h"

typedef struct {
    int elements;
} mean_sign_constants;

enum { MEAN_SIGN_ELEMENTS = 128 };

typedef struct {
    uint16_t scale;
    uint8_t level[MEAN_SIGN_ELEMENTS];
} mean_sign_codes;

GGUFSPEC_STRATEGY size_t mean_sign(const mean_sign_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                   int (*store)(uint8_t *, size_t, const mean_sign_codes *)) {
    (void)importance, (void)row_mean;
    for (size_t start = 0; start < blocks; start += LANES) {
        const float *rows[LANES];
        for (size_t i = 0; i < LANES; i++)
            rows[i] = x + (start + i < blocks ? start + i : blocks - 1) * (size_t)k->elements;
        lanes v[MEAN_SIGN_ELEMENTS], sum = {0};
        transpose(v, 1, rows, k->elements);
        for (int i = 0; i < k->elements; i++) sum += magnitude(v[i]);
        const lanes mean = sum / (float)k->elements;
        for (size_t i = 0; i < LANES && start + i < blocks; i++) {
            mean_sign_codes codes = {.scale = half_bits(mean[i])};
            for (int e = 0; e < k->elements; e++) codes.level[e] = rows[i][e] >= 0;
            if (!store(dst, start + i, &codes)) return start + i;
        }
    }
    return blocks;
}

#endif
