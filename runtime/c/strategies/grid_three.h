#ifndef GGUFSPEC_GRID_THREE_H
#define GGUFSPEC_GRID_THREE_H

/* Grids of 3 levels in groups of 8. Sub-blocks are lanes while levels are found and sums
 * taken, a block at a time; the neighbours of a code are lanes while the nearest of them is
 * looked for. Trial after trial levels are the same ("runs"), so that most is done once a run:
 * a neighbour's distance, over the scale and less what all have in common, is scale * a - b. */

#include "grid_search.h"
#include "positive_search.h"

enum {
    THREE_ELEMENTS = 256,
    THREE_VECTORS = THREE_ELEMENTS / LANES,
    THREE_GROUPS = 32, /* of 8 elements */
    THREE_GROUP_VECTORS = THREE_GROUPS / LANES,
    THREE_SUB_VECTORS = MOST_SUB_BLOCKS / LANES, /* at most */
    THREE_TRIALS = 24,                           /* at most */
    THREE_ROOM = THREE_TRIALS + 8,               /* for so many and a vector that begins in them */
    THREE_NEAR = 1024,                           /* neighbours at most */
};

/* Farther from 0 in steps a rounded level may have wrapped. */
#define THREE_FAR 0x1p21f
/* Closer to the border between two levels rounding may decide which of them is nearer. */
#define THREE_CLEAR 0x1p-16f

/* A block. Its sub-blocks are the lanes of n vectors: element e of them is x[e * n ..], and
 * group g is square[g * n ..]. */
typedef struct {
    lanes x[THREE_VECTORS], w[THREE_VECTORS], wx[THREE_VECTORS]; /* magnitudes, weights, w * x */
    lanes largest[THREE_SUB_VECTORS];                            /* of all magnitudes */
    lanes first[THREE_SUB_VECTORS], most[THREE_SUB_VECTORS]; /* first scale, what trials divide */
    ilanes live[THREE_SUB_VECTORS];                          /* not empty */
    ilanes signs[THREE_GROUP_VECTORS];
    lanes square[THREE_GROUP_VECTORS]; /* the sum of root * x * x */
    ilanes sure[THREE_GROUP_VECTORS];  /* in sums of such nothing underflows that matters */
    /* Magnitudes in order, and the roots of their weights. */
    float flat[THREE_ELEMENTS] GGUFSPEC_ALIGNED, root[THREE_ELEMENTS] GGUFSPEC_ALIGNED;
} three_block;

GGUFSPEC_STRATEGY int three_vectors(const grid_search_constants *k) { return k->sub_blocks / LANES; }

/* ---- lookups by level: a lane of `codes` has its level in the two lowest bits */

#if defined(__AVX2__)
static inline lanes three_pick(const float *of, ilanes codes) {
    return (lanes)_mm256_permutevar_ps(_mm256_broadcast_ps((const __m128 *)of), (__m256i)codes);
}
#else
static inline lanes three_pick(const float *of, ilanes codes) {
    const lanes low = choose(-(codes & 1), each(of[1]), each(of[0]));
    return choose(-(codes >> 1 & 1), each(of[2]), low);
}
#endif

static inline ilanes three_load(const uint16_t *codes) {
    typedef uint16_t halfwords __attribute__((vector_size(2 * LANES)));
    halfwords v;
    memcpy(&v, codes, sizeof v);
    return __builtin_convertvector(v, ilanes);
}

/* 0, 2, 4, ... */
static inline ilanes three_shifts(void) {
    ilanes v;
    for (int i = 0; i < LANES; i++) v[i] = 2 * i;
    return v;
}

