#ifndef GGUFSPEC_STRATEGY_NESTED_AFFINE_SEARCH_H
#define GGUFSPEC_STRATEGY_NESTED_AFFINE_SEARCH_H

/* Blocks of sub-blocks with a scale and a minimum each, which are codes under the block's two
 * scales: x = d * sub_scale * level - dmin * sub_minimum. */

#include "affine.h"
#include "positive_search.h"

typedef enum { SCALES_LARGEST, SCALES_SEARCH } affine_scales;
typedef enum { SPILL_NONE, SPILL_TOP, SPILL_LATER, SPILL_MINIMUM } affine_spill;

typedef struct {
    int sub_blocks, length, top, sub_top;
    weight_rule weights;
    mean_rule mean_over;
    int mean_times;
    float start, step;
    int steps;
    affine_error error;
    affine_scales scales;
    affine_spill spill; /* what becomes of a searched scale's code that is too large */
} nested_affine_search_constants;

typedef struct {
    uint16_t scale, minimum;
    uint8_t sub_scale[MOST_SUB_BLOCKS], sub_minimum[MOST_SUB_BLOCKS];
    uint8_t level[MOST_ELEMENTS];
} nested_affine_search_codes;

enum { CHUNK_SUBS = CHUNK * MOST_SUB_BLOCKS };

/* The fits of all sub-blocks of a chunk; arrays end with room for a whole group. */
typedef struct {
    float scale[CHUNK_SUBS + GROUP], minimum[CHUNK_SUBS + GROUP], weight[CHUNK_SUBS + GROUP];
    float inverse[CHUNK_SUBS + GROUP], origin[CHUNK_SUBS + GROUP];
} affine_chunk;

GGUFSPEC_STRATEGY void affine_chunk_fit(const nested_affine_search_constants *k, const float *x,
                                        const float *importance, const float *means, int subs,
                                        affine_chunk *chunk) {
    const affine_trials trials = {k->length, k->top, k->start, k->step, k->steps, k->error};
    for (int s = 0; s < subs; s += GROUP) {
        lanes v[MOST_LENGTH][FLIGHT], w[MOST_LENGTH][FLIGHT];
        affine_fits fits;
        load_weighted(k->weights, k->length, k->sub_blocks, x + s * k->length,
                      importance + s * k->length, means, s, subs - s, v, w);
        affine_fit(&trials, v, w, &fits);
        memcpy(chunk->scale + s, fits.scale, sizeof fits.scale);
        memcpy(chunk->minimum + s, fits.minimum, sizeof fits.minimum);
        memcpy(chunk->weight + s, fits.weight, sizeof fits.weight);
        memcpy(chunk->inverse + s, fits.inverse, sizeof fits.inverse);
        memcpy(chunk->origin + s, fits.origin, sizeof fits.origin);
    }
}

/* Codes 0..top of each block's n values, of which the largest takes top; the steps between
 * codes of CHUNK blocks. */
static inline void largest_codes(const float *v, int n, int blocks, int top,
                                 uint8_t codes[][MOST_SUB_BLOCKS], float *steps) {
    for (int b = 0; b < blocks; b++, v += n) {
        float most = 0;
        for (int i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
        const float inverse = most > 0 ? (float)top / most : 0;
        for (int i = 0; i < n; i++) {
            const uint8_t code = (uint8_t)nearest_one(inverse * v[i]);
            codes[b][i] = code < top ? code : (uint8_t)top;
        }
        steps[b] = most / (float)top;
    }
}

/* The same, of least weighted squares. */
GGUFSPEC_STRATEGY void searched_codes(const float *v, const float *weight, int n, int blocks,
                                      int top, uint8_t codes[][MOST_SUB_BLOCKS], float *steps) {
    lanes x[MOST_SUB_BLOCKS], w[MOST_SUB_BLOCKS];
    ilanes found[MOST_SUB_BLOCKS];
    const float *rows[LANES], *weights[LANES];
    for (int b = 0; b < LANES; b++) {
        rows[b] = v + (b < blocks ? b : 0) * n;
        weights[b] = weight + (b < blocks ? b : 0) * n;
    }
    transpose(x, 1, rows, n);
    transpose(w, 1, weights, n);
    store_lanes(steps, positive_search(n, top, x, w, found));
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < n; i++) codes[b][i] = (uint8_t)found[i][b];
}

