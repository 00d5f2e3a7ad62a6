#ifndef GGUFSPEC_POSITIVE_SEARCH_H
#define GGUFSPEC_POSITIVE_SEARCH_H

/* The second level of the affine searches: codes 0..top for scales that are not negative, of
 * least weighted squares; also a grid search's first scale. One problem a lane. */

#include "flight.h"

/* What a byte holds of an integer. ggml keeps the codes in bytes while it searches. */
static inline ilanes as_byte(ilanes v) { return v & 0xff; }

GGUFSPEC_STRATEGY lanes positive_search(int n, int top, const lanes *x, const lanes *w,
                                        ilanes *codes) {
    lanes max = {0};
    for (int i = 0; i < n; i++) max = choose(max > x[i], max, x[i]);
    const ilanes live = ~(max < each(1e-15f));

    lanes inverse = (float)top / max, best = {0};
    for (int i = 0; i < n; i++) {
        const lanes diff = x[i] - 1 / inverse * to_float(as_byte(nearest(inverse * x[i])));
        best += w[i] * diff * diff;
    }
    for (int t = -4; t <= 4; t++) {
        if (t == 0) continue;
        const lanes trial = (0.1f * (float)t + (float)top) / max, scale = 1 / trial;
        lanes error = {0};
        for (int i = 0; i < n; i++) {
            const lanes diff = x[i] - scale * to_float(ilower(nearest(trial * x[i]), ieach(top)));
            error += w[i] * diff * diff;
        }
        const ilanes better = error < best;
        best = choose(better, error, best);
        inverse = choose(better, trial, inverse);
    }

    lanes sxl = {0}, sl2 = {0};
    for (int i = 0; i < n; i++) {
        const ilanes code = ilower(nearest(inverse * x[i]), ieach(top));
        const lanes l = to_float(code);
        sxl += w[i] * x[i] * l;
        sl2 += w[i] * l * l;
        codes[i] = as_byte(code);
    }
    /* One code at a time. A sweep that changes nothing would repeat itself. Most elements change
     * in no lane: where there are many, a branch says so sooner than the division that it looks
     * at. */
    const int many = n > MOST_SUB_BLOCKS;
    for (int sweep = 0; sweep < 5; sweep++) {
        uint32_t changed = 0;
        for (int i = 0; i < n; i++) {
            const lanes l = to_float(codes[i]);
            lanes a = sxl - w[i] * x[i] * l, b = sl2 - w[i] * l * l;
            const ilanes code = ilower(nearest(x[i] * b / a), ieach(top));
            ilanes better = (a > 0) & (b > 0) & (code != codes[i]);
            if (many && !mask_bits(better)) continue;
            const lanes other = to_float(code);
            a += w[i] * x[i] * other;
            b += w[i] * other * other;
            better &= a * a * sl2 > sxl * sxl * b;
            codes[i] = (as_byte(code) & better) | (codes[i] & ~better);
            sxl = choose(better, a, sxl);
            sl2 = choose(better, b, sl2);
            if (many) changed |= mask_bits(better);
        }
        if (many && !changed) break;
    }
    for (int i = 0; i < n; i++) codes[i] &= live;
    return choose(live & (sl2 > 0), sxl / sl2, (lanes){0});
}

#endif
