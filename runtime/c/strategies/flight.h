#ifndef GGUFSPEC_FLIGHT_H
#define GGUFSPEC_FLIGHT_H

/* Sub-blocks side by side: one a lane, FLIGHT vectors of them at a time, so that one chain of
 * sums runs while another waits. Element e of the group is v[e][0..FLIGHT). */

#include "strategy.h"

enum {
    FLIGHT = 2,
    GROUP = FLIGHT * LANES,
    MOST_LENGTH = 32,     /* elements a sub-block */
    MOST_SUB_BLOCKS = 16, /* sub-blocks a block */
    MOST_ELEMENTS = 256,
    CHUNK = LANES, /* blocks whose second-level problems are solved together, one a lane */
};

typedef enum {
    WEIGHTS_MAGNITUDE,
    WEIGHTS_RMS_PLUS_MAGNITUDE,
    WEIGHTS_SQUARE,
    WEIGHTS_IMPORTANCE,
    WEIGHTS_IMPORTANCE_RMS,
} weight_rule;

typedef enum { MEAN_OVER_NONE, MEAN_OVER_BLOCK, MEAN_OVER_ROW } mean_rule;

/* `flight` * LANES runs of `length` floats from x on; the last of `count` stands for those
 * missing. */
GGUFSPEC_STRATEGY void load_runs(const float *x, int length, int count, int flight, lanes *v) {
    for (int f = 0; f < flight; f++) {
        const float *rows[LANES];
        for (int i = 0; i < LANES; i++) {
            const int run = f * LANES + i;
            rows[i] = x + (run < count ? run : count - 1) * length;
        }
        transpose(v + f, flight, rows, length);
    }
}

/* The mean square of each of `count` <= LANES runs, `times` it: one sum in order. */
GGUFSPEC_STRATEGY void mean_squares(const float *x, size_t elements, int count, int times,
                                    float *means) {
    lanes sum = {0};
    for (size_t e = 0; e < elements; e += LANES) {
        const float *rows[LANES];
        lanes v[LANES];
        for (int i = 0; i < LANES; i++) rows[i] = x + (size_t)(i < count ? i : 0) * elements + e;
        transpose(v, 1, rows, LANES);
        for (int i = 0; i < LANES; i++) sum += v[i] * v[i];
    }
    store_lanes(means, (float)times * sum / (float)elements);
}

/* Codes 0..top of n scales, of which d * (2 * code + 1) will be kept, and d: the largest scale
 * divided by the largest multiple. Returns 0, with zeros, where no scale is above 0. */
GGUFSPEC_STRATEGY int odd_scale_codes(const float *scale, int n, int top, float *d, uint8_t *code) {
    float most = 0;
    for (int i = 0; i < n; i++) most = most > scale[i] ? most : scale[i];
    *d = most / (float)(2 * top + 1);
    const float steps = 1 / *d;
    for (int i = 0; i < n; i++) {
        const int32_t c = nearest_one(0.5f * (steps * scale[i] - 1));
        code[i] = (uint8_t)(most == 0 || c < 0 ? 0 : c > top ? top : c);
    }
    return most != 0;
}

/* Weights of a group: `q` is its importance, `mean` the mean square that each lane takes. */
GGUFSPEC_STRATEGY void group_weights(weight_rule rule, int length, const lanes v[][FLIGHT],
                                     const lanes q[][FLIGHT], const lanes *mean,
                                     lanes w[][FLIGHT]) {
    lanes rms[FLIGHT] = {{0}};
    if (rule == WEIGHTS_RMS_PLUS_MAGNITUDE) {
        for (int i = 0; i < length; i++)
            for (int f = 0; f < FLIGHT; f++) rms[f] += v[i][f] * v[i][f];
        for (int f = 0; f < FLIGHT; f++) rms[f] = square_root(rms[f] / (float)length);
    }
    for (int i = 0; i < length; i++)
        for (int f = 0; f < FLIGHT; f++) switch (rule) {
            case WEIGHTS_MAGNITUDE:
                w[i][f] = magnitude(v[i][f]);
                break;
            case WEIGHTS_RMS_PLUS_MAGNITUDE:
                w[i][f] = rms[f] + magnitude(v[i][f]);
                break;
            case WEIGHTS_SQUARE:
                w[i][f] = v[i][f] * v[i][f];
                break;
            case WEIGHTS_IMPORTANCE:
                w[i][f] = q[i][f];
                break;
            case WEIGHTS_IMPORTANCE_RMS:
                w[i][f] = q[i][f] * square_root(mean[f] + v[i][f] * v[i][f]);
            }
}

/* Load a group of `count` runs at x and weigh it. `means` has the mean square of each block
 * of `sub_blocks` runs; the group starts with run `first` of block 0. */
GGUFSPEC_STRATEGY void load_weighted(weight_rule rule, int length, int sub_blocks, const float *x,
                                     const float *importance, const float *means, int first,
                                     int count, lanes v[][FLIGHT], lanes w[][FLIGHT]) {
    lanes q[MOST_LENGTH][FLIGHT], mean[FLIGHT] = {{0}};
    load_runs(x, length, count, FLIGHT, v[0]);
    if (rule == WEIGHTS_IMPORTANCE || rule == WEIGHTS_IMPORTANCE_RMS)
        load_runs(importance, length, count, FLIGHT, q[0]);
    if (rule == WEIGHTS_IMPORTANCE_RMS)
        for (int i = 0; i < GROUP; i++)
            mean[i / LANES][i % LANES] = means[(first + (i < count ? i : 0)) / sub_blocks];
    group_weights(rule, length, v, q, mean, w);
}

#endif