static inline ilanes load_ints(const int32_t *p) {
    ilanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_ints(int32_t *p, ilanes v) { memcpy(p, &v, sizeof v); }

static inline int three_level(int32_t code, int i) { return code >> 2 * i & 3; }

/* ---- the nearest neighbour */

/* Something for each level of each element of a group, element i at of[three_place(i)]: AVX2
 * interleaves the halves of a vector by itself. */
typedef struct {
    float of[8][4] GGUFSPEC_ALIGNED;
} three_table;

static inline int three_place(int i) { return LANES == 8 ? 2 * (i % 4) + i / 4 : i; }

/* From what the elements have at each level. */
static inline void three_fill(const lanes level[3][8 / LANES], three_table *t) {
#if defined(__AVX2__)
    const __m256 a = (__m256)level[0][0], b = (__m256)level[1][0], c = (__m256)level[2][0];
    const __m256d ab[2] = {(__m256d)_mm256_unpacklo_ps(a, b), (__m256d)_mm256_unpackhi_ps(a, b)};
    const __m256d cc[2] = {(__m256d)_mm256_unpacklo_ps(c, c), (__m256d)_mm256_unpackhi_ps(c, c)};
    for (int i = 0; i < 2; i++) {
        _mm256_store_ps(t->of[4 * i], (__m256)_mm256_unpacklo_pd(ab[i], cc[i]));
        _mm256_store_ps(t->of[4 * i + 2], (__m256)_mm256_unpackhi_pd(ab[i], cc[i]));
    }
#else
    for (int i = 0; i < 8; i++)
        for (int l = 0; l < 3; l++) t->of[i][l] = level[l][i / LANES][i % LANES];
#endif
}

/* What each level adds to a distance. */
static inline void three_terms(const float *x, const float *root, float scale, three_table *t) {
    lanes level[3][8 / LANES];
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < 8; i += LANES) {
            const lanes diff = scale * (float)(2 * l + 1) - load_lanes(x + i);
            level[l][i / LANES] = load_lanes(root + i) * diff * diff;
        }
    three_fill(level, t);
}

/* What it adds to the coefficients of a line: root * q * q and 2 * root * x * q. */
static inline void three_coefficients(const float *x, const float *root, three_table *a,
                                      three_table *b) {
    lanes of_a[3][8 / LANES], of_b[3][8 / LANES];
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < 8; i += LANES) {
            const lanes w = load_lanes(root + i);
            of_a[l][i / LANES] = w * (float)((2 * l + 1) * (2 * l + 1));
            of_b[l][i / LANES] = w * load_lanes(x + i) * (float)(4 * l + 2);
        }
    three_fill(of_a, a);
    three_fill(of_b, b);
}

/* The sums over a group's elements, in order, for LANES codes. */
static inline lanes three_sums(const three_table *t, ilanes codes) {
    lanes sum = three_pick(t->of[0], codes);
    for (int i = 1; i < 8; i++) sum += three_pick(t->of[three_place(i)], codes >> 2 * i);
    return sum;
}

/* Whether each element is clearly nearest to its own level of the code, from `few` steps to
 * `many`. What is negative has level 0. */
static inline int three_clear(const float *x, float few, float many, int32_t code) {
    static const float low[4] GGUFSPEC_ALIGNED = {-0x1.fffffep127f, 2 + THREE_CLEAR,
                                                  4 + THREE_CLEAR, 0};
    static const float high[4] GGUFSPEC_ALIGNED = {2 - THREE_CLEAR, 4 - THREE_CLEAR,
                                                   0x1.fffffep127f, 0};
    ilanes in = {0};
    in = ~in;
    for (int i = 0; i < 8; i += LANES) {
        const ilanes levels = code >> (three_shifts() + 2 * i);
        const lanes v = load_lanes(x + i);
        in &= (few * v >= three_pick(low, levels)) & (many * v <= three_pick(high, levels));
    }
    return mask_bits(~in) == 0;
}

/* The nearest of all neighbours, the first of equals. */
static inline int32_t three_nearest_of_all(const ggufspec_grid *grid,
                                           const ggufspec_neighbours *near, int32_t code,
                                           const float *x, const float *root, float scale) {
    three_table t;
    three_terms(x, root, scale, &t);
    const uint16_t *list = near->lists - near->map[code] - 1;
    int32_t found = grid->codes[list[1]];
    float least = 0x1.fffffep127f;
    for (int i = 1; i <= list[0]; i++) {
        const int32_t other = grid->codes[list[i]];
        float sum = 0;
        for (int j = 0; j < 8; j++) sum += t.of[three_place(j)][three_level(other, j)];
        if (sum < least) {
            least = sum;
            found = other;
        }
    }
    return found;
}

