#ifndef GGUFSPEC_GRID_EIGHT_H
#define GGUFSPEC_GRID_EIGHT_H

/* The grid search for 8 levels in groups of 4, 8 groups a sub-block. Trial scales are lanes
 * while levels are found and sums taken; the neighbours of a code are lanes while the nearest
 * of them is looked for: what an element adds to a distance takes only 8 values, one a level.
 * A part of grid_search.h. */

enum {
    EIGHT_LENGTH = 32,
    EIGHT_GROUPS = 8,
    EIGHT_TOP = 7,
    EIGHT_TRIALS = 32, /* at most */
    EIGHT_VECTORS = EIGHT_TRIALS / LANES,
};

/* A sub-block. The elements come in groups, and once more with the first of each group first. */
typedef struct {
    float x[EIGHT_LENGTH], w[EIGHT_LENGTH], root[EIGHT_LENGTH]; /* `root` of the weights */
    float columns[4][EIGHT_GROUPS];
    float most; /* the largest x, which for the sake of signs may be negative */
    float far;  /* the largest magnitude */
    int wild;   /* rounded levels may wrap, or distances be infinite */
} eight_elements;

static inline uint32_t eight_level(uint32_t code, int j) { return code >> 3 * j & EIGHT_TOP; }

/* ---- codes of levels */

/* Codes of 4 elements at so many steps a unit, a group a lane, and where they are not sure to
 * be: so close to the border of two levels that rounding may decide which one is nearer. */
static inline ilanes eight_codes(const lanes *x, lanes steps, ilanes *unsure) {
    const lanes magic = each(0x1.8p24f);
    ilanes code = {0};
    lanes off = {0};
    for (int j = 0; j < 4; j++) {
        /* Twice the level. */
        const lanes exact = higher(lower(steps * x[j] - 1, each(2 * EIGHT_TOP)), each(0));
        const lanes rounded = exact + magic;
        code += ((ilanes)rounded - (ilanes)magic) << 3 * j;
        off = higher(off, magnitude(exact - (rounded - magic)));
    }
    *unsure = ~(off < each(1 - 1e-4f));
    return code;
}

/* The same for any magnitudes, by the integers that ggml makes of them. */
static inline int32_t eight_wild_code(const float *x, float steps) {
    int32_t code = 0;
    for (int j = 0; j < 4; j++) {
        const int32_t l = nearest_one(0.5f * (steps * x[j] - 1));
        code |= (l < 0 ? 0 : l < EIGHT_TOP ? l : EIGHT_TOP) << 3 * j;
    }
    return code;
}

/* ---- the nearest neighbour */

/* Of all neighbours the first of least distance. */
static inline int32_t eight_nearest_of_all(const ggufspec_grid *grid,
                                           const ggufspec_neighbours *near, int32_t code,
                                           const float *x, const float *root, float scale) {
    if (near->map[code] >= 0) return code;
    float terms[4][EIGHT_TOP + 1], least = 0x1.fffffep127f;
    for (int j = 0; j < 4; j++)
        for (int l = 0; l <= EIGHT_TOP; l++) {
            const float diff = scale * (float)(2 * l + 1) - x[j];
            terms[j][l] = root[j] * diff * diff;
        }
    const uint16_t *list = near->lists - near->map[code] - 1;
    int32_t found = grid->codes[list[1]];
    for (int i = 1; i <= list[0]; i++) {
        const uint32_t other = grid->codes[list[i]];
        float distance = 0;
        for (int j = 0; j < 4; j++) distance += terms[j][eight_level(other, j)];
        if (distance < least) {
            least = distance;
            found = (int32_t)other;
        }
    }
    return found;
}

#if defined(__AVX2__)

/* The distances of NEIGHBOURS_TOGETHER neighbours from the terms of 4 elements' levels. */
static inline __m256 eight_distances(const __m256 *terms, const uint16_t *near) {
    const __m256i codes = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)near));
    __m256 sum = _mm256_permutevar8x32_ps(terms[0], codes);
    for (int j = 1; j < 4; j++) {
        const __m256i levels = _mm256_srli_epi32(codes, 3 * j);
        sum = _mm256_add_ps(sum, _mm256_permutevar8x32_ps(terms[j], levels));
    }
    return sum;
}

/* The least of all lanes, in each. */
static inline __m256 eight_least(__m256 v) {
    v = _mm256_min_ps(v, _mm256_permute2f128_ps(v, v, 1));
    v = _mm256_min_ps(v, _mm256_permute_ps(v, 0x4e));
    return _mm256_min_ps(v, _mm256_permute_ps(v, 0xb1));
}

