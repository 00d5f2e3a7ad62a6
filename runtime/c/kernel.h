#ifndef GGUFSPEC_KERNEL_H
#define GGUFSPEC_KERNEL_H

/* The frame of the generated kernels, which are compiled once a variant: names, signatures,
 * and the rules of arithmetic. */

#include "load.h"
#include "types.h"

/* One rounding an operation, whatever the flags say: a fused multiply-add changes bits. */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Keep a short loop a loop until the vectoriser has seen it: GCC unrolls up to 16 trips
 * first, and then does not vectorise what is left. */
#if defined(__clang__)
#define GGUFSPEC_ROLLED
#elif defined(__GNUC__)
#define GGUFSPEC_ROLLED _Pragma("GCC unroll 1")
#else
#define GGUFSPEC_ROLLED
#endif

#define GGUFSPEC_ALIGNED __attribute__((aligned(32)))

#ifndef GGUFSPEC_VARIANT
#define GGUFSPEC_VARIANT baseline
#endif
#define GGUFSPEC_JOIN2(name, variant) ggufspec_##name##_##variant
#define GGUFSPEC_JOIN(name, variant) GGUFSPEC_JOIN2(name, variant)
#define GGUFSPEC_KERNEL(name) GGUFSPEC_JOIN(name, GGUFSPEC_VARIANT)

/* `n` blocks at `src`, little-endian, to their elements; `row` is the storage before the
 * row's blocks, `tail` the storage after the tensor, for types that have such. */
#define GGUFSPEC_DEQUANTIZE_ARGS                                                                   \
    const uint8_t *restrict src, float *restrict dst, size_t n, const uint8_t *restrict row,       \
        const uint8_t *restrict tail
/* `n` blocks to one array a field or code, in the order of ggufspec_type.arrays, and back. */
#define GGUFSPEC_UNPACK_ARGS const uint8_t *restrict src, size_t n, void *const *arrays
#define GGUFSPEC_PACK_ARGS uint8_t *restrict dst, size_t n, const void *const *arrays

typedef struct {
    void (*dequantize)(GGUFSPEC_DEQUANTIZE_ARGS);
    void (*unpack)(GGUFSPEC_UNPACK_ARGS);
    void (*pack)(GGUFSPEC_PACK_ARGS);
} ggufspec_kernels;

#define GGUFSPEC_DECLARE(type)                                                                     \
    GGUFSPEC_HIDDEN void GGUFSPEC_KERNEL(dequantize_##type)(GGUFSPEC_DEQUANTIZE_ARGS);             \
    GGUFSPEC_HIDDEN void GGUFSPEC_KERNEL(unpack_##type)(GGUFSPEC_UNPACK_ARGS);                     \
    GGUFSPEC_HIDDEN void GGUFSPEC_KERNEL(pack_##type)(GGUFSPEC_PACK_ARGS);

#define GGUFSPEC_ENTRY(type)                                                                       \
    {GGUFSPEC_KERNEL(dequantize_##type), GGUFSPEC_KERNEL(unpack_##type), GGUFSPEC_KERNEL(pack_##type)}

#endif
