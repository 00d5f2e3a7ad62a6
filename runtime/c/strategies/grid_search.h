#ifndef GGUFSPEC_STRATEGY_GRID_SEARCH_H
#define GGUFSPEC_STRATEGY_GRID_SEARCH_H

/* x = sign * scale * (2 * level + 1), where the levels of a group are a row of a grid. */

#include "flight.h"
#include "neighbours.h"

enum { WEIGHTS_SQUARE_PLUS_MEAN = WEIGHTS_IMPORTANCE_RMS + 1 };

typedef enum { REFINE_ALWAYS, REFINE_IF_OFF_GRID, REFINE_WHERE_OFF_GRID } refine_rule;

typedef struct {
    int sub_blocks, length; /* of `length` elements each */
    const ggufspec_grid *grid;
    int group, levels, distances; /* elements a row, levels of an element */
    int even_signs;               /* the number of minus signs of eight elements is even */
    int scale_top;                /* codes of scales are 0..scale_top */
    int weights;                  /* a weight_rule or WEIGHTS_SQUARE_PLUS_MEAN */
    int mean_times;
    float mean_share;
    int first_top; /* codes of the positive search for the first scale; 0: the largest decides */
    int reach;     /* trials -reach..reach */
    float step, empty;
    refine_rule refine;
    int untried_on_grid;
    float fudge;
    int shifted_bits, keep_scaleless;
} grid_search_constants;

typedef struct {
    uint16_t scale;
    uint8_t sub_scale[MOST_SUB_BLOCKS];
    uint16_t row[64];
    uint8_t signs[32];
} grid_search_codes;

/* The block's scale, and codes for those of its sub-blocks: all multiples of it are odd. */
GGUFSPEC_STRATEGY void grid_scales(const grid_search_constants *k, const float *scale,
                                   grid_search_codes *codes) {
    float d;
    const int some = odd_scale_codes(scale, k->sub_blocks, k->scale_top, &d, codes->sub_scale);
    if (some)
        codes->scale = half_bits(d * k->fudge);
    else if (!k->keep_scaleless)
        *codes = (grid_search_codes){0};
}

#include "grid_eight.h"
#include "grid_three.h"

GGUFSPEC_STRATEGY size_t grid_search(const grid_search_constants *k, GGUFSPEC_QUANTIZE_ARGS,
                                     int (*store)(uint8_t *, size_t, const grid_search_codes *)) {
    return k->levels == 8 ? grid_eight(k, x, dst, blocks, importance, row_mean, store)
                          : grid_three(k, x, dst, blocks, importance, row_mean, store);
}

#endif
