#ifndef GGUFSPEC_STRATEGY_TERNARY_GRID_H
#define GGUFSPEC_STRATEGY_TERNARY_GRID_H

/* x = d * (2 * sub_scale + 1) * (level +- shift) for levels -1, 0 and 1, eight of which are a
 * row of a grid: the best split of each sub-block, then the nearest rows, then the scales. */

#include "ternary_grid_rows.h"
#include "ternary_grid_split.h"

typedef enum { FIT_LARGEST, FIT_BLOCK } ternary_fit;

typedef struct {
    int sub_blocks, length; /* sub_blocks is a multiple of LANES */
    const ggufspec_grid *grid;
    int group, distances; /* elements a row */
    float shift;
    ternary_sums sums;
    weight_rule weights;
    mean_rule mean_over;
    int mean_times;
    float empty; /* a sub-block without larger magnitudes is all zeros */
    int scale_top;
    ternary_fit fit;
    float fudge;
} ternary_grid_constants;

enum { MOST_GROUPS = MOST_ELEMENTS / TERNARY_ROW };

typedef struct {
    uint16_t scale;
    uint8_t sub_scale[MOST_SUB_BLOCKS];
    uint16_t row[MOST_GROUPS];
    uint8_t shift[MOST_GROUPS];
} ternary_grid_codes;

/* A block while its scale is not known yet. */
typedef struct {
    float scale[MOST_SUB_BLOCKS];
    uint16_t row[MOST_GROUPS]; /* codes of rows */
    uint8_t down[MOST_GROUPS];
    int lost; /* a sub-block has no finite scale or row */
} ternary_block;

GGUFSPEC_STRATEGY lanes ternary_value(ilanes level, const lanes *values) {
    return choose(level == 0, values[0], choose(level == 1, values[1], values[2]));
}

/* The values of the levels in each lane. */
GGUFSPEC_STRATEGY void ternary_shifted(const ternary_values *v, ilanes down, lanes *values) {
    for (int level = 0; level < 3; level++)
        values[level] = choose(down, each(v->of[1][level]), each(v->of[0][level]));
}

/* LANES sub-blocks, of which the first is sub-block `first` of the block. */
GGUFSPEC_STRATEGY void ternary_sub_blocks(const ternary_grid_constants *k,
                                          const ggufspec_neighbours *near, const float *x,
                                          const float *w, int first, ternary_block *block) {
    const int n = k->length, groups = n / TERNARY_ROW, parts = k->sums == SUMS_SPANS ? 1 : 2;
    const ternary_values v = ternary_values_of(k->shift);
    lanes xs[MOST_LENGTH], ws[MOST_LENGTH], most = {0};
    ilanes rank[MOST_LENGTH];
    load_runs(x, n, LANES, 1, xs);
    for (int i = 0; i < n; i++) most = higher(magnitude(xs[i]), most);
    const ilanes live = most >= each(k->empty);
    if (!mask_bits(live)) {
        store_lanes(block->scale + first, each(0));
        for (int p = 0; p < LANES * parts; p++) block->down[first * parts + p] = 0;
        for (int g = 0; g < LANES * groups; g++)
            block->row[first * groups + g] = k->grid->codes[0];
        return;
    }
    load_runs(w, n, LANES, 1, ws);
    ternary_ranks(xs, n, rank);
    ternary_split split = ternary_search(k->sums, xs, ws, rank, live, n, &v);

    /* A negative scale turns everything round. */
    const ilanes found = split.parts >= 0, turned = split.scale < 0;
    split.scale = choose(turned, -split.scale, split.scale);
    split.parts ^= turned;
    ilanes down[2], codes[MOST_LENGTH / TERNARY_ROW], off = {0};
    for (int p = 0; p < parts; p++) down[p] = -(split.parts >> (parts - 1 - p) & 1) & found;
    for (int g = 0; g < groups; g++) {
        codes[g] = ieach(0);
        for (int i = 0; i < TERNARY_ROW; i++) {
            const ilanes r = rank[g * TERNARY_ROW + i];
            ilanes level = -(r >= split.first) - (r >= split.second);
            level = ((2 - level) & turned) | (level & ~turned);
            codes[g] |= level << 2 * i;
        }
        codes[g] = (codes[g] & found) | (ieach(k->grid->codes[0]) & ~found);
        for (int l = 0; l < LANES; l++) ternary_will_look(near, codes[g][l]);
    }
    for (int g = 0; g < groups; g++)
        for (int l = 0; l < LANES; l++) ternary_will_search(near, codes[g][l]);
    for (int g = 0; g < groups; g++)
        for (int l = 0; l < LANES; l++) {
            const int p = parts * g / groups, at = l * n + g * TERNARY_ROW;
            int code = codes[g][l];
            if (near->map[code] < 0) {
                off[l] = -1;
                code = ternary_row(k->grid, near, x + at, w + at, split.scale[l],
                                   v.of[-down[p][l]], code);
                block->lost |= code < 0;
                code = code < 0 ? k->grid->codes[0] : code;
            }
            codes[g][l] = code;
            block->row[(first + l) * groups + g] = (uint16_t)code;
        }

    lanes xq = {0}, q2 = {0};
    for (int p = 0; p < parts; p++) {
        lanes values[3];
        ternary_shifted(&v, down[p], values);
        for (int i = p * n / parts; i < (p + 1) * n / parts; i++) {
            const ilanes level = codes[i / TERNARY_ROW] >> 2 * (i % TERNARY_ROW) & 3;
            const lanes q = ternary_value(level, values);
            xq += ws[i] * q * xs[i];
            q2 += ws[i] * q * q;
        }
    }
    split.scale = choose(off & (xq > 0) & (q2 > 0), xq / q2, split.scale);
    split.scale = choose(found, split.scale, each(0));
    block->lost |= mask_bits(split.scale != split.scale) != 0;
    store_lanes(block->scale + first, split.scale);
    for (int p = 0; p < parts; p++)
        for (int l = 0; l < LANES; l++)
            block->down[(first + l) * parts + p] = (uint8_t)-down[p][l];
}

