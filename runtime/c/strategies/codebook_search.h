#ifndef GGUFSPEC_STRATEGY_CODEBOOK_SEARCH_H
#define GGUFSPEC_STRATEGY_CODEBOOK_SEARCH_H

/* x = scale * value[level] for an ascending codebook of 16, of least weighted squares over
 * trial scales; or with codes for the scales of sub-blocks under the block's scale.
 *
 * The trial scales differ by so little that over all of them an element takes at most two
 * neighbouring values: both, and where one gives way to the other, are found once, and a trial
 * is a comparison and two sums. One sub-block a lane, a few trials at a time. */

#include "flight.h"

typedef struct {
    int sub_blocks, length;
    const int8_t *values;
    int scale_reach; /* codes are -scale_reach..scale_reach - 1; 0: there is one scale */
    weight_rule weights;
    mean_rule mean_over;
    int mean_times, trials;
} codebook_search_constants;

typedef struct {
    uint16_t scale;
    uint8_t sub_scale[MOST_SUB_BLOCKS];
    uint8_t level[MOST_ELEMENTS];
} codebook_search_codes;

enum { CODEBOOK = 16, TRIALS = 16, TOGETHER = 4 };

/* Level j begins at start[j], where its value is as near as that of level j - 1. */
typedef struct {
    float value[CODEBOOK], start[CODEBOOK];
} codebook;

static inline codebook codebook_of(const int8_t *values) {
    codebook book = {{0}, {0}};
    for (int j = 0; j < CODEBOOK; j++) book.value[j] = values[j];
    for (int j = 1; j < CODEBOOK; j++) book.start[j] = (book.value[j - 1] + book.value[j]) / 2;
    return book;
}

/* The nearest value and the level of it, of two the upper; a NaN takes the last. */
GGUFSPEC_STRATEGY lanes nearest_in(const codebook *book, lanes v) {
    lanes found = each(book->value[0]);
    for (int j = 1; j < CODEBOOK; j++) {
        const lanes more = each(book->value[j] - book->value[j - 1]);
        found += (lanes)((ilanes)more & ~(v < book->start[j]));
    }
    return found;
}

GGUFSPEC_STRATEGY ilanes level_in(const codebook *book, lanes v) {
    ilanes level = ieach(CODEBOOK - 1);
    for (int j = 1; j < CODEBOOK; j++) level += v < book->start[j];
    return level;
}

/* What trials need to know of an element. */
typedef struct {
    lanes x, turn;             /* from `turn` steps on it takes the upper value */
    lanes low_xq, high_xq;     /* its weighted products with the two values */
    lanes low_q2, high_q2;     /* and the weighted squares of these */
} codebook_element;

/* The scales of LANES sub-blocks. */
GGUFSPEC_STRATEGY lanes codebook_fit(const codebook_search_constants *k, const codebook *book,
                                     const lanes *x, const lanes *w) {
    const int n = k->length, count = 2 * k->trials + 1;
    const float lowest = book->value[0];
    codebook_element e[MOST_LENGTH];
    lanes most = {0}, first = {0}, trial[TRIALS];
    for (int i = 0; i < n; i++) {
        const ilanes more = magnitude(x[i]) > most;
        most = choose(more, magnitude(x[i]), most);
        first = choose(more, x[i], first);
    }
    for (int t = 0; t < TRIALS; t++)
        trial[t] = ((float)(t < count ? t - k->trials : k->trials) + lowest) / first;

    const lanes opposite = 1 / (-first / lowest);
    lanes xq = {0}, q2 = {0};
    for (int i = 0; i < n; i++) {
        const lanes q = nearest_in(book, opposite * x[i]);
        xq += w[i] * q * x[i];
        q2 += w[i] * q * q;
        const lanes a = nearest_in(book, trial[0] * x[i]);
        const lanes b = nearest_in(book, trial[count - 1] * x[i]);
        const lanes low = lower(a, b), high = higher(a, b);
        e[i] = (codebook_element){x[i],
                                  (a + b) / 2,
                                  w[i] * low * x[i],
                                  w[i] * high * x[i],
                                  w[i] * low * low,
                                  w[i] * high * high};
    }
    lanes scale = choose(q2 > 0, xq / q2, (lanes){0}), best = scale * xq;

    for (int t = 0; t < count; t += TOGETHER) {
        lanes a[TOGETHER] = {{0}}, b[TOGETHER] = {{0}};
        for (int i = 0; i < n; i++)
            for (int j = 0; j < TOGETHER; j++) {
                const ilanes below = trial[t + j] * e[i].x < e[i].turn;
                a[j] += choose(below, e[i].low_xq, e[i].high_xq);
                b[j] += choose(below, e[i].low_q2, e[i].high_q2);
            }
        /* The spare trial repeats the last one and betters nothing. */
        for (int j = 0; j < TOGETHER; j++) {
            const ilanes better = (b[j] > 0) & (a[j] * a[j] > best * b[j]);
            scale = choose(better, a[j] / b[j], scale);
            best = choose(better, a[j] / b[j] * a[j], best);
        }
    }
    return choose(most < each(1e-15f), (lanes){0}, scale);
}

