#ifndef GGUFSPEC_STRATEGY_RECIPROCAL_ABSMAX_H
#define GGUFSPEC_STRATEGY_RECIPROCAL_ABSMAX_H

/* The first element of largest magnitude takes level -reach, whatever its sign; the scale is
 * the reciprocal of what the elements are multiplied by. Sums of runs of levels go along. An
 * element that is not finite is the largest, and makes a scale that is not. */

#include "strategy.h"

typedef struct {
    int elements, reach, sums;
} reciprocal_absmax_constants;

enum { RECIPROCAL_ELEMENTS = 256, RECIPROCAL_SUMS = 16 };

typedef struct {
    uint32_t scale;
    uint16_t sums[RECIPROCAL_SUMS];
    uint8_t level[RECIPROCAL_ELEMENTS];
} reciprocal_absmax_codes;

/* The sum of eight signed bytes: made unsigned, in pairs, and by a product that adds the four. */
static inline int eight_levels(const uint8_t *level) {
    const uint64_t low = 0x00ff00ff00ff00ffu, v = load_u64(level) ^ 0x8080808080808080u;
    const uint64_t pairs = (v & low) + (v >> 8 & low);
    return (int)(pairs * 0x0001000100010001u >> 48) - 8 * 128;
}

GGUFSPEC_STRATEGY size_t reciprocal_absmax(const reciprocal_absmax_constants *k,
                                           GGUFSPEC_QUANTIZE_ARGS,
                                           int (*store)(uint8_t *, size_t,
                                                        const reciprocal_absmax_codes *)) {
    (void)importance, (void)row_mean;
    const int run = k->elements / k->sums;
    for (size_t b = 0; b < blocks; b++, x += k->elements) {
        reciprocal_absmax_codes codes;
        ilanes level[RECIPROCAL_ELEMENTS / LANES];
        const float most = first_largest(x, k->elements);
        const float steps = most != 0 ? (float)-k->reach / most : 0;
        for (int i = 0; i < k->elements; i += LANES)
            level[i / LANES] = ilower(nearest(load_lanes(x + i) * steps), ieach(k->reach));
        store_bytes(codes.level, level, k->elements);
        GGUFSPEC_ROLLED for (int s = 0; s < k->sums; s++) {
            int sum = 0;
            for (int i = 0; i < run; i += 8) sum += eight_levels(codes.level + s * run + i);
            codes.sums[s] = (uint16_t)sum;
        }
        codes.scale = single_bits(most != 0 ? 1 / steps : 0);
        if (!store(dst, b, &codes)) return b;
    }
    return blocks;
}

#endif
