#ifndef GGUFSPEC_TYPES_H
#define GGUFSPEC_TYPES_H

/* The table of types that the spec describes; generated/c/types.c fills it. */

#include <stddef.h>
#include <stdint.h>

#define GGUFSPEC_HIDDEN __attribute__((visibility("hidden")))

/* `count` words of `size` bytes, `stride` apart: what another byte order reverses. */
typedef struct {
    uint32_t offset, stride, count, size;
} ggufspec_words;

#define GGUFSPEC_MAX_RANK 12

/* One array of unpack and pack. For each block it holds numbers of `size` bytes: integers in
 * low..high (kind 'u' or 'i'), or floats as they are stored (kind 'f'), in this shape. */
typedef struct {
    const char *name;
    char kind;
    uint32_t size, rank, shape[GGUFSPEC_MAX_RANK];
    int64_t low, high;
} ggufspec_array;

typedef struct {
    const char *name;
    int32_t id; /* ggml's number, -1 for a fork's type */
    uint32_t elements, bytes;
    uint32_t row_prefix, tensor_suffix; /* bytes before each row, after the tensor */
    uint32_t words_count, prefix_words_count, suffix_words_count, array_count;
    const ggufspec_words *words, *prefix_words, *suffix_words;
    const ggufspec_array *arrays;
} ggufspec_type;

extern const ggufspec_type ggufspec_types[];
extern const int ggufspec_type_count;

#endif