/* The same by the neighbours that are left when the code's levels are clear. */
static inline int32_t three_nearest(const ggufspec_grid *grid, const ggufspec_neighbours *near,
                                    int32_t code, const float *x, const float *root, float steps,
                                    float scale) {
    if (!three_clear(x, steps, steps, code))
        return three_nearest_of_all(grid, near, code, x, root, scale);
    const uint16_t *codes = near->near + NEIGHBOURS_TOGETHER * near->first[code];
    const int count = NEIGHBOURS_TOGETHER * (int)(near->first[code + 1] - near->first[code]);
    three_table t;
    lanes sums[THREE_NEAR / LANES], all = each(0x1.fffffep127f);
    three_terms(x, root, scale, &t);
    for (int i = 0; i < count; i += LANES) {
        sums[i / LANES] = three_sums(&t, three_load(codes + i));
        all = lower(sums[i / LANES], all);
    }
    const float least = lowest(all);
    if (!(least < 0x1.fffffep127f))
        return three_nearest_of_all(grid, near, code, x, root, scale);
    for (int i = 0;; i += LANES) {
        const uint32_t equal = mask_bits(sums[i / LANES] == least);
        if (equal) return codes[i + __builtin_ctz(equal)];
    }
}

/* The neighbours of a code; their distances, over the scale and less what all have in common,
 * are scale * a - b. */
typedef struct {
    float a[THREE_NEAR] GGUFSPEC_ALIGNED, b[THREE_NEAR] GGUFSPEC_ALIGNED;
    int32_t code[THREE_NEAR] GGUFSPEC_ALIGNED;
    int count;
} three_lines;

static inline void three_lines_of(const ggufspec_neighbours *near, const three_table *a,
                                  const three_table *b, int32_t code, three_lines *lines) {
    const uint16_t *codes = near->near + NEIGHBOURS_TOGETHER * near->first[code];
    const int count = NEIGHBOURS_TOGETHER * (int)(near->first[code + 1] - near->first[code]);
    uint32_t last = 0;
    for (int i = 0; i < count; i += LANES) {
        const ilanes c = three_load(codes + i);
        store_lanes(lines->a + i, three_sums(a, c));
        store_lanes(lines->b + i, three_sums(b, c));
        store_ints(lines->code + i, c);
        last = last << LANES | mask_bits(c == codes[count - 1]);
    }
    /* The last one fills the vector. */
    lines->count = count + 1 - __builtin_popcount(last & ((1 << NEIGHBOURS_TOGETHER) - 1));
}

/* The nearest neighbours at LANES scales; bits of `unsure` where another one is so near that
 * rounding may decide. With D = the sum of root * (scale * q - x)^2 and X = `square`, ggml's sum
 * is off by at most (14 D + 2 X) / 2^24, and scale * (scale * a - b) + X by (40 D + 50 X) / 2^24. */
static inline ilanes three_lowest(const three_lines *lines, lanes steps, lanes scale, float square,
                                  uint32_t *unsure) {
    lanes least = each(0x1.fffffep127f), second = least;
    ilanes code = {0};
    for (int i = 0; i < lines->count; i++) {
        const lanes key = scale * lines->a[i] - lines->b[i];
        const ilanes better = key < least;
        code = (ilanes)choose(better, (lanes)ieach(lines->code[i]), (lanes)code);
        second = lower(second, higher(key, least));
        least = lower(key, least);
    }
    const lanes margin = 0x1p-17f * (2 * square * steps + least);
    *unsure = mask_bits(~(second - least > margin));
    return code;
}

/* A group of a block, its trials and its codes at them. */
typedef struct {
    const float *x, *root;
    float square;
    int sure;
    const float *steps, *scale;
    int32_t *code;
} three_group;

