#ifndef GGUFSPEC_AFFINE_H
#define GGUFSPEC_AFFINE_H

/* The affine search: x = scale * level - minimum. Trial scales give levels, and levels give
 * the scale and minimum of least weighted squares; the pair of smallest error wins. */

#include "flight.h"

typedef enum { ERROR_SQUARE, ERROR_MAGNITUDE } affine_error;

typedef struct {
    int length, top; /* elements, and the largest level */
    float start, step;
    int steps; /* trial t = 0..steps divides the range into top + start + t * step */
    affine_error error;
} affine_trials;

/* What the search finds for each of a group: the pair, the sum of the weights, and the step
 * and origin whose levels the pair was fitted to. */
typedef struct {
    float scale[GROUP], minimum[GROUP], weight[GROUP], inverse[GROUP], origin[GROUP];
} affine_fits;

static inline ilanes affine_level(lanes x, lanes inverse, lanes origin, int top) {
    return ilower(ihigher(nearest(inverse * (x - origin)), (ilanes){0}), ieach(top));
}

static inline lanes affine_loss(affine_error error, lanes diff) {
    if (error == ERROR_MAGNITUDE) return magnitude(diff);
    return diff * diff;
}

GGUFSPEC_STRATEGY void affine_fit(const affine_trials *k, const lanes x[][FLIGHT],
                                  const lanes w[][FLIGHT], affine_fits *fits) {
    lanes l[MOST_LENGTH][FLIGHT];
    lanes min[FLIGHT], max[FLIGHT], sw[FLIGHT], sx[FLIGHT];
    lanes scale[FLIGHT], best[FLIGHT] = {{0}}, inverse[FLIGHT], origin[FLIGHT];
    const int n = k->length;

    for (int f = 0; f < FLIGHT; f++) {
        min[f] = max[f] = x[0][f];
        sw[f] = w[0][f];
        sx[f] = sw[f] * x[0][f];
    }
    for (int i = 1; i < n; i++)
        for (int f = 0; f < FLIGHT; f++) {
            min[f] = lower(x[i][f], min[f]);
            max[f] = higher(x[i][f], max[f]);
            sw[f] += w[i][f];
            sx[f] += w[i][f] * x[i][f];
        }
    for (int f = 0; f < FLIGHT; f++) {
        min[f] = choose(min[f] > 0, (lanes){0}, min[f]);
        inverse[f] = (float)k->top / (max[f] - min[f]);
        scale[f] = 1 / inverse[f];
        origin[f] = min[f];
    }
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FLIGHT; f++) {
            const lanes level = to_float(affine_level(x[i][f], inverse[f], min[f], k->top));
            const lanes diff = scale[f] * level + min[f] - x[i][f];
            best[f] += w[i][f] * affine_loss(k->error, diff);
        }
    /* A sub-block of one value has level 0 and scale 0, and no trial betters it. */
    for (int f = 0; f < FLIGHT; f++) {
        const ilanes flat = max[f] == min[f];
        scale[f] = choose(flat, (lanes){0}, scale[f]);
        inverse[f] = choose(flat, (lanes){0}, inverse[f]);
        best[f] = choose(flat, each(-__builtin_inff()), best[f]);
    }

    for (int t = 0; t <= k->steps; t++) {
        const float reach = k->start + k->step * (float)t + (float)k->top;
        lanes trial[FLIGHT], sl[FLIGHT] = {{0}}, sl2[FLIGHT] = {{0}}, sxl[FLIGHT] = {{0}};
        for (int f = 0; f < FLIGHT; f++) trial[f] = reach / (max[f] - min[f]);
        for (int i = 0; i < n; i++)
            for (int f = 0; f < FLIGHT; f++) {
                const lanes level = to_float(affine_level(x[i][f], trial[f], min[f], k->top));
                const lanes wl = w[i][f] * level;
                l[i][f] = level;
                sl[f] += wl;
                sl2[f] += wl * level;
                sxl[f] += wl * x[i][f];
            }
        lanes s[FLIGHT], m[FLIGHT], error[FLIGHT] = {{0}};
        ilanes solvable[FLIGHT];
        for (int f = 0; f < FLIGHT; f++) {
            const lanes det = sw[f] * sl2[f] - sl[f] * sl[f];
            solvable[f] = det > 0;
            s[f] = (sw[f] * sxl[f] - sx[f] * sl[f]) / det;
            m[f] = (sl2[f] * sx[f] - sl[f] * sxl[f]) / det;
            const ilanes positive = m[f] > 0;
            m[f] = choose(positive, (lanes){0}, m[f]);
            s[f] = choose(positive, sxl[f] / sl2[f], s[f]);
        }
        for (int i = 0; i < n; i++)
            for (int f = 0; f < FLIGHT; f++) {
                const lanes diff = s[f] * l[i][f] + m[f] - x[i][f];
                error[f] += w[i][f] * affine_loss(k->error, diff);
            }
        for (int f = 0; f < FLIGHT; f++) {
            const ilanes better = solvable[f] & (error[f] < best[f]);
            best[f] = choose(better, error[f], best[f]);
            scale[f] = choose(better, s[f], scale[f]);
            inverse[f] = choose(better, trial[f], inverse[f]);
            origin[f] = choose(better, min[f], origin[f]);
            min[f] = choose(better, m[f], min[f]);
        }
    }
    for (int f = 0; f < FLIGHT; f++) {
        store_lanes(fits->scale + f * LANES, scale[f]);
        store_lanes(fits->minimum + f * LANES, -min[f]);
        store_lanes(fits->weight + f * LANES, sw[f]);
        store_lanes(fits->inverse + f * LANES, inverse[f]);
        store_lanes(fits->origin + f * LANES, origin[f]);
    }
}

#endif