static inline uint32_t eight_equal(__m256 a, __m256 b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

/* The first of the nearest of `vectors` of neighbours; any if a distance is no number. */
static inline int32_t eight_nearest(const __m256 *terms, const uint16_t *near, uint32_t vectors) {
    const __m256 first = eight_distances(terms, near);
    if (__builtin_expect(vectors == 1, 1))
        return near[__builtin_ctz(eight_equal(first, eight_least(first)) | 0x80)];
    __m256 least = first;
    for (uint32_t v = 1; v < vectors; v++)
        least = _mm256_min_ps(least, eight_distances(terms, near + NEIGHBOURS_TOGETHER * v));
    least = eight_least(least);
    for (uint32_t v = 0; v < vectors; v++, near += NEIGHBOURS_TOGETHER) {
        const uint32_t equal = eight_equal(eight_distances(terms, near), least);
        if (equal) return near[__builtin_ctz(equal)];
    }
    return near[-1];
}

#endif

/* The code of a row for each of a group's codes, which are those of trials of scale[t]. Where a
 * bit of `unsure` is set all neighbours are compared. */
static inline void eight_rows(const ggufspec_grid *grid, const ggufspec_neighbours *near,
                              const float *x, const float *root, int trials, const float *scale,
                              uint32_t unsure, const int32_t *code, int32_t *row) {
#if defined(__AVX2__)
    const __m256 odd = _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15);
    __m256 xs[4], roots[4], terms[4];
    for (int j = 0; j < 4; j++) {
        xs[j] = _mm256_set1_ps(x[j]);
        roots[j] = _mm256_set1_ps(root[j]);
    }
    for (int t = 0; t < trials; t++) {
        row[t] = code[t];
        if (near->map[code[t]] >= 0) continue;
        const uint32_t first = near->first[code[t]], vectors = near->first[code[t] + 1] - first;
        const __m256 q = _mm256_mul_ps(_mm256_set1_ps(scale[t]), odd);
        for (int j = 0; j < 4; j++) {
            const __m256 diff = _mm256_sub_ps(q, xs[j]);
            terms[j] = _mm256_mul_ps(_mm256_mul_ps(roots[j], diff), diff);
        }
        row[t] = eight_nearest(terms, near->near + NEIGHBOURS_TOGETHER * first, vectors);
    }
#else
    unsure = ~0u;
#endif
    for (int t = 0; unsure && t < trials; t++, unsure >>= 1)
        if (unsure & 1) row[t] = eight_nearest_of_all(grid, near, code[t], x, root, scale[t]);
}

/* ---- trials */

typedef struct {
    float scale;
    uint32_t off; /* a bit for each group whose levels were not a row's */
    int32_t row[EIGHT_GROUPS]; /* codes of rows */
} eight_fit;

/* What fits a scale to the rows of each trial. */
static inline void eight_sums(const eight_elements *e, int32_t row[][EIGHT_TRIALS], int vectors,
                              lanes *xq, lanes *q2) {
    for (int v = 0; v < vectors; v++) xq[v] = q2[v] = each(0);
    for (int i = 0; i < EIGHT_LENGTH; i++) {
        const lanes w = each(e->w[i]), wx = w * e->x[i];
        for (int v = 0; v < vectors; v++) {
            ilanes codes;
            memcpy(&codes, &row[i / 4][v * LANES], sizeof codes);
            const lanes q = to_float((codes >> 3 * (i % 4) & EIGHT_TOP) * 2 + 1);
            xq[v] += wx * q;
            q2[v] += w * q * q;
        }
    }
}

/* The last of the trials that betters those before it, or -1. */
static inline int eight_best(const lanes *xq, const lanes *q2, int trials, int vectors) {
    float gain[EIGHT_TRIALS], square[EIGHT_TRIALS], weight[EIGHT_TRIALS], best = 0;
    for (int v = 0; v < vectors; v++) {
        store_lanes(gain + v * LANES, xq[v] / q2[v] * xq[v]);
        store_lanes(square + v * LANES, xq[v] * xq[v]);
        store_lanes(weight + v * LANES, q2[v]);
    }
    int chosen = -1;
    for (int t = 0; t < trials; t++)
        if (weight[t] > 0 && square[t] > best * weight[t]) {
            chosen = t;
            best = gain[t];
        }
    return chosen;
}

