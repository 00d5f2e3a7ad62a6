#ifndef GGUFSPEC_SYMMETRIC_H
#define GGUFSPEC_SYMMETRIC_H

/* The symmetric searches: x = scale * level for levels -zero..zero - 1, of least weighted
 * squares. */

#include "flight.h"

/* What a search finds for each of a group: the scale, the step whose levels it was fitted to,
 * and whether there was anything to fit (else every level is the lowest). */
typedef struct {
    float scale[GROUP], inverse[GROUP], live[GROUP], weight[GROUP];
} symmetric_fits;

/* Sweeps are one long chain a lane: more vectors in flight. */
enum { SWEEP_FLIGHT = 4, SWEEP_GROUP = SWEEP_FLIGHT * LANES, SWEEP_LENGTH = 16 };

/* A group that sweeps go over: levels, their sums of x^3 * level and x^2 * level^2, whether
 * there is anything to fit, and in the end the scale. */
typedef struct {
    lanes level[SWEEP_LENGTH][SWEEP_FLIGHT], sxl[SWEEP_FLIGHT], sl2[SWEEP_FLIGHT];
    ilanes live[SWEEP_FLIGHT];
    float scale[SWEEP_GROUP];
} symmetric_swept;

static inline ilanes symmetric_level(lanes steps, int zero) {
    return ilower(ihigher(nearest(steps), ieach(-zero)), ieach(zero - 1));
}

/* The first element of largest magnitude of each lane, and whether it is worth a scale. */
GGUFSPEC_STRATEGY lanes first_largest_lane(int n, const lanes *x, int stride, ilanes *live) {
    lanes most = {0}, first = {0};
    for (int i = 0; i < n; i++) {
        const lanes m = magnitude(x[i * stride]);
        const ilanes more = m > most;
        most = choose(more, m, most);
        first = choose(more, x[i * stride], first);
    }
    *live = ~(most < each(1e-15f));
    return first;
}

/* Trial scales about the first, which takes the largest element to level -zero. */
GGUFSPEC_STRATEGY void symmetric_fit(int n, int zero, const lanes x[][FLIGHT],
                                     const lanes w[][FLIGHT], symmetric_fits *fits) {
    lanes wx[MOST_LENGTH][FLIGHT], first[FLIGHT];
    lanes scale[FLIGHT] = {{0}}, best[FLIGHT] = {{0}}, inverse[FLIGHT] = {{0}};
    ilanes live[FLIGHT];
    for (int f = 0; f < FLIGHT; f++) first[f] = first_largest_lane(n, &x[0][f], FLIGHT, &live[f]);
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FLIGHT; f++) wx[i][f] = w[i][f] * x[i][f];

    for (int t = 0; t <= 18; t++) {
        /* 0, then -9..-1 and 1..9 */
        const int offset = t == 0 ? 0 : t <= 9 ? t - 10 : t - 9;
        lanes trial[FLIGHT], sxl[FLIGHT] = {{0}}, sl2[FLIGHT] = {{0}};
        for (int f = 0; f < FLIGHT; f++) trial[f] = -((float)zero + 0.1f * (float)offset) / first[f];
        for (int i = 0; i < n; i++)
            for (int f = 0; f < FLIGHT; f++) {
                /* At most zero + 0.9 steps: no rounding wraps. */
                const lanes l = lower(higher(nearest_small(trial[f] * x[i][f]), each((float)-zero)),
                                      each((float)(zero - 1)));
                sxl[f] += wx[i][f] * l;
                sl2[f] += w[i][f] * l * l;
            }
        for (int f = 0; f < FLIGHT; f++) {
            const lanes fitted = sxl[f] / sl2[f];
            if (t == 0) {
                scale[f] = choose(sl2[f] != 0, fitted, (lanes){0});
                best[f] = scale[f] * sxl[f];
                inverse[f] = trial[f];
                continue;
            }
            const ilanes better = (sl2[f] > 0) & (sxl[f] * sxl[f] > best[f] * sl2[f]);
            scale[f] = choose(better, fitted, scale[f]);
            best[f] = choose(better, fitted * sxl[f], best[f]);
            inverse[f] = choose(better, trial[f], inverse[f]);
        }
    }
    for (int f = 0; f < FLIGHT; f++) {
        lanes weight = {0};
        for (int i = 0; i < n; i++) weight += w[i][f];
        store_lanes(fits->scale + f * LANES, choose(live[f], scale[f], (lanes){0}));
        store_lanes(fits->inverse + f * LANES, inverse[f]);
        store_lanes(fits->live + f * LANES, choose(live[f], each(1), (lanes){0}));
        store_lanes(fits->weight + f * LANES, weight);
    }
}