/* The nearest neighbours of one code for trials first..after - 1; behind them codes may change. */
static inline void three_run(const ggufspec_grid *grid, const ggufspec_neighbours *near,
                             const three_group *g, const three_table *a, const three_table *b,
                             int32_t u, int first, int after) {
    uint32_t unsure = ~0u << first;
    if (g->sure && three_clear(g->x, g->steps[first], g->steps[after - 1], u)) {
        three_lines lines;
        three_lines_of(near, a, b, u, &lines);
        unsure = 0;
        for (int t = first; t < after; t += LANES) {
            uint32_t some;
            const ilanes code = three_lowest(&lines, load_lanes(g->steps + t),
                                             load_lanes(g->scale + t), g->square, &some);
            store_ints(g->code + t, code);
            unsure |= some << t;
        }
    }
    for (unsure &= (1u << after) - 1; unsure; unsure &= unsure - 1) {
        const int t = __builtin_ctz(unsure);
        g->code[t] = three_nearest(grid, near, u, g->x, g->root, g->steps[t], g->scale[t]);
    }
}

/* ---- levels */

/* Whether rounding may wrap at so many steps, in sub-blocks of the mask. */
GGUFSPEC_STRATEGY int three_wild(const grid_search_constants *k, const three_block *b,
                                 const lanes *steps, const ilanes *mask) {
    uint32_t far = 0;
    for (int v = 0; v < three_vectors(k); v++)
        far |= mask_bits(mask[v] & ~(b->largest[v] * steps[v] < THREE_FAR));
    return far != 0;
}

/* The codes of all groups at so many steps: a level is (steps * x - 1) / 2, rounded. */
GGUFSPEC_STRATEGY void three_codes(const grid_search_constants *k, const three_block *b,
                                   const lanes *steps, int wild, ilanes *code) {
    const int n = three_vectors(k);
    for (int g = 0; g < k->length / 8; g++)
        for (int v = 0; v < n; v++) {
            ilanes found = {0};
            for (int i = 7; i >= 0; i--) {
                const lanes at = steps[v] * b->x[(8 * g + i) * n + v];
                if (wild) {
                    const ilanes level = nearest(0.5f * (at - 1));
                    found = found << 2 | ilower(ihigher(level, ieach(0)), ieach(2));
                } else {
                    found = (found << 2) - (at > 2) - (at >= 4);
                }
            }
            code[g * n + v] = found;
        }
}

/* What fits a scale to codes. */
GGUFSPEC_STRATEGY void three_fit(const grid_search_constants *k, const three_block *b,
                                 const ilanes *code, lanes *xq, lanes *q2) {
    const int n = three_vectors(k);
    static const float odd[4] GGUFSPEC_ALIGNED = {1, 3, 5, 7};
    for (int v = 0; v < n; v++) xq[v] = q2[v] = each(0);
    for (int e = 0; e < k->length; e++)
        for (int v = 0; v < n; v++) {
            const int at = e * n + v;
            const lanes q = three_pick(odd, code[e / 8 * n + v] >> 2 * (e % 8));
            xq[v] += b->wx[at] * q;
            q2[v] += b->w[at] * q * q;
        }
}

/* ---- blocks */

/* Lane i of the `count` vectors x[0], x[stride], ... in order at flat[i * room], the last of them
 * again and again up to `fill`. */
GGUFSPEC_STRATEGY void three_turn(const lanes *x, int stride, int count, int fill, float *flat,
                                  int room) {
    for (int e = 0; e < fill; e += LANES) {
        const float *rows[LANES];
        lanes out[LANES];
        for (int i = 0; i < LANES; i++)
            rows[i] = (const float *)(x + (e + i < count ? e + i : count - 1) * stride);
        transpose(out, 1, rows, LANES);
        for (int i = 0; i < LANES; i++) store_lanes(flat + i * room + e, out[i]);
    }
}

/* And back. */
GGUFSPEC_STRATEGY void three_turn_back(const float *flat, int room, int count, lanes *x,
                                       int stride) {
    for (int e = 0; e < count; e += LANES) {
        const float *rows[LANES];
        lanes out[LANES];
        for (int i = 0; i < LANES; i++) rows[i] = flat + i * room + e;
        transpose(out, 1, rows, LANES);
        for (int i = 0; i < LANES && e + i < count; i++) x[(e + i) * stride] = out[i];
    }
}

