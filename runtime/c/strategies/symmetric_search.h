#ifndef GGUFSPEC_STRATEGY_SYMMETRIC_SEARCH_H
#define GGUFSPEC_STRATEGY_SYMMETRIC_SEARCH_H

/* Blocks with one searched scale: x = scale * (level - zero). */

#include "symmetric.h"

typedef struct {
    int length, zero;
    weight_rule weights;
    mean_rule mean_over;
    int mean_times;
} symmetric_search_constants;

typedef struct {
    uint16_t scale;
    uint8_t level[MOST_LENGTH];
} symmetric_search_codes;

GGUFSPEC_STRATEGY size_t symmetric_search(const symmetric_search_constants *k,
                                          GGUFSPEC_QUANTIZE_ARGS,
                                          int (*store)(uint8_t *, size_t,
                                                       const symmetric_search_codes *)) {
    const float *q = importance ? importance : x;
    for (size_t start = 0; start < blocks; start += GROUP) {
        const int count = blocks - start < GROUP ? (int)(blocks - start) : GROUP;
        const float *at = x + start * (size_t)k->length;
        lanes v[MOST_LENGTH][FLIGHT], w[MOST_LENGTH][FLIGHT];
        symmetric_fits fits;
        load_weighted(k->weights, k->length, GROUP, at, q + start * (size_t)k->length, &row_mean, 0,
                      count, v, w);
        symmetric_fit(k->length, k->zero, v, w, &fits);
        for (int b = 0; b < count; b++, at += k->length) {
            symmetric_search_codes codes = {.scale = half_bits(fits.scale[b])};
            ilanes level[MOST_LENGTH / LANES];
            const int32_t live = fits.live[b] != 0 ? -1 : 0;
            for (int i = 0; i < k->length; i += LANES) {
                const lanes steps = fits.inverse[b] * load_lanes(at + i);
                level[i / LANES] = (symmetric_level(steps, k->zero) + k->zero) & live;
            }
            store_bytes(codes.level, level, k->length);
            if (!store(dst, start + (size_t)b, &codes)) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
