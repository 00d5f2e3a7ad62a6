#ifndef GGUFSPEC_STRATEGY_NESTED_SYMMETRIC_SEARCH_H
#define GGUFSPEC_STRATEGY_NESTED_SYMMETRIC_SEARCH_H

/* Blocks of sub-blocks with a scale each, which are codes under the block's scale:
 * x = d * (sub_scale - scale_zero) * (level - zero). */

#include "symmetric.h"

typedef enum { SEARCH_TRIALS, SEARCH_SWEEPS } symmetric_method;
typedef enum { SCALES_LARGEST, SCALES_SEARCH } symmetric_scales;

typedef struct {
    int sub_blocks, length, zero;
    int scale_reach, scale_zero; /* codes are scale_zero - scale_reach..scale_zero + scale_reach - 1 */
    weight_rule weights;
    mean_rule mean_over;
    int mean_times;
    symmetric_method search;
    symmetric_scales scales;
    float empty; /* a block whose scales are all smaller is all zeros */
} nested_symmetric_search_constants;

typedef struct {
    uint16_t scale;
    uint8_t sub_scale[MOST_SUB_BLOCKS];
    uint8_t level[MOST_ELEMENTS];
} nested_symmetric_search_codes;

enum {
    CHUNK_SUBS = CHUNK * MOST_SUB_BLOCKS,
    CHUNK_GROUPS = CHUNK_SUBS / GROUP,
    CHUNK_SWEEPS = CHUNK_SUBS / SWEEP_GROUP,
};

/* The fits of all sub-blocks of a chunk, by the one method or the other. */
typedef union {
    symmetric_fits fits[CHUNK_GROUPS];
    symmetric_swept swept[CHUNK_SWEEPS];
} symmetric_chunk;

/* Sweeps of the `count` runs whose numbers stand in `which`, on from the first trial. */
GGUFSPEC_STRATEGY void sweep_runs(int n, int zero, const float *x, const int *which, int count,
                                  symmetric_swept *swept) {
    for (int start = 0; start < count; start += SWEEP_GROUP) {
        lanes v[SWEEP_LENGTH][SWEEP_FLIGHT];
        symmetric_swept found;
        const int here = count - start < SWEEP_GROUP ? count - start : SWEEP_GROUP;
        for (int f = 0; f < SWEEP_FLIGHT; f++) {
            const float *rows[LANES];
            for (int i = 0; i < LANES; i++) {
                const int run = f * LANES + i;
                rows[i] = x + which[start + (run < here ? run : 0)] * n;
            }
            transpose(v[0] + f, SWEEP_FLIGHT, rows, n);
        }
        first_levels(n, zero, v, &found);
        symmetric_sweeps(n, zero, v, &found);
        swept_scales(&found);
        for (int run = 0; run < here; run++) {
            const int s = which[start + run], f = s % SWEEP_GROUP / LANES;
            symmetric_swept *to = &swept[s / SWEEP_GROUP];
            to->scale[s % SWEEP_GROUP] = found.scale[run];
            for (int i = 0; i < n; i++)
                to->level[i][f][s % LANES] = found.level[i][run / LANES][run % LANES];
        }
    }
}

/* The first trial of every run, and sweeps of those that they may change: one in five. */
GGUFSPEC_STRATEGY void symmetric_chunk_sweeps(int n, int zero, const float *x, int subs,
                                              symmetric_swept *swept) {
    int which[CHUNK_SUBS], count = 0;
    for (int s = 0; s < subs; s += SWEEP_GROUP) {
        lanes v[SWEEP_LENGTH][SWEEP_FLIGHT];
        symmetric_swept *now = &swept[s / SWEEP_GROUP];
        load_runs(x + s * n, n, subs - s, SWEEP_FLIGHT, v[0]);
        first_levels(n, zero, v, now);
        swept_scales(now);
        for (uint32_t left = unsettled(n, zero, v, now); left; left &= left - 1) {
            const int run = s + __builtin_ctz(left);
            if (run < subs) which[count++] = run;
        }
    }
    sweep_runs(n, zero, x, which, count, swept);
}

GGUFSPEC_STRATEGY void symmetric_chunk_fit(const nested_symmetric_search_constants *k,
                                           const float *x, const float *importance,
                                           const float *means, int subs, symmetric_chunk *chunk) {
    const int n = k->length;
    if (k->search == SEARCH_SWEEPS) {
        symmetric_chunk_sweeps(n, k->zero, x, subs, chunk->swept);
        return;
    }
    for (int s = 0; s < subs; s += GROUP) {
        lanes v[MOST_LENGTH][FLIGHT], w[MOST_LENGTH][FLIGHT];
        load_weighted(k->weights, n, k->sub_blocks, x + s * n, importance + s * n, means, s,
                      subs - s, v, w);
        symmetric_fit(n, k->zero, v, w, &chunk->fits[s / GROUP]);
    }
}

/* Codes of a block's n scales, of which the largest in magnitude takes the lowest. */
static inline float largest_magnitude_codes(const float *scale, int n, int reach, int zero,
                                            float empty, uint8_t *codes) {
    const float most = first_largest_number(scale, n);
    memset(codes, 0, (size_t)n);
    if (most == 0 || single_value(single_bits(most) & 0x7fffffff) < empty) return 0;
    const float inverse = (float)-reach / most;
    for (int i = 0; i < n; i++) {
        int32_t code = nearest_one(inverse * scale[i]);
        code = code < -reach ? -reach : code;
        codes[i] = (uint8_t)((code < reach - 1 ? code : reach - 1) + zero);
    }
    return 1 / inverse;
}