GGUFSPEC_STRATEGY void three_signs(const grid_search_constants *k, three_block *b) {
    const int n = three_vectors(k);
    for (int g = 0; g < k->length / 8; g++)
        for (int v = 0; v < n; v++) {
            ilanes signs = {0}, odd = {0}, place = {0};
            lanes least = {0};
            for (int i = 0; i < 8; i++) {
                lanes *x = &b->x[(8 * g + i) * n + v];
                const ilanes minus = ~(*x >= 0);
                const lanes cost = b->w[(8 * g + i) * n + v] * *x * *x;
                const ilanes less = (cost < least) | -(i == 0);
                least = choose(less, cost, least);
                place = (less & i) | (~less & place);
                signs |= minus & 1 << i;
                odd ^= minus;
                *x = magnitude(*x);
            }
            for (int i = 0; k->even_signs && i < 8; i++) {
                const ilanes turned = odd & (place == i);
                ilanes *x = (ilanes *)&b->x[(8 * g + i) * n + v];
                *x ^= turned & INT32_MIN;
                signs ^= turned & 1 << i;
            }
            b->signs[g * n + v] = signs;
        }
}

GGUFSPEC_STRATEGY void three_begin(const grid_search_constants *k, const float *x,
                                   const float *importance, float mean, three_block *b) {
    const int n = three_vectors(k);
    load_runs(x, k->length, k->sub_blocks, n, b->x);
    if (importance) load_runs(importance, k->length, k->sub_blocks, n, b->w);
    for (int i = 0; i < THREE_VECTORS; i++)
        b->w[i] = importance ? b->w[i] * square_root(mean + b->x[i] * b->x[i])
                             : k->mean_share * mean + b->x[i] * b->x[i];
    three_signs(k, b);
    lanes root[THREE_VECTORS];
    for (int i = 0; i < THREE_VECTORS; i++) {
        b->wx[i] = b->w[i] * b->x[i];
        root[i] = square_root(b->w[i]);
    }
    for (int v = 0; v < n; v++) {
        const int at = v * LANES * k->length;
        three_turn(b->x + v, n, k->length, k->length, b->flat + at, k->length);
        three_turn(root + v, n, k->length, k->length, b->root + at, k->length);
    }
    for (int g = 0; g < k->length / 8; g++)
        for (int v = 0; v < n; v++) {
            lanes square = {0}, sum = {0};
            for (int i = 0; i < 8; i++) {
                const int at = (8 * g + i) * n + v;
                square += root[at] * b->x[at] * b->x[at];
                sum += root[at];
            }
            b->square[g * n + v] = square;
            b->sure[g * n + v] = (square > each(1e-20f)) & (square + sum < each(1e20f));
        }
    for (int v = 0; v < n; v++) {
        lanes most = b->x[v], all = magnitude(most);
        for (int e = 1; e < k->length; e++) {
            most = higher(most, b->x[e * n + v]);
            all = higher(all, magnitude(b->x[e * n + v]));
        }
        b->largest[v] = all;
        b->live[v] = ~((most == 0) | (most < k->empty));
        b->first[v] = most / (float)(2 * k->levels - 1);
        if (k->first_top) {
            lanes column[MOST_LENGTH], weight[MOST_LENGTH];
            ilanes codes[MOST_LENGTH];
            for (int e = 0; e < k->length; e++) {
                column[e] = b->x[e * n + v];
                weight[e] = b->w[e * n + v];
            }
            b->first[v] = positive_search(k->length, k->first_top, column, weight, codes);
            most = b->first[v] * (float)k->levels;
            b->live[v] &= ~(most <= 0);
        }
        b->most[v] = most;
    }
}

/* The nearest rows' codes in the place of a group's codes that are no row's; a bit for each trial
 * of these. code[-1] is read too. */
static inline uint32_t three_rows(const ggufspec_grid *grid, const ggufspec_neighbours *near,
                                  const three_group *g, int trials) {
    int32_t code[THREE_TRIALS];
    uint32_t change = 0, off = 0;
    for (int t = 0; t < trials; t += LANES) {
        const ilanes now = load_ints(g->code + t);
        store_ints(code + t, now);
        change |= mask_bits(now != load_ints(g->code + t - 1)) << t;
    }
    change = (change | 1) & ((1u << trials) - 1);
    three_table a, b;
    int ready = 0;
    while (change) {
        const int first = __builtin_ctz(change);
        change &= change - 1;
        const int after = change ? __builtin_ctz(change) : trials;
        const int32_t u = code[first];
        if (near->map[u] >= 0) {
            for (int t = first; t < after; t += LANES) store_ints(g->code + t, ieach(u));
            continue;
        }
        off |= (1u << after) - (1u << first);
        if (!ready) three_coefficients(g->x, g->root, &a, &b);
        ready = 1;
        three_run(grid, near, g, &a, &b, u, first, after);
    }
    return off;
}

