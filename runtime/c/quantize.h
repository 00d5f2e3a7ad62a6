#ifndef GGUFSPEC_QUANTIZE_H
#define GGUFSPEC_QUANTIZE_H

/* Rows of floats to blocks. */

#include "neighbours.h"

enum {
    GGUFSPEC_QUANTIZED = 0,
    GGUFSPEC_NOT_FINITE = 1, /* *where: the place of an element of x */
    GGUFSPEC_OVERFLOW = 2,   /* *where: the number of a block whose scale is too large */
    GGUFSPEC_NO_QUANTIZER = -1,
    GGUFSPEC_NO_MEMORY = -2,
};

/* `rows` rows of `row_blocks` blocks, an element's importance in each of them at `importance`
 * (NULL for none; some types ignore it), to blocks in little-endian byte order at `dst`.
 * `type` is an index of ggufspec_types. What is wrong with the first block that cannot be
 * written is returned; the blocks before it are written. */
int ggufspec_quantize(int type, const float *x, uint8_t *dst, size_t rows, size_t row_blocks,
                      const float *importance, size_t *where);

/* Build now what quantizing to the type looks up; otherwise the first use does. */
int ggufspec_prepare(int type);

/* The tables of neighbours that quantizing to the type looks up, or NULL. */
const ggufspec_neighbours *ggufspec_type_neighbours(int type);

#endif