/* The levels of the first trial. Weights are squares. */
GGUFSPEC_STRATEGY void first_levels(int n, int zero, const lanes x[][SWEEP_FLIGHT],
                                    symmetric_swept *now) {
    lanes steps[SWEEP_FLIGHT];
    for (int f = 0; f < SWEEP_FLIGHT; f++) {
        steps[f] = (float)-zero / first_largest_lane(n, &x[0][f], SWEEP_FLIGHT, &now->live[f]);
        now->sxl[f] = now->sl2[f] = (lanes){0};
    }
    for (int i = 0; i < n; i++)
        for (int f = 0; f < SWEEP_FLIGHT; f++) {
            const lanes l = to_float(symmetric_level(steps[f] * x[i][f], zero));
            const lanes w = x[i][f] * x[i][f];
            now->level[i][f] = l;
            now->sxl[f] += w * x[i][f] * l;
            now->sl2[f] += w * l * l;
        }
}

/* Where an element of level l would rather be at another one, given all the others, whose sums
 * are *a and *b. */
static inline ilanes rather_another(int zero, lanes x, lanes l, lanes sxl, lanes sl2, lanes *a,
                                    lanes *b, lanes *other) {
    const lanes w = x * x;
    *a = sxl - w * x * l;
    *b = sl2 - w * l * l;
    *other = to_float(symmetric_level(x * *b / *a, zero));
    return (*a > 0) & (*other != l);
}

/* The lanes that a sweep may change, one bit each. No element waits for another here: as long
 * as none changes, the sums stay. */
GGUFSPEC_STRATEGY uint32_t unsettled(int n, int zero, const lanes x[][SWEEP_FLIGHT],
                                     const symmetric_swept *now) {
    uint32_t found = 0;
    for (int f = 0; f < SWEEP_FLIGHT; f++) {
        ilanes any = {0};
        for (int i = 0; i < n; i++) {
            lanes a, b, other;
            any |= rather_another(zero, x[i][f], now->level[i][f], now->sxl[f], now->sl2[f], &a,
                                  &b, &other);
        }
        found |= mask_bits(any & now->live[f]) << f * LANES;
    }
    return found;
}

/* One level at a time, in up to five sweeps. */
GGUFSPEC_STRATEGY void symmetric_sweeps(int n, int zero, const lanes x[][SWEEP_FLIGHT],
                                        symmetric_swept *now) {
    for (int sweep = 0; sweep < 5; sweep++) {
        ilanes changed = {0};
        for (int i = 0; i < n; i++)
            for (int f = 0; f < SWEEP_FLIGHT; f++) {
                const lanes l = now->level[i][f], w = x[i][f] * x[i][f];
                lanes a, b, other;
                ilanes better = rather_another(zero, x[i][f], l, now->sxl[f], now->sl2[f], &a, &b,
                                               &other);
                a += w * x[i][f] * other;
                b += w * other * other;
                better &= (b > 0) & (a * a * now->sl2[f] > now->sxl[f] * now->sxl[f] * b);
                now->level[i][f] = choose(better, other, l);
                now->sxl[f] = choose(better, a, now->sxl[f]);
                now->sl2[f] = choose(better, b, now->sl2[f]);
                changed |= better;
            }
        if (!mask_bits(changed)) break;
    }
}

GGUFSPEC_STRATEGY void swept_scales(symmetric_swept *now) {
    for (int f = 0; f < SWEEP_FLIGHT; f++) {
        const ilanes fitted = now->live[f] & (now->sl2[f] > 0);
        store_lanes(now->scale + f * LANES, choose(fitted, now->sxl[f] / now->sl2[f], (lanes){0}));
    }
}

#endif
