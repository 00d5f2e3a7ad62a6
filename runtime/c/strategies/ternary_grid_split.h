#ifndef GGUFSPEC_STRATEGY_TERNARY_GRID_SPLIT_H
#define GGUFSPEC_STRATEGY_TERNARY_GRID_SPLIT_H

/* The best split of a sub-block's sorted elements into those of levels 0, 1 and 2, one
 * sub-block a lane. ggml tries all splits in order and takes each that is better than the last
 * one taken, in rounded arithmetic; the last one taken is the result. */

#include <float.h>

#include "flight.h"

typedef enum { SUMS_SPANS, SUMS_TOTALS } ternary_sums;

enum { MOST_PLACES = MOST_LENGTH + 1, MOST_PARTS = 4 };

/* What the levels stand for, shifted up and down. */
typedef struct {
    float of[2][3];
} ternary_values;

GGUFSPEC_STRATEGY ternary_values ternary_values_of(float shift) {
    ternary_values v;
    for (int level = 0; level < 3; level++) {
        v.of[0][level] = (float)(level - 1) + shift;
        v.of[1][level] = (float)(level - 1) - shift;
    }
    return v;
}

/* Level 0 below rank `first`, 2 from rank `second` on. `parts` says which parts are shifted
 * down, the first part's bit highest; -1 where no split was taken. */
typedef struct {
    lanes scale, best;
    ilanes first, second, parts;
} ternary_split;

/* Sums of the first 0, 1, ... sorted elements' x * weight and weight: of all of them, or of
 * those of either half of the sub-block. */
typedef struct {
    lanes x[2][MOST_PLACES], w[2][MOST_PLACES];
} ternary_prefixes;

/* Each element's place in ascending order; of equals, in the order that they have. */
GGUFSPEC_STRATEGY void ternary_ranks(const lanes *x, int n, ilanes *rank) {
    for (int i = 0; i < n; i++) rank[i] = ieach(i);
    for (int i = 0; i < n; i++) {
        ilanes mine = rank[i];
        for (int j = i + 1; j < n; j++) {
            const ilanes less = x[j] < x[i];
            mine -= less;
            rank[j] += less;
        }
        rank[i] = mine;
    }
}

GGUFSPEC_STRATEGY void ternary_sort(const lanes *x, const lanes *w, const ilanes *rank, int n,
                                    int halves, ternary_prefixes *s) {
    for (int h = 0; h < halves; h++)
        for (int i = 0; i <= (halves == 1 ? 0 : n); i++) s->x[h][i] = s->w[h][i] = each(0);
    for (int i = 0; i < n; i++) {
        const lanes wx = w[i] * x[i];
        float *sx = (float *)s->x[halves * i / n], *sw = (float *)s->w[halves * i / n];
        for (int l = 0; l < LANES; l++) {
            const int place = (rank[i][l] + 1) * LANES + l;
            sx[place] = wx[l];
            sw[place] = w[i][l];
        }
    }
    for (int h = 0; h < halves; h++)
        for (int i = 1; i <= n; i++) {
            s->x[h][i] += s->x[h][i - 1];
            s->w[h][i] += s->w[h][i - 1];
        }
}

/* The sums of split (i, j) for each combination of shifts, as ggml rounds them. */
GGUFSPEC_STRATEGY void ternary_spans(const ternary_prefixes *s, int n, const ternary_values *v,
                                     int i, int j, lanes *xq, lanes *q2) {
    const lanes *x = s->x[0], *w = s->w[0];
    for (int k = 0; k < 2; k++) {
        const float *q = v->of[k];
        xq[k] = (x[i] - x[0]) * q[0] + (x[j] - x[i]) * q[1] + (x[n] - x[j]) * q[2];
        q2[k] = (w[i] - w[0]) * q[0] * q[0] + (w[j] - w[i]) * q[1] * q[1] +
                (w[n] - w[j]) * q[2] * q[2];
    }
}

GGUFSPEC_STRATEGY void ternary_totals(const ternary_prefixes *s, int n, const ternary_values *v,
                                      int i, int j, lanes *xq, lanes *q2) {
    lanes half_xq[2][2], half_q2[2][2];
    for (int h = 0; h < 2; h++) {
        const lanes *x = s->x[h], *w = s->w[h], taken = x[i] + x[j];
        for (int down = 0; down < 2; down++) {
            const float *q = v->of[down];
            half_xq[h][down] = x[n] * q[2] - taken;
            half_q2[h][down] = w[n] * q[2] * q[2] + w[i] * (q[0] * q[0] - q[1] * q[1]) +
                               w[j] * (q[1] * q[1] - q[2] * q[2]);
        }
    }
    for (int k = 0; k < 4; k++) {
        xq[k] = half_xq[0][k >> 1] + half_xq[1][k & 1];
        q2[k] = half_q2[0][k >> 1] + half_q2[1][k & 1];
    }
}

/* Take the split (i, j) in the lanes where it is better. */
GGUFSPEC_STRATEGY void ternary_offer(ternary_sums sums, const ternary_prefixes *s, int n,
                                     const ternary_values *v, int i, int j, ternary_split *found) {
    lanes xq[MOST_PARTS], q2[MOST_PARTS];
    if (sums == SUMS_SPANS)
        ternary_spans(s, n, v, i, j, xq, q2);
    else
        ternary_totals(s, n, v, i, j, xq, q2);
    for (int k = 0; k < (sums == SUMS_SPANS ? 2 : 4); k++) {
        const ilanes better = (q2[k] > 0) & (xq[k] * xq[k] > found->best * q2[k]);
        if (!mask_bits(better)) continue;
        const lanes scale = xq[k] / q2[k];
        found->scale = choose(better, scale, found->scale);
        found->best = choose(better, scale * xq[k], found->best);
        found->first = (ieach(i) & better) | (found->first & ~better);
        found->second = (ieach(j) & better) | (found->second & ~better);
        found->parts = (ieach(k) & better) | (found->parts & ~better);
    }
}

