/* Chooses the kernels once, walks rows, and brings big-endian blocks into the byte order that
 * kernels read. */
#include "dispatch.h"

#include "kernel.h"

#if defined(GGUFSPEC_HAVE_V3)
#include <cpuid.h>
#endif

GGUFSPEC_VARIANTS(ggufspec_kernels, all);

static int always(void) { return 1; }

#if defined(GGUFSPEC_HAVE_V3)
static int has_v3(void) {
    unsigned eax, ebx, ecx = 0, edx;
    __builtin_cpu_init();
    /* Not every compiler's builtin knows F16C. */
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0 &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif

typedef struct {
    const char *name;
    int (*supported)(void);
} variant;

/* In the order of GGUFSPEC_VARIANTS. */
static const variant variants[] = {
#if defined(GGUFSPEC_HAVE_V3)
    {"v3", has_v3},
#endif
    {"baseline", always},
};
static const int variant_count = sizeof variants / sizeof *variants;

/* NULL until the first call. Two threads may both choose: they choose the same. */
static const variant *chosen;

static const variant *current(void) {
    const variant *v = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (v == NULL) {
        v = variants;
        while (!v->supported()) v++;
        __atomic_store_n(&chosen, v, __ATOMIC_RELAXED);
    }
    return v;
}

int ggufspec_variant_number(void) { return (int)(current() - variants); }

const char *ggufspec_variant(void) { return current()->name; }

int ggufspec_use_variant(const char *name) {
    const variant *wanted = NULL;
    if (name != NULL && *name != 0) {
        for (int i = 0; i < variant_count; i++)
            if (strcmp(variants[i].name, name) == 0 && variants[i].supported())
                wanted = &variants[i];
        if (wanted == NULL) return -1;
    }
    __atomic_store_n(&chosen, wanted, __ATOMIC_RELAXED);
    return 0;
}

static const ggufspec_kernels *kernels_of(int type) {
    if (type < 0 || type >= ggufspec_type_count) return NULL;
    return &all[ggufspec_variant_number()][type];
}

static void reverse(uint8_t *base, const ggufspec_words *words, uint32_t count) {
    for (uint32_t w = 0; w < count; w++) {
        uint8_t *p = base + words[w].offset;
        for (uint32_t i = 0; i < words[w].count; i++, p += words[w].stride)
            for (uint32_t low = 0, high = words[w].size - 1; low < high; low++, high--) {
                const uint8_t byte = p[low];
                p[low] = p[high];
                p[high] = byte;
            }
    }
}

static void reverse_blocks(const ggufspec_type *t, uint8_t *blocks, size_t n) {
    for (size_t b = 0; b < n; b++) reverse(blocks + b * t->bytes, t->words, t->words_count);
}

int ggufspec_swap(int type, uint8_t *blocks, size_t n) {
    if (kernels_of(type) == NULL) return -1;
    reverse_blocks(&ggufspec_types[type], blocks, n);
    return 0;
}

size_t ggufspec_reversed(const ggufspec_type *t, uint8_t *tile, const uint8_t *src, size_t n) {
    const size_t most = GGUFSPEC_TILE / t->bytes, count = n < most ? n : most;
    memcpy(tile, src, count * t->bytes);
    reverse_blocks(t, tile, count);
    return count;
}

/* A copy of `size` bytes of row or tensor storage with its words reversed, or the bytes
 * themselves. */
static const uint8_t *ordered(const uint8_t *bytes, uint8_t *copy, uint32_t size,
                              const ggufspec_words *words, uint32_t count, int big_endian) {
    if (!big_endian || bytes == NULL || size == 0 || size > GGUFSPEC_TILE) return bytes;
    memcpy(copy, bytes, size);
    reverse(copy, words, count);
    return copy;
}

static void dequantize_row(int type, int big_endian, const uint8_t *src, float *dst, size_t n,
                           const uint8_t *row, const uint8_t *tail) {
    const ggufspec_type *t = &ggufspec_types[type];
    const ggufspec_kernels *k = kernels_of(type);
    if (!big_endian || t->words_count == 0) {
        k->dequantize(src, dst, n, row, tail);
        return;
    }
    uint8_t tile[GGUFSPEC_TILE];
    for (size_t done = 0, count; done < n; done += count) {
        count = ggufspec_reversed(t, tile, src + done * t->bytes, n - done);
        k->dequantize(tile, dst + done * t->elements, count, row, tail);
    }
}

int ggufspec_dequantize(int type, int big_endian, const uint8_t *src, float *dst, size_t rows,
                        size_t row_blocks, const uint8_t *tail) {
    if (kernels_of(type) == NULL) return -1;
    const ggufspec_type *t = &ggufspec_types[type];
    if (big_endian && t->bytes > GGUFSPEC_TILE) return -1;
    uint8_t prefix_copy[GGUFSPEC_TILE], suffix_copy[GGUFSPEC_TILE];
    tail = ordered(tail, suffix_copy, t->tensor_suffix, t->suffix_words, t->suffix_words_count,
                   big_endian);
    if (t->row_prefix == 0) {
        dequantize_row(type, big_endian, src, dst, rows * row_blocks, NULL, tail);
        return 0;
    }
    const size_t row_bytes = t->row_prefix + row_blocks * t->bytes;
    for (size_t r = 0; r < rows; r++, src += row_bytes, dst += row_blocks * t->elements) {
        const uint8_t *row = ordered(src, prefix_copy, t->row_prefix, t->prefix_words,
                                     t->prefix_words_count, big_endian);
        dequantize_row(type, big_endian, src + t->row_prefix, dst, row_blocks, row, tail);
    }
    return 0;
}

/* unpack and pack walk tiles when the order differs; `arrays` then points into each array. */
#define MOST_ARRAYS 64

static int advance(const ggufspec_type *t, uint8_t **moved, void *const *arrays, size_t blocks) {
    if (t->array_count > MOST_ARRAYS) return -1;
    for (uint32_t i = 0; i < t->array_count; i++) {
        const ggufspec_array *a = &t->arrays[i];
        size_t bytes = blocks * a->size;
        for (uint32_t level = 0; level < a->rank; level++) bytes *= a->shape[level];
        moved[i] = (uint8_t *)arrays[i] + bytes;
    }
    return 0;
}

int ggufspec_unpack(int type, int big_endian, const uint8_t *src, size_t n, void *const *arrays) {
    const ggufspec_kernels *k = kernels_of(type);
    if (k == NULL) return -1;
    const ggufspec_type *t = &ggufspec_types[type];
    if (!big_endian || t->words_count == 0) {
        k->unpack(src, n, arrays);
        return 0;
    }
    if (t->bytes > GGUFSPEC_TILE) return -1;
    uint8_t tile[GGUFSPEC_TILE];
    uint8_t *moved[MOST_ARRAYS];
    for (size_t done = 0, count; done < n; done += count) {
        if (advance(t, moved, arrays, done) != 0) return -1;
        count = ggufspec_reversed(t, tile, src + done * t->bytes, n - done);
        k->unpack(tile, count, (void *const *)moved);
    }
    return 0;
}

int ggufspec_pack(int type, int big_endian, uint8_t *dst, size_t n, const void *const *arrays) {
    const ggufspec_kernels *k = kernels_of(type);
    if (k == NULL) return -1;
    k->pack(dst, n, arrays);
    if (big_endian) reverse_blocks(&ggufspec_types[type], dst, n);
    return 0;
}