/* Codes of least weighted squares, a block a lane; the steps between codes. */
GGUFSPEC_STRATEGY void searched_codes(const symmetric_fits *fits, int n, int blocks, int reach,
                                      uint8_t codes[][MOST_SUB_BLOCKS], float *steps) {
    lanes x[MOST_SUB_BLOCKS][FLIGHT], w[MOST_SUB_BLOCKS][FLIGHT];
    float v[MOST_SUB_BLOCKS];
    symmetric_fits found;
    for (int i = 0; i < n; i++)
        for (int b = 0; b < GROUP; b++) {
            const int s = (b < blocks ? b : 0) * n + i;
            x[i][b / LANES][b % LANES] = fits[s / GROUP].scale[s % GROUP];
            w[i][b / LANES][b % LANES] = fits[s / GROUP].weight[s % GROUP];
        }
    symmetric_fit(n, reach, x, w, &found);
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < n; i++) v[i] = x[i][b / LANES][b % LANES];
        steps[b] = found.scale[b];
        for (int i = 0; i < n; i++) {
            int32_t code = nearest_one(found.inverse[b] * v[i]);
            code = code < -reach ? -reach : code;
            code = (code < reach - 1 ? code : reach - 1) + reach;
            codes[b][i] = found.live[b] != 0 ? (uint8_t)code : 0;
        }
    }
}

/* The levels that the search of sub-block s of a chunk ended with. */
GGUFSPEC_STRATEGY void searched_levels(const nested_symmetric_search_constants *k, const float *x,
                                       const symmetric_chunk *chunk, int s, uint8_t *level) {
    if (k->search == SEARCH_SWEEPS) {
        const symmetric_swept *swept = &chunk->swept[s / SWEEP_GROUP];
        const int f = s % SWEEP_GROUP / LANES, lane = s % LANES;
        for (int i = 0; i < k->length; i++)
            level[i] = swept->live[f][lane] ? (uint8_t)(swept->level[i][f][lane] + (float)k->zero) : 0;
        return;
    }
    const symmetric_fits *fits = &chunk->fits[s / GROUP];
    for (int i = 0; i < k->length; i++) {
        int32_t l = nearest_one(fits->inverse[s % GROUP] * x[i]);
        l = l < -k->zero ? -k->zero : l;
        l = (l < k->zero - 1 ? l : k->zero - 1) + k->zero;
        level[i] = fits->live[s % GROUP] != 0 ? (uint8_t)l : 0;
    }
}

GGUFSPEC_STRATEGY void nested_levels(const nested_symmetric_search_constants *k, const float *x,
                                     const symmetric_chunk *chunk, int first,
                                     nested_symmetric_search_codes *codes) {
    const float d = half_value(codes->scale);
    for (int s = 0; s < k->sub_blocks; s++, x += k->length) {
        const uint8_t stored = codes->sub_scale[s];
        const int code = k->scale_zero ? stored - k->scale_zero : (int8_t)stored;
        const float step = d * (float)code;
        uint8_t *level = codes->level + s * k->length;
        if (step == 0) {
            searched_levels(k, x, chunk, first + s, level);
            continue;
        }
        ilanes whole[MOST_LENGTH / LANES];
        for (int i = 0; i < k->length; i += LANES)
            whole[i / LANES] = symmetric_level(load_lanes(x + i) / step, k->zero) + k->zero;
        store_bytes(level, whole, k->length);
    }
}

GGUFSPEC_STRATEGY size_t nested_symmetric_search(
    const nested_symmetric_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
    int (*store)(uint8_t *, size_t, const nested_symmetric_search_codes *)) {
    (void)row_mean;
    const int n = k->sub_blocks;
    const size_t elements = (size_t)(n * k->length);
    const float *q = importance ? importance : x;
    for (size_t start = 0; start < blocks; start += CHUNK) {
        const int count = blocks - start < CHUNK ? (int)(blocks - start) : CHUNK;
        const float *at = x + start * elements;
        float means[LANES], scale[GROUP];
        uint8_t sub_scale[CHUNK][MOST_SUB_BLOCKS];
        symmetric_chunk c;
        if (k->mean_over == MEAN_OVER_BLOCK)
            mean_squares(at, (int)elements, count, k->mean_times, means);
        symmetric_chunk_fit(k, at, q + start * elements, means, count * n, &c);
        if (k->scales == SCALES_SEARCH)
            searched_codes(c.fits, n, count, k->scale_reach, sub_scale, scale);
        for (int b = 0; b < count; b++, at += elements) {
            nested_symmetric_search_codes codes;
            if (k->scales == SCALES_LARGEST) {
                float scales[MOST_SUB_BLOCKS];
                for (int i = 0; i < n; i++) {
                    const int s = b * n + i;
                    scales[i] = k->search == SEARCH_SWEEPS
                                    ? c.swept[s / SWEEP_GROUP].scale[s % SWEEP_GROUP]
                                    : c.fits[s / GROUP].scale[s % GROUP];
                }
                scale[b] = largest_magnitude_codes(scales, n, k->scale_reach, k->scale_zero,
                                                   k->empty, sub_scale[b]);
            }
            codes.scale = half_bits(scale[b]);
            memcpy(codes.sub_scale, sub_scale[b], sizeof codes.sub_scale);
            if (k->empty > 0 && scale[b] == 0)
                memset(codes.level, 0, sizeof codes.level);
            else
                nested_levels(k, at, &c, b * n, &codes);
            if (!store(dst, start + (size_t)b, &codes)) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