/* The scales of `subs` sub-blocks at x; `scale` has room for LANES more. */
GGUFSPEC_STRATEGY void codebook_scales(const codebook_search_constants *k, const codebook *book,
                                       const float *x, const float *importance, const float *means,
                                       int subs, float *scale) {
    const int weighted = k->weights == WEIGHTS_IMPORTANCE_RMS, n = k->length;
    for (int s = 0; s < subs; s += LANES) {
        lanes v[MOST_LENGTH], q[MOST_LENGTH], w[MOST_LENGTH], mean = {0};
        load_runs(x + s * n, n, subs - s, 1, v);
        if (weighted) {
            load_runs(importance + s * n, n, subs - s, 1, q);
            for (int i = 0; i < LANES; i++)
                mean[i] = means[(s + (i < subs - s ? i : 0)) / k->sub_blocks];
        }
        for (int i = 0; i < n; i++)
            w[i] = weighted ? q[i] * square_root(mean + v[i] * v[i]) : v[i] * v[i];
        store_lanes(scale + s, codebook_fit(k, book, v, w));
    }
}

/* Codes for a block's scales, the largest of which takes the lowest; the step between codes. */
static inline float codebook_codes(const float *scale, int n, int reach, int8_t *codes) {
    const float most = first_largest_number(scale, n);
    const float d = -most / (float)reach, steps = d != 0 ? 1 / d : 0;
    for (int i = 0; i < n; i++) {
        const int32_t code = nearest_one(steps * scale[i]);
        codes[i] = (int8_t)(code < -reach ? -reach : code < reach - 1 ? code : reach - 1);
    }
    return d;
}

GGUFSPEC_STRATEGY size_t codebook_search(const codebook_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                         int (*store)(uint8_t *, size_t,
                                                      const codebook_search_codes *)) {
    (void)row_mean;
    const int n = k->sub_blocks;
    const size_t elements = (size_t)(n * k->length);
    const float *q = importance ? importance : x;
    const codebook book = codebook_of(k->values);
    for (size_t start = 0; start < blocks; start += LANES) {
        const int count = blocks - start < LANES ? (int)(blocks - start) : LANES;
        const float *at = x + start * elements;
        float means[LANES], scale[LANES * MOST_SUB_BLOCKS + LANES];
        if (k->mean_over == MEAN_OVER_BLOCK)
            mean_squares(at, (int)elements, count, k->mean_times, means);
        codebook_scales(k, &book, at, q + start * elements, means, count * n, scale);
        for (int b = 0; b < count; b++) {
            codebook_search_codes codes;
            int8_t code[MOST_SUB_BLOCKS];
            float d = scale[b];
            if (k->scale_reach) d = codebook_codes(scale + b * n, n, k->scale_reach, code);
            codes.scale = half_bits(d);
            for (int s = 0; s < n; s++, at += k->length) {
                ilanes level[MOST_LENGTH / LANES];
                if (k->scale_reach) codes.sub_scale[s] = (uint8_t)(code[s] + k->scale_reach);
                const float step = k->scale_reach ? d * (float)code[s] : d;
                const float steps = step != 0 ? 1 / step : 0;
                for (int i = 0; i < k->length; i += LANES)
                    level[i / LANES] = level_in(&book, steps * load_lanes(at + i));
                store_bytes(codes.level + s * k->length, level, k->length);
            }
            if (!store(dst, start + (size_t)b, &codes)) return start + (size_t)b;
        }
    }
    return blocks;
}

#endif