/* ---- which splits need no exact look
 *
 * With values a distance of 1 apart, the sums of split (i, j) are top - x[i] - x[j] and
 * low[i] + high[j]: few operations, though not ggml's, so that they differ by rounding. */
typedef struct {
    lanes x[MOST_PLACES], top[MOST_PARTS], low[MOST_PARTS][MOST_PLACES],
        high[MOST_PARTS][MOST_PLACES];
} ternary_screen;

/* A screened split is worse for certain when it is worse by this much.
 *
 * With u = 2^-24, X the largest magnitude of a prefix and W the sum of all weights, both ways to
 * sum differ by less than 40uX in the one sum and less than 20uW in the other. For weights that
 * are not negative the latter is at least shift^2 * W, so its relative error is below 8e-5. A
 * split that would be taken has the squared former at least best * shift^2 * W; with
 * best * W >= X^2 / 4 its relative error is below 4e-5. Products stay normal floats. */
static const float TERNARY_SURE = 1 - 0x1p-11f, TERNARY_STEEP = 0.25f;

/* The start: this much below the best of some splits. Two searches from different starts take
 * the same splits once one of them is better than all before it by more than rounding. From
 * here up to the best there must be such one: 1122 splits of at most 8u do not add up to it. */
static const float TERNARY_START = 1 - 0x1p-9f;

GGUFSPEC_STRATEGY void ternary_screen_of(const ternary_prefixes *s, int n, int halves, int parts,
                                         const ternary_values *v, ternary_screen *t) {
    for (int i = 0; i <= n; i++) {
        t->x[i] = s->x[0][i];
        if (halves == 2) t->x[i] += s->x[1][i];
    }
    for (int k = 0; k < parts; k++) {
        lanes top = {0}, all = {0};
        const float *q[2];
        for (int h = 0; h < halves; h++) {
            q[h] = v->of[k >> (halves - 1 - h) & 1];
            top += s->x[h][n] * q[h][2];
            all += s->w[h][n] * (q[h][2] * q[h][2]);
        }
        t->top[k] = top;
        for (int i = 0; i <= n; i++) {
            lanes low = all, high = {0};
            for (int h = 0; h < halves; h++) {
                low += s->w[h][i] * (q[h][0] * q[h][0] - q[h][1] * q[h][1]);
                high += s->w[h][i] * (q[h][1] * q[h][1] - q[h][2] * q[h][2]);
            }
            t->low[k][i] = low;
            t->high[k][i] = high;
        }
    }
}

/* A start for each lane that is certain to give the same result; `sure` where there is one. */
GGUFSPEC_STRATEGY lanes ternary_start(const ternary_prefixes *s, const lanes *w, int n, int halves,
                                      int parts, const ternary_screen *t, ilanes *sure) {
    lanes best = {0}, most = {0}, total = {0};
    for (int i = 1; i <= 4; i++)
        for (int j = 4; j <= 7; j++)
            for (int k = 0; k < parts; k++) {
                const lanes xq = t->top[k] - t->x[i * n / 8] - t->x[j * n / 8];
                const lanes q2 = t->low[k][i * n / 8] + t->high[k][j * n / 8];
                best = higher(xq * xq / q2, best);
            }
    for (int h = 0; h < halves; h++) {
        lanes part = {0};
        for (int i = 1; i <= n; i++) part = higher(magnitude(s->x[h][i]), part);
        most += part;
        total += s->w[h][n];
    }
    best *= TERNARY_START;
    *sure = (best * total > TERNARY_STEEP * most * most) & (best * total > 0x1p-80f) &
            (best > 0x1p-80f) & (best < 0x1p60f) & (total > 0x1p-80f) & (total < 0x1p60f);
    for (int i = 0; i < n; i++) *sure &= w[i] >= 0;
    return best;
}

/* The best split of `n` elements with their ranks, in the lanes that are `live`. */
GGUFSPEC_STRATEGY ternary_split ternary_search(ternary_sums sums, const lanes *x, const lanes *w,
                                               const ilanes *rank, ilanes live, int n,
                                               const ternary_values *v) {
    const int halves = sums == SUMS_SPANS ? 1 : 2, parts = 2 * halves;
    ternary_split found = {.parts = ieach(-1)};
    ternary_prefixes s;
    ternary_screen t;
    ilanes sure, weightless = ieach(-1);
    for (int i = 0; i < n; i++) weightless &= w[i] == 0;
    live &= ~weightless; /* no split is taken there */
    if (!mask_bits(live)) return found;
    ternary_sort(x, w, rank, n, halves, &s);
    ternary_screen_of(&s, n, halves, parts, v, &t);
    const lanes start = ternary_start(&s, w, n, halves, parts, &t, &sure);

    const int screened = mask_bits(live & ~sure) == 0;
    found.best = choose(live, screened ? start : each(-FLT_MAX), each(__builtin_inff()));
    lanes bar = found.best * TERNARY_SURE;
    for (int i = 0; i <= n; i++)
        for (int j = i; j <= n; j++) {
            ilanes hit = {0};
            for (int k = 0; k < parts; k++) {
                const lanes xq = t.top[k] - t.x[i] - t.x[j], q2 = t.low[k][i] + t.high[k][j];
                hit |= xq * xq > bar * q2;
            }
            if (screened && !mask_bits(hit)) continue;
            ternary_offer(sums, &s, n, v, i, j, &found);
            bar = found.best * TERNARY_SURE;
        }
    return found;
}

#endif