/* What was found for the sub-blocks. */
typedef struct {
    lanes scale[THREE_SUB_VECTORS];
    ilanes code[THREE_GROUP_VECTORS];
    ilanes off[THREE_GROUP_VECTORS]; /* all bits: levels were no row's, or had to become one's */
} three_found;

GGUFSPEC_STRATEGY void three_trials(const grid_search_constants *k, const ggufspec_neighbours *near,
                                    const three_block *b, three_found *f) {
    const int n = three_vectors(k), trials = 2 * k->reach + 1;
    const int top = 2 * k->levels - 1;
    lanes steps[THREE_TRIALS * THREE_SUB_VECTORS], scale[THREE_TRIALS * THREE_SUB_VECTORS];
    ilanes code[THREE_TRIALS * THREE_GROUP_VECTORS];
    for (int t = 0; t < trials; t++)
        for (int v = 0; v < n; v++) {
            steps[t * n + v] = ((float)top + (float)(t - k->reach) * k->step) / b->most[v];
            scale[t * n + v] = 1 / steps[t * n + v];
        }
    const int wild = three_wild(k, b, steps + (trials - 1) * n, b->live);
    for (int t = 0; t < trials; t++)
        three_codes(k, b, steps + t * n, wild, code + t * THREE_GROUP_VECTORS);

    int32_t off[THREE_GROUPS] = {0};
    float group_steps[MOST_SUB_BLOCKS][THREE_ROOM], group_scale[MOST_SUB_BLOCKS][THREE_ROOM];
    for (int v = 0; v < n; v++) {
        three_turn(steps + v, n, trials, THREE_ROOM, group_steps[v * LANES], THREE_ROOM);
        three_turn(scale + v, n, trials, THREE_ROOM, group_scale[v * LANES], THREE_ROOM);
    }
    for (int v = 0; v < THREE_GROUP_VECTORS; v++) {
        /* Before the first there is room for one more. */
        int32_t turned[LANES][THREE_ROOM + LANES];
        three_turn((const lanes *)code + v, THREE_GROUP_VECTORS, trials, trials,
                   (float *)turned[0] + LANES, THREE_ROOM + LANES);
        for (int i = 0; i < LANES; i++) {
            const int sub = v % n * LANES + i, start = sub * k->length + 8 * (v / n);
            if (!b->live[v % n][i]) continue;
            turned[i][LANES - 1] = 0;
            const three_group g = {b->flat + start, b->root + start, b->square[v][i],
                                   b->sure[v][i],   group_steps[sub], group_scale[sub],
                                   turned[i] + LANES};
            off[v * LANES + i] = (int32_t)three_rows(k->grid, near, &g, trials);
        }
        three_turn_back((const float *)turned[0] + LANES, THREE_ROOM + LANES, trials,
                        (lanes *)code + v, THREE_GROUP_VECTORS);
    }

    lanes best[THREE_SUB_VECTORS] = {{0}};
    for (int v = 0; v < n; v++) f->scale[v] = b->first[v];
    for (int g = 0; g < THREE_GROUP_VECTORS; g++) {
        f->code[g] = ieach(0);
        f->off[g] = ieach(k->untried_on_grid - 1);
    }
    for (int t = 0; t < trials; t++) {
        const ilanes *now = code + t * THREE_GROUP_VECTORS;
        lanes xq[THREE_SUB_VECTORS], q2[THREE_SUB_VECTORS];
        three_fit(k, b, now, xq, q2);
        for (int v = 0; v < n; v++) {
            const ilanes better = (q2[v] > 0) & (xq[v] * xq[v] > best[v] * q2[v]);
            f->scale[v] = choose(better, xq[v] / q2[v], f->scale[v]);
            best[v] = choose(better, f->scale[v] * xq[v], best[v]);
            for (int g = v; g < THREE_GROUP_VECTORS; g += n) {
                f->code[g] = (now[g] & better) | (f->code[g] & ~better);
                f->off[g] = (-(load_ints(off + g * LANES) >> t & 1) & better) | (f->off[g] & ~better);
            }
        }
    }
}

