#ifndef GGUFSPEC_STRATEGY_NEAREST_VALUE_H
#define GGUFSPEC_STRATEGY_NEAREST_VALUE_H

/* Each element takes the codebook value that is nearest under the scale of its sub-block, the
 * first of equally near ones; the scale follows from the largest magnitude. */

#include "rounding.h"
#include "strategy.h"

typedef enum { RULE_FLOOR_LOG2, RULE_HALF_UP_ONE_BIT } nearest_value_rule;

typedef struct {
    int sub_blocks, length;
    const int8_t *values; /* 16 */
    const float *scales;  /* what each scale code means */
    nearest_value_rule rule;
    int number; /* added to the exponent, or what the largest magnitude is divided by */
} nearest_value_constants;

enum { NEAREST_VALUES = 16, NEAREST_SUB_BLOCKS = 4, NEAREST_ELEMENTS = 64 };

typedef struct {
    uint8_t sub_scale[NEAREST_SUB_BLOCKS];
    uint8_t level[NEAREST_ELEMENTS];
} nearest_value_codes;

GGUFSPEC_STRATEGY uint8_t nearest_value_scale(const nearest_value_constants *k, float most) {
    if (k->rule == RULE_HALF_UP_ONE_BIT) return half_up_ue4m3(most / (float)k->number);
    return most > 0 ? (uint8_t)(floor_log2(most) + k->number) : 0;
}

/* The places of the nearest of 16 values. */
static inline ilanes nearest_place(lanes v, const float *values) {
    lanes least = magnitude(v - values[0]);
    ilanes place = {0};
    for (int c = 1; c < NEAREST_VALUES; c++) {
        const lanes error = magnitude(v - values[c]);
        const ilanes nearer = error < least;
        least = choose(nearer, error, least);
        place = (ilanes)choose(nearer, (lanes)ieach(c), (lanes)place);
    }
    return place;
}

GGUFSPEC_STRATEGY size_t nearest_value(const nearest_value_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                       int (*store)(uint8_t *, size_t,
                                                    const nearest_value_codes *)) {
    (void)importance, (void)row_mean;
    float values[NEAREST_VALUES], scaled[NEAREST_VALUES];
    for (int c = 0; c < NEAREST_VALUES; c++) values[c] = k->values[c];
    for (size_t b = 0; b < blocks; b++) {
        nearest_value_codes codes;
        ilanes level[NEAREST_ELEMENTS / LANES];
        for (int s = 0; s < k->sub_blocks; s++, x += k->length) {
            codes.sub_scale[s] = nearest_value_scale(k, largest_magnitude(x, k->length));
            const float d = k->scales[codes.sub_scale[s]];
            for (int c = 0; c < NEAREST_VALUES; c++) scaled[c] = values[c] * d;
            for (int i = 0; i < k->length; i += LANES)
                level[(s * k->length + i) / LANES] = nearest_place(load_lanes(x + i), scaled);
        }
        store_bytes(codes.level, level, k->sub_blocks * k->length);
        if (!store(dst, b, &codes)) return b;
    }
    return blocks;
}

#endif
