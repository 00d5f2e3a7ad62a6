#ifndef GGUFSPEC_ROUNDING_H
#define GGUFSPEC_ROUNDING_H

/* Floats to 8-bit scales, by the rounding that spec/scalars.yaml names. No libm. */

#include "floor_log2.h"
#include "strategy.h"

/* The floor of a positive float's logarithm, the logarithm first rounded to float. */
static inline int floor_log2(float v) {
    const uint32_t bits = single_bits(v);
    int e = bits >> 23 ? (int)(bits >> 23) - 127 : FLOOR_LOG2_FIRST;
    while (e < 127 && bits >= ggufspec_floor_log2[e + 1 - FLOOR_LOG2_FIRST]) e++;
    return e;
}

/* Unsigned E4M3 (bias 7, at most 448): three bits of mantissa, rounded by the fourth alone. */
static inline uint8_t half_up_ue4m3(float v) {
    if (!(v > 0)) return 0;
    if (v > 448) v = 448;
    const uint32_t bits = single_bits(v);
    int e = (int)(bits >> 23) - 127 + 7;
    if (e <= 0) {
        const int m = (int)(v * 512 + 0.5f);
        return (uint8_t)(m < 7 ? m : 7);
    }
    const int m = (int)(bits >> 20 & 7) + (int)(bits >> 19 & 1);
    e += m >> 3;
    return (uint8_t)(bits >> 23 >= 127 - 7 + 15 || e >= 15 ? 0x7e : e << 3 | (m & 7));
}

#endif