/* Rows anew from the scale found, and a scale anew from them. */
GGUFSPEC_STRATEGY void three_refine(const grid_search_constants *k, const ggufspec_neighbours *near,
                                    const three_block *b, three_found *f) {
    const int n = three_vectors(k);
    lanes steps[THREE_SUB_VECTORS];
    ilanes again[THREE_SUB_VECTORS], code[THREE_GROUP_VECTORS];
    for (int v = 0; v < n; v++) {
        again[v] = (f->scale[v] > 0) & b->live[v];
        if (k->refine != REFINE_ALWAYS) {
            ilanes off = {0};
            for (int g = v; g < THREE_GROUP_VECTORS; g += n) off |= f->off[g];
            again[v] &= off;
        }
        steps[v] = 1 / f->scale[v];
    }
    three_codes(k, b, steps, three_wild(k, b, steps, again), code);
    for (int g = 0; g < THREE_GROUP_VECTORS; g++) {
        const ilanes whole = ieach(k->refine == REFINE_WHERE_OFF_GRID ? 0 : -1);
        const ilanes anew = again[g % n] & (f->off[g] | whole);
        f->code[g] = (code[g] & anew) | (f->code[g] & ~anew);
        for (uint32_t left = mask_bits(anew); left; left &= left - 1) {
            const int lane = __builtin_ctz(left), sub = g % n * LANES + lane;
            const int32_t u = code[g][lane];
            if (near->map[u] >= 0) continue;
            const int start = sub * k->length + 8 * (g / n);
            f->code[g][lane] = three_nearest(k->grid, near, u, b->flat + start, b->root + start,
                                             steps[g % n][lane], f->scale[g % n][lane]);
        }
    }
    lanes xq[THREE_SUB_VECTORS], q2[THREE_SUB_VECTORS];
    three_fit(k, b, f->code, xq, q2);
    for (int v = 0; v < n; v++)
        f->scale[v] = choose(again[v] & (q2[v] > 0), xq[v] / q2[v], f->scale[v]);
}

GGUFSPEC_STRATEGY size_t grid_three(const grid_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                    int (*store)(uint8_t *, size_t, const grid_search_codes *)) {
    (void)row_mean;
    const int n = three_vectors(k), groups = k->length / 8;
    const ggufspec_neighbours *near = ggufspec_neighbours_of(k->grid);
    float means[LANES] = {0};
    for (size_t at = 0; at < blocks; at++) {
        const float *start = x + at * THREE_ELEMENTS;
        if (k->mean_times && at % LANES == 0)
            mean_squares(start, THREE_ELEMENTS, blocks - at < LANES ? (int)(blocks - at) : LANES,
                         k->mean_times, means);
        three_block b;
        three_found f;
        three_begin(k, start, importance ? importance + at * THREE_ELEMENTS : NULL,
                    means[at % LANES], &b);
        three_trials(k, near, &b, &f);
        three_refine(k, near, &b, &f);
        grid_search_codes codes = {0};
        float scale[MOST_SUB_BLOCKS];
        for (int v = 0; v < n; v++) {
            const ilanes minus = f.scale[v] < 0;
            for (int g = v; g < THREE_GROUP_VECTORS; g += n) b.signs[g] ^= minus & 0xff;
            store_lanes(scale + v * LANES,
                        (lanes)((ilanes)choose(minus, -f.scale[v], f.scale[v]) & b.live[v]));
        }
        for (int group = 0; group < THREE_GROUPS; group++) {
            const int sub = group % k->sub_blocks, g = group / k->sub_blocks;
            if (!((const int32_t *)b.live)[sub]) continue;
            codes.row[sub * groups + g] = (uint16_t)near->map[((const int32_t *)f.code)[group]];
            codes.signs[sub * groups + g] = (uint8_t)((const int32_t *)b.signs)[group];
        }
        grid_scales(k, scale, &codes);
        if (!store(dst, at, &codes)) return at;
    }
    return blocks;
}

#endif
