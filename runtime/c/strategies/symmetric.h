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

/* What sweeps find for each of a group: the scale, and the levels plus zero. */
typedef struct {
    float scale[SWEEP_GROUP];
    lanes level[SWEEP_LENGTH][SWEEP_FLIGHT];
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

/* The first trial, and then one level at a time, in up to five sweeps. Weights are squares. */
GGUFSPEC_STRATEGY void symmetric_sweeps(int n, int zero, const lanes x[][SWEEP_FLIGHT],
                                        symmetric_swept *swept) {
    lanes w[SWEEP_LENGTH][SWEEP_FLIGHT], wx[SWEEP_LENGTH][SWEEP_FLIGHT], (*level)[SWEEP_FLIGHT];
    lanes steps[SWEEP_FLIGHT], sxl[SWEEP_FLIGHT] = {{0}}, sl2[SWEEP_FLIGHT] = {{0}};
    ilanes live[SWEEP_FLIGHT];
    level = swept->level;
    for (int f = 0; f < SWEEP_FLIGHT; f++)
        steps[f] = (float)-zero / first_largest_lane(n, &x[0][f], SWEEP_FLIGHT, &live[f]);
    for (int i = 0; i < n; i++)
        for (int f = 0; f < SWEEP_FLIGHT; f++) {
            const lanes l = to_float(symmetric_level(steps[f] * x[i][f], zero));
            level[i][f] = l;
            w[i][f] = x[i][f] * x[i][f];
            wx[i][f] = w[i][f] * x[i][f];
            sxl[f] += wx[i][f] * l;
            sl2[f] += w[i][f] * l * l;
        }
    for (int sweep = 0; sweep < 5; sweep++) {
        ilanes changed = {0};
        for (int i = 0; i < n; i++)
            for (int f = 0; f < SWEEP_FLIGHT; f++) {
                const lanes l = level[i][f];
                lanes a = sxl[f] - wx[i][f] * l, b = sl2[f] - w[i][f] * l * l;
                const lanes other = to_float(symmetric_level(x[i][f] * b / a, zero));
                ilanes better = (a > 0) & (other != l);
                a += wx[i][f] * other;
                b += w[i][f] * other * other;
                better &= (b > 0) & (a * a * sl2[f] > sxl[f] * sxl[f] * b);
                level[i][f] = choose(better, other, l);
                sxl[f] = choose(better, a, sxl[f]);
                sl2[f] = choose(better, b, sl2[f]);
                changed |= better;
            }
        if (!mask_bits(changed)) break;
    }
    for (int f = 0; f < SWEEP_FLIGHT; f++) {
        const ilanes fitted = live[f] & (sl2[f] > 0);
        store_lanes(swept->scale + f * LANES, choose(fitted, sxl[f] / sl2[f], (lanes){0}));
        for (int i = 0; i < n; i++)
            level[i][f] = choose(live[f], level[i][f] + (float)zero, (lanes){0});
    }
}

#endif
