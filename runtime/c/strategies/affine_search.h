#ifndef GGUFSPEC_STRATEGY_AFFINE_SEARCH_H
#define GGUFSPEC_STRATEGY_AFFINE_SEARCH_H

/* Blocks with one scale and one offset, both searched: x = scale * level + offset. */

#include "affine.h"

typedef struct {
    int length, top;
    weight_rule weights;
    mean_rule mean_over;
    int mean_times;
    float start, step;
    int steps;
    affine_error error;
} affine_search_constants;

typedef struct {
    uint16_t scale, offset;
    uint8_t level[MOST_LENGTH];
} affine_search_codes;

GGUFSPEC_STRATEGY size_t affine_search(const affine_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                       int (*store)(uint8_t *, size_t,
                                                    const affine_search_codes *)) {
    const affine_trials trials = {k->length, k->top, k->start, k->step, k->steps, k->error};
    const float *q = importance ? importance : x;
    for (size_t start = 0; start < blocks; start += GROUP) {
        const int count = blocks - start < GROUP ? (int)(blocks - start) : GROUP;
        const float *at = x + start * (size_t)k->length;
        lanes v[MOST_LENGTH][FLIGHT], w[MOST_LENGTH][FLIGHT];
        affine_fits fits;
        load_weighted(k->weights, k->length, GROUP, at, q + start * (size_t)k->length,
                      &row_mean, 0, count, v, w);
        affine_fit(&trials, v, w, &fits);
        for (int b = 0; b < count; b++, at += k->length) {
            affine_search_codes codes = {half_bits(fits.scale[b]), half_bits(-fits.minimum[b]), {0}};
            ilanes level[MOST_LENGTH / LANES];
            for (int i = 0; i < k->length; i += LANES)
                level[i / LANES] = affine_level(load_lanes(at + i), each(fits.inverse[b]),
                                                each(fits.origin[b]), k->top);
            store_bytes(codes.level, level, k->length);
            if (!store(dst, start + (size_t)b, &codes)) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