GGUFSPEC_STRATEGY void eight_trials(const grid_search_constants *k, const ggufspec_neighbours *near,
                                    const lanes *step, const eight_elements *e, eight_fit *fit) {
    const int trials = 2 * k->reach + 1, vectors = (trials + LANES - 1) / LANES;
    float steps[EIGHT_TRIALS], scale[EIGHT_TRIALS];
    for (int v = 0; v < vectors; v++) {
        const lanes unit = step[v] / e->most;
        store_lanes(steps + v * LANES, unit);
        store_lanes(scale + v * LANES, 1 / unit);
    }
    int32_t code[EIGHT_GROUPS][EIGHT_TRIALS], row[EIGHT_GROUPS][EIGHT_TRIALS];
    for (int g = 0; g < EIGHT_GROUPS; g++) {
        const float *x = e->x + 4 * g;
        const lanes xs[4] = {each(x[0]), each(x[1]), each(x[2]), each(x[3])};
        uint32_t unsure = 0;
        for (int v = 0; v < vectors; v++) {
            ilanes not_sure;
            const ilanes codes = eight_codes(xs, load_lanes(steps + v * LANES), &not_sure);
            memcpy(code[g] + v * LANES, &codes, sizeof codes);
            unsure |= mask_bits(not_sure) << v * LANES;
        }
        if (e->wild) {
            unsure = ~0u;
            for (int t = 0; t < trials; t++) code[g][t] = eight_wild_code(x, steps[t]);
        }
        eight_rows(k->grid, near, x, e->root + 4 * g, trials, scale, unsure, code[g], row[g]);
        for (int t = trials; t < vectors * LANES; t++) row[g][t] = 0;
    }
    lanes xq[EIGHT_VECTORS], q2[EIGHT_VECTORS];
    eight_sums(e, row, vectors, xq, q2);
    const int chosen = eight_best(xq, q2, trials, vectors);
    fit->scale = e->most / (2 * EIGHT_TOP + 1);
    fit->off = k->untried_on_grid ? 0 : ~0u;
    for (int g = 0; g < EIGHT_GROUPS; g++) fit->row[g] = k->grid->codes[near->map[0]];
    if (chosen < 0) return;
    fit->scale = xq[chosen / LANES][chosen % LANES] / q2[chosen / LANES][chosen % LANES];
    fit->off = 0;
    for (int g = 0; g < EIGHT_GROUPS; g++) {
        fit->row[g] = row[g][chosen];
        fit->off |= (uint32_t)(near->map[code[g][chosen]] < 0) << g;
    }
}

/* Rows anew from the scale found, and a scale anew from them. */
GGUFSPEC_STRATEGY void eight_refine(const grid_search_constants *k, const ggufspec_neighbours *near,
                                    const eight_elements *e, eight_fit *fit) {
    if (!(fit->scale > 0) || (k->refine != REFINE_ALWAYS && !fit->off)) return;
    const float steps = 1 / fit->scale;
    const int wild = e->wild || !(e->far * steps < 1e6f);
    const uint32_t again = k->refine == REFINE_WHERE_OFF_GRID ? fit->off : ~0u;
    int32_t code[EIGHT_GROUPS], row[EIGHT_GROUPS];
    uint32_t unsure = 0;
    for (int g = 0; g < EIGHT_GROUPS; g += LANES) {
        lanes x[4];
        ilanes not_sure;
        for (int j = 0; j < 4; j++) x[j] = load_lanes(e->columns[j] + g);
        const ilanes codes = eight_codes(x, each(steps), &not_sure);
        memcpy(code + g, &codes, sizeof codes);
        unsure |= mask_bits(not_sure) << g;
    }
    for (int g = 0; g < EIGHT_GROUPS; g++) {
        if (wild) code[g] = eight_wild_code(e->x + 4 * g, steps);
        eight_rows(k->grid, near, e->x + 4 * g, e->root + 4 * g, 1, &fit->scale,
                   wild ? 1 : unsure >> g & 1, code + g, row + g);
    }
    for (int g = 0; g < EIGHT_GROUPS; g++)
        if (again >> g & 1) fit->row[g] = row[g];
    float xq = 0, q2 = 0;
    for (int i = 0; i < EIGHT_LENGTH; i++) {
        const float q = (float)(2 * eight_level((uint32_t)fit->row[i / 4], i % 4) + 1);
        xq += e->w[i] * e->x[i] * q;
        q2 += e->w[i] * q * q;
    }
    if (q2 > 0) fit->scale = xq / q2;
}

/* ---- blocks */

/* The sign bits of a sub-block; with `even` those of eight elements are made even in number:
 * the element that matters least is negated. */
