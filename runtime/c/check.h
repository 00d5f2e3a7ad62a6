#ifndef GGUFSPEC_CHECK_H
#define GGUFSPEC_CHECK_H

/* Whether stored values are such as their type allows. */

#include "types.h"

/* `n` blocks at `src`, little-endian: add to broken[i] how many values break condition i. */
#define GGUFSPEC_CHECK_ARGS const uint8_t *restrict src, size_t n, uint64_t *restrict broken

typedef struct {
    void (*count)(GGUFSPEC_CHECK_ARGS); /* NULL where any bytes are good */
    const char *const *conditions;      /* as the specification writes them; NULL behind the last */
} ggufspec_check;

/* The conditions on blocks of a type, an index of ggufspec_types; NULL for none, or no type. */
const char *const *ggufspec_conditions(int type);

/* `n` blocks: add to broken[i] how many values break condition i. With `big_endian` the stored
 * words have that byte order. Returns 0, or -1 for no such type. */
int ggufspec_check_blocks(int type, int big_endian, const uint8_t *src, size_t n,
                          uint64_t *broken);

/* Of each of `n` steps of `size` bytes, eight or more: 1 for one of zeros, 2 for one of 0xFF,
 * else 0. Of a step that begins with other bytes nothing else is read. */
void ggufspec_whole_steps(const uint8_t *data, size_t n, size_t size, uint8_t *kinds);

#endif