/* Codes for a block's scales; the largest scale, divided by the largest code. */
GGUFSPEC_STRATEGY float ternary_scales(const ternary_grid_constants *k, const ternary_block *block,
                                       const ggufspec_neighbours *near, ternary_grid_codes *codes) {
    const int parts = k->sums == SUMS_SPANS ? 1 : 2;
    float d;
    const int some =
        odd_scale_codes(block->scale, k->sub_blocks, k->scale_top, &d, codes->sub_scale);
    for (int s = 0; s < k->sub_blocks * parts; s++)
        codes->shift[s] = some ? block->down[s] : 0;
    for (int g = 0; g < k->sub_blocks * k->length / TERNARY_ROW; g++)
        codes->row[g] = (uint16_t)near->map[block->row[g]];
    return d;
}

/* Scales fitted anew to LANES blocks, where there is anything to fit. */
GGUFSPEC_STRATEGY void ternary_fit_blocks(const ternary_grid_constants *k, const float *x,
                                          const float *w, int count, const ternary_block *block,
                                          const ternary_grid_codes *codes, float *scale) {
    const int elements = k->sub_blocks * k->length, parts = k->sums == SUMS_SPANS ? 1 : 2;
    const ternary_values v = ternary_values_of(k->shift);
    lanes xq = {0}, q2 = {0};
    int some = 0;
    for (int b = 0; b < count; b++) some |= scale[b] != 0;
    if (!some) return;
    for (int g = 0; g < elements / TERNARY_ROW; g++) {
        const int s = g * TERNARY_ROW / k->length, p = g * TERNARY_ROW * parts / k->length;
        const float *xs[LANES], *ws[LANES];
        lanes xt[TERNARY_ROW], wt[TERNARY_ROW], odd, values[3];
        ilanes code, down;
        for (int l = 0; l < LANES; l++) {
            const int b = l < count ? l : 0, at = b * elements + g * TERNARY_ROW;
            xs[l] = x + at;
            ws[l] = w + at;
            code[l] = block[b].row[g];
            down[l] = -(int)codes[b].shift[p];
            odd[l] = (float)(2 * codes[b].sub_scale[s] + 1);
        }
        transpose(xt, 1, xs, TERNARY_ROW);
        transpose(wt, 1, ws, TERNARY_ROW);
        ternary_shifted(&v, down, values);
        for (int i = 0; i < TERNARY_ROW; i++, code >>= 2) {
            const lanes q = ternary_value(code & 3, values) * odd;
            xq += wt[i] * q * xt[i];
            q2 += wt[i] * q * q;
        }
    }
    for (int b = 0; b < count; b++)
        if (scale[b] != 0 && q2[b] > 0) scale[b] = xq[b] / q2[b];
}

GGUFSPEC_STRATEGY void ternary_weights(const ternary_grid_constants *k, const float *x,
                                       const float *importance, float mean, int n, float *w) {
    for (int i = 0; i < n; i += LANES) {
        const lanes v = load_lanes(x + i);
        lanes weight = v * v;
        if (k->weights == WEIGHTS_IMPORTANCE_RMS)
            weight = load_lanes(importance + i) * square_root(mean + weight);
        store_lanes(w + i, weight);
    }
}

GGUFSPEC_STRATEGY size_t ternary_grid(const ternary_grid_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                      int (*store)(uint8_t *, size_t, const ternary_grid_codes *)) {
    (void)row_mean;
    const ggufspec_neighbours *near = ggufspec_neighbours_of(k->grid);
    const int elements = k->sub_blocks * k->length;
    for (size_t start = 0; start < blocks; start += LANES) {
        const int count = blocks - start < LANES ? (int)(blocks - start) : LANES;
        const size_t from = start * (size_t)elements;
        float means[LANES] = {0}, scale[LANES], w[LANES * MOST_ELEMENTS];
        ternary_block block[LANES];
        ternary_grid_codes codes[LANES];
        if (k->mean_over == MEAN_OVER_BLOCK)
            mean_squares(x + from, elements, count, k->mean_times, means);
        for (int b = 0; b < count; b++) {
            const float *at = x + from + b * elements;
            float *weight = w + b * elements;
            ternary_weights(k, at, importance ? importance + from + b * elements : at, means[b],
                            elements, weight);
            block[b].lost = 0;
            for (int s = 0; s < k->sub_blocks; s += LANES)
                ternary_sub_blocks(k, near, at + s * k->length, weight + s * k->length, s,
                                   &block[b]);
            scale[b] = ternary_scales(k, &block[b], near, &codes[b]);
        }
        if (k->fit == FIT_BLOCK)
            ternary_fit_blocks(k, x + from, w, count, block, codes, scale);
        for (int b = 0; b < count; b++) {
            codes[b].scale = half_bits(block[b].lost ? __builtin_nanf("") : scale[b] * k->fudge);
            if (!store(dst, start + (size_t)b, &codes[b])) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
