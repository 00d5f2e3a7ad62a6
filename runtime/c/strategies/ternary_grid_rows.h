#ifndef GGUFSPEC_STRATEGY_TERNARY_GRID_ROWS_H
#define GGUFSPEC_STRATEGY_TERNARY_GRID_ROWS_H

/* The row of the grid that takes the place of levels that are none: the first one of the least
 * weighted squares among the neighbours, one candidate a lane. A row is 8 levels of 2 bits. */

#include <float.h>

#include "neighbours.h"
#include "strategy.h"

enum { TERNARY_ROW = 8, MOST_ROWS = 2048 };

/* What each level of each element would add to the squares. */
typedef struct {
#if defined(__AVX2__)
    __m256 of[TERNARY_ROW]; /* both halves the same */
#else
    float of[TERNARY_ROW][4];
#endif
} ternary_terms;

/* The terms of 8 elements, and whether for each element the level it has in `code` has the
 * least; none is negative then. */
static inline int ternary_terms_of(const float *x, const float *w, float scale,
                                   const float *values, int code, ternary_terms *t) {
    lanes term[3][TERNARY_ROW / LANES];
    ilanes least = ieach(-1), shifts;
    for (int l = 0; l < LANES; l++) shifts[l] = 2 * l;
    for (int i = 0; i < TERNARY_ROW / LANES; i++) {
        const lanes wi = load_lanes(w + i * LANES), xi = load_lanes(x + i * LANES);
        for (int level = 0; level < 3; level++) {
            const lanes away = scale * values[level] - xi;
            term[level][i] = wi * away * away;
        }
        const ilanes own = ieach(code) >> (shifts + 2 * i * LANES) & 3;
        lanes mine = choose(own == 0, term[0][i], term[1][i]);
        mine = choose(own == 2, term[2][i], mine);
        least &= (mine >= 0) & (mine <= term[0][i]) & (mine <= term[1][i]) & (mine <= term[2][i]);
    }
#if defined(__AVX2__)
    const __m256 none = _mm256_setzero_ps();
    const __m256 t0 = (__m256)term[0][0], t1 = (__m256)term[1][0], t2 = (__m256)term[2][0];
    const __m256 a = _mm256_unpacklo_ps(t0, t1), b = _mm256_unpackhi_ps(t0, t1);
    const __m256 c = _mm256_unpacklo_ps(t2, none), d = _mm256_unpackhi_ps(t2, none);
    const __m256 pairs[4] = {_mm256_shuffle_ps(a, c, 0x44), _mm256_shuffle_ps(a, c, 0xee),
                             _mm256_shuffle_ps(b, d, 0x44), _mm256_shuffle_ps(b, d, 0xee)};
    for (int i = 0; i < 4; i++) {
        t->of[i] = _mm256_permute2f128_ps(pairs[i], pairs[i], 0x00);
        t->of[i + 4] = _mm256_permute2f128_ps(pairs[i], pairs[i], 0x11);
    }
#else
    for (int i = 0; i < TERNARY_ROW; i++)
        for (int level = 0; level < 3; level++)
            t->of[i][level] = term[level][i / LANES][i % LANES];
#endif
    return mask_bits(~least) == 0;
}

/* The sums of 8 candidates. */
static inline void ternary_squares(const ternary_terms *t, const uint16_t *codes, lanes *sums) {
#if defined(__AVX2__)
    __m256i code = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)codes));
    __m256 sum = _mm256_permutevar_ps(t->of[0], code);
    for (int i = 1; i < TERNARY_ROW; i++) {
        code = _mm256_srli_epi32(code, 2);
        sum = _mm256_add_ps(sum, _mm256_permutevar_ps(t->of[i], code));
    }
    sums[0] = (lanes)sum;
#else
    for (int c = 0; c < NEIGHBOURS_TOGETHER; c++) {
        float sum = t->of[0][codes[c] & 3];
        for (int i = 1; i < TERNARY_ROW; i++) sum += t->of[i][codes[c] >> 2 * i & 3];
        sums[c / LANES][c % LANES] = sum;
    }
#endif
}

/* The code of the first candidate with the least sum, in `vectors` of 8; -1 if none is finite. */
static inline int ternary_least(const ternary_terms *t, const uint16_t *codes, int vectors) {
    enum { EACH = NEIGHBOURS_TOGETHER / LANES };
    lanes sums[MOST_ROWS / LANES], least = each(FLT_MAX);
    for (int i = 0; i < vectors; i++) {
        ternary_squares(t, codes + i * NEIGHBOURS_TOGETHER, sums + i * EACH);
        for (int e = 0; e < EACH; e++) least = lower(sums[i * EACH + e], least);
    }
    const float wanted = lowest(least);
    if (!(wanted < FLT_MAX)) return -1;
    int at = 0;
    uint32_t equal;
    while (!(equal = mask_bits(sums[at] == wanted))) at++;
    return codes[at * LANES + __builtin_ctz(equal)];
}

/* Without the help of pruned lists: all neighbours, then all rows. */
static int ternary_least_of_all(const ternary_terms *t, const ggufspec_grid *grid,
                                const ggufspec_neighbours *near, int code) {
    const uint16_t *list = near->lists - near->map[code] - 1;
    uint16_t codes[MOST_ROWS];
    int n = list[0];
    for (int i = 0; i < n; i++) codes[i] = grid->codes[list[i + 1]];
    for (; n % NEIGHBOURS_TOGETHER; n++) codes[n] = codes[n - 1];
    const int found = ternary_least(t, codes, n / NEIGHBOURS_TOGETHER);
    return found >= 0 ? found
                      : ternary_least(t, grid->codes, grid->points / NEIGHBOURS_TOGETHER);
}

/* The tables are larger than the caches next to the processor: fetch early what will be read. */
static inline void ternary_will_look(const ggufspec_neighbours *near, int code) {
    __builtin_prefetch(near->map + code);
    __builtin_prefetch(near->first + code);
}
static inline void ternary_will_search(const ggufspec_neighbours *near, int code) {
    __builtin_prefetch(near->near + (size_t)near->first[code] * NEIGHBOURS_TOGETHER);
}

/* The code of the row for 8 elements whose levels are `code`, which is no row; -1 if there is
 * none with finite squares. */
static inline int ternary_row(const ggufspec_grid *grid, const ggufspec_neighbours *near,
                              const float *x, const float *w, float scale, const float *values,
                              int code) {
    ternary_terms t;
    if (ternary_terms_of(x, w, scale, values, code, &t)) {
        const uint32_t from = near->first[code], to = near->first[code + 1];
        const int found = ternary_least(&t, near->near + (size_t)from * NEIGHBOURS_TOGETHER,
                                        (int)(to - from));
        if (found >= 0) return found;
    }
    return ternary_least_of_all(&t, grid, near, code);
}

#endif