static inline uint32_t eight_signs(eight_elements *e, uint32_t minus, int even) {
    for (int s = 0; even && s < EIGHT_LENGTH; s += 8) {
        if (!__builtin_parity(minus >> s & 0xff)) continue;
        int least = s;
        float cost[EIGHT_LENGTH];
        for (int i = s; i < s + 8; i++) cost[i] = e->w[i] * e->x[i] * e->x[i];
        for (int i = s + 1; i < s + 8; i++)
            if (cost[i] < cost[least]) least = i;
        e->x[least] = -e->x[least];
        minus ^= 1u << least;
    }
    return minus;
}

/* Load a sub-block whose block has the mean square `mean`; its sign bits. */
GGUFSPEC_STRATEGY uint32_t eight_load(const grid_search_constants *k, const float *x,
                                      const float *importance, float mean, eight_elements *e) {
    lanes far = {0}, root = {0}, most = each(-0x1.fffffep127f);
    uint32_t minus = 0;
    for (int i = 0; i < EIGHT_LENGTH; i += LANES) {
        const lanes v = load_lanes(x + i);
        lanes w = v * v;
        if (k->weights == WEIGHTS_IMPORTANCE_RMS)
            w = load_lanes(importance + i) * square_root(mean + w);
        store_lanes(e->x + i, magnitude(v));
        store_lanes(e->w + i, w);
        store_lanes(e->root + i, square_root(w));
        minus |= mask_bits(v < 0) << i;
        far = higher(far, magnitude(v));
        root = higher(root, square_root(w));
    }
    minus = eight_signs(e, minus, k->even_signs);
    for (int i = 0; i < EIGHT_LENGTH; i += LANES) most = higher(most, load_lanes(e->x + i));
    for (int i = 0; i < EIGHT_LENGTH; i++) e->columns[i % 4][i / 4] = e->x[i];
    e->most = highest(most);
    e->far = highest(far);
    e->wild = !(e->far < 1e4f * e->most && highest(root) * e->far * e->far < 1e35f);
    return minus;
}

GGUFSPEC_STRATEGY size_t grid_eight(const grid_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                    int (*store)(uint8_t *, size_t, const grid_search_codes *)) {
    (void)row_mean;
    const ggufspec_neighbours *near = ggufspec_neighbours_of(k->grid);
    const int elements = k->sub_blocks * EIGHT_LENGTH, trials = 2 * k->reach + 1;
    const int low = k->shifted_bits ? (1 << k->shifted_bits) - 1 : 0;
    lanes step[EIGHT_VECTORS];
    for (int t = 0; t < EIGHT_TRIALS; t++)
        step[t / LANES][t % LANES] =
            (float)(2 * EIGHT_TOP + 1) + (float)((t < trials ? t : 0) - k->reach) * k->step;
    float means[LANES] = {0};
    for (size_t b = 0; b < blocks; b++, x += elements) {
        if (k->mean_times && b % LANES == 0)
            mean_squares(x, elements, blocks - b < LANES ? (int)(blocks - b) : LANES, k->mean_times,
                         means);
        grid_search_codes codes = {0};
        float scale[MOST_SUB_BLOCKS] = {0};
        for (int s = 0, place = 0; s < k->sub_blocks; s++) {
            const float *q = importance ? importance + b * (size_t)elements + s * EIGHT_LENGTH : x;
            eight_elements e;
            eight_fit fit;
            uint32_t minus = eight_load(k, x + s * EIGHT_LENGTH, q, means[b % LANES], &e);
            if (e.most == 0 || e.most < k->empty) continue;
            eight_trials(k, near, step, &e, &fit);
            eight_refine(k, near, &e, &fit);
            if (fit.scale < 0) minus = ~minus;
            scale[s] = fit.scale < 0 ? -fit.scale : fit.scale;
            /* Low bits of rows and signs do not leave room for sub-blocks that are empty. */
            const int at = k->shifted_bits ? place++ : s;
            for (int g = 0; g < EIGHT_GROUPS; g++) {
                const int32_t row = near->map[fit.row[g]];
                codes.row[EIGHT_GROUPS * s + g] |= (uint16_t)(row & ~low);
                codes.row[EIGHT_GROUPS * at + g] |= (uint16_t)(row & low);
            }
            for (int i = 0; i < 4; i++) codes.signs[4 * at + i] = (uint8_t)(minus >> 8 * i);
        }
        grid_scales(k, scale, &codes);
        if (!store(dst, b, &codes)) return b;
    }
    return blocks;
}

#endif
