#ifndef GGUFSPEC_DISPATCH_H
#define GGUFSPEC_DISPATCH_H

/* The exported functions over blocks. `type` is an index of ggufspec_types. */

#include "types.h"

/* ---- what the files that are compiled once share */

/* The tables ggufspec_<name>_<variant>, by number of variant: the fastest first. */
#if defined(GGUFSPEC_HAVE_V3)
#define GGUFSPEC_VARIANTS(type, name)                                                              \
    extern GGUFSPEC_HIDDEN const type ggufspec_##name##_v3[], ggufspec_##name##_baseline[];        \
    static const type *const name[] = {ggufspec_##name##_v3, ggufspec_##name##_baseline}
#else
#define GGUFSPEC_VARIANTS(type, name)                                                              \
    extern GGUFSPEC_HIDDEN const type ggufspec_##name##_baseline[];                                \
    static const type *const name[] = {ggufspec_##name##_baseline}
#endif

#define GGUFSPEC_TILE 16384

/* The number of the variant that runs. */
GGUFSPEC_HIDDEN int ggufspec_variant_number(void);

/* Blocks of a tile's GGUFSPEC_TILE bytes, copied from the `n` at `src` with every word reversed:
 * how many. */
GGUFSPEC_HIDDEN size_t ggufspec_reversed(const ggufspec_type *t, uint8_t *tile, const uint8_t *src,
                                         size_t n);

/* ---- what the library offers */

/* Which kernels run: "baseline", or "v3" where the processor has AVX2 and F16C. */
const char *ggufspec_variant(void);

/* Make a variant run, for tests; NULL or "" chooses by the processor again. Returns 0, or
 * -1 when this library or this processor does not have it. */
int ggufspec_use_variant(const char *name);

/* `rows` rows of `row_blocks` blocks, each row behind its own prefix if the type has one, to
 * rows * row_blocks * elements floats. `tail` is the tensor's suffix, or NULL. With
 * `big_endian` the stored words have that byte order. Returns 0, or -1 for no such type. */
int ggufspec_dequantize(int type, int big_endian, const uint8_t *src, float *dst, size_t rows,
                        size_t row_blocks, const uint8_t *tail);

/* `n` blocks to one array a field or code (ggufspec_type.arrays), in the host's byte order. */
int ggufspec_unpack(int type, int big_endian, const uint8_t *src, size_t n, void *const *arrays);

/* The reverse; bits of a number above its width are dropped. */
int ggufspec_pack(int type, int big_endian, uint8_t *dst, size_t n, const void *const *arrays);

/* Reverse every word of `n` blocks, in place: from one byte order to the other. */
int ggufspec_swap(int type, uint8_t *blocks, size_t n);

#endif