/* Bring a block's scale codes to 0..sub_top; what they have above goes where ggml's bytes have
 * it. */
GGUFSPEC_STRATEGY void spill_codes(const nested_affine_search_constants *k, uint8_t *scale,
                                   uint8_t *minimum) {
    const int n = k->sub_blocks, limit = k->sub_top + 1;
    for (int s = 0; s < n; s++) {
        const uint8_t code = scale[s], above = (uint8_t)(code / limit);
        scale[s] = k->spill == SPILL_TOP && above ? (uint8_t)k->sub_top : (uint8_t)(code % limit);
        if (k->spill == SPILL_MINIMUM) minimum[s] |= above;
        if (k->spill == SPILL_LATER && s < n / 2)
            scale[s + n / 2] = (uint8_t)(scale[s + n / 2] % limit | above * (limit / 4));
    }
}

/* Levels under the scales as they are stored; where a stored scale is 0, those of the search. */
GGUFSPEC_STRATEGY void nested_levels(const nested_affine_search_constants *k, const float *x,
                                     const float *inverse, const float *origin,
                                     nested_affine_search_codes *codes) {
    const float d = half_value(codes->scale), dmin = half_value(codes->minimum);
    for (int s = 0; s < k->sub_blocks; s++, x += k->length) {
        ilanes level[MOST_LENGTH / LANES];
        const float step = d * (float)codes->sub_scale[s];
        const float shift = dmin * (float)codes->sub_minimum[s];
        for (int i = 0; i < k->length; i += LANES) {
            const lanes v = load_lanes(x + i);
            const lanes steps = step != 0 ? (v + shift) / step : inverse[s] * (v - origin[s]);
            level[i / LANES] = ilower(ihigher(nearest(steps), (ilanes){0}), ieach(k->top));
        }
        store_bytes(codes->level + s * k->length, level, k->length);
    }
}

GGUFSPEC_STRATEGY size_t nested_affine_search(const nested_affine_search_constants *k,
                                              GGUFSPEC_QUANTIZE_ARGS,
                                              int (*store)(uint8_t *, size_t,
                                                           const nested_affine_search_codes *)) {
    (void)row_mean;
    const int n = k->sub_blocks;
    const size_t elements = (size_t)(n * k->length);
    const float *q = importance ? importance : x;
    for (size_t start = 0; start < blocks; start += CHUNK) {
        const int count = blocks - start < CHUNK ? (int)(blocks - start) : CHUNK;
        const float *at = x + start * elements;
        float means[LANES], scale[LANES], minimum[LANES];
        uint8_t sub_scale[CHUNK][MOST_SUB_BLOCKS], sub_minimum[CHUNK][MOST_SUB_BLOCKS];
        affine_chunk c;
        if (k->mean_over == MEAN_OVER_BLOCK)
            mean_squares(at, (int)elements, count, k->mean_times, means);
        affine_chunk_fit(k, at, q + start * elements, means, count * n, &c);
        if (k->scales == SCALES_SEARCH) {
            searched_codes(c.scale, c.weight, n, count, k->sub_top, sub_scale, scale);
            searched_codes(c.minimum, c.weight, n, count, k->sub_top, sub_minimum, minimum);
        } else {
            largest_codes(c.scale, n, count, k->sub_top, sub_scale, scale);
            largest_codes(c.minimum, n, count, k->sub_top, sub_minimum, minimum);
        }
        for (int b = 0; b < count; b++) {
            nested_affine_search_codes codes;
            codes.scale = half_bits(scale[b]);
            codes.minimum = half_bits(minimum[b]);
            memcpy(codes.sub_scale, sub_scale[b], sizeof codes.sub_scale);
            memcpy(codes.sub_minimum, sub_minimum[b], sizeof codes.sub_minimum);
            spill_codes(k, codes.sub_scale, codes.sub_minimum);
            nested_levels(k, at + (size_t)b * elements, c.inverse + b * n, c.origin + b * n, &codes);
            if (!store(dst, start + (size_t)b, &codes)) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
