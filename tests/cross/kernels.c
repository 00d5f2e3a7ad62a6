/* Runs the library's kernels on another machine, driven through pipes.
 *
 * A request is the type's name in 32 bytes, then uint32 big_endian, rows, blocks a row, then the
 * blocks. An answer is the dequantized float32, the arrays of unpack, and what pack makes of them.
 * Numbers on the wire are little-endian. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"

#define NAME 32

static void die(const char *what) {
    fprintf(stderr, "kernels: %s\n", what);
    exit(1);
}

static void *allocate(size_t size) {
    void *bytes = malloc(size ? size : 1);
    if (bytes == NULL) die("out of memory");
    return bytes;
}

static uint32_t number(void) {
    uint8_t b[4];
    if (fread(b, 1, sizeof b, stdin) != sizeof b) die("short request");
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Write `count` numbers of `size` bytes, last byte first on a big-endian host. */
static void answer(const void *numbers, size_t count, size_t size) {
    const uint16_t one = 1;
    const int little = *(const uint8_t *)&one;
    const uint8_t *bytes = numbers;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < size; j++)
            putchar(bytes[i * size + (little ? j : size - 1 - j)]);
}

static int type_named(const char *name) {
    for (int i = 0; i < ggufspec_type_count; i++)
        if (strcmp(ggufspec_types[i].name, name) == 0) return i;
    die("no such type");
    return -1;
}

static size_t numbers_a_block(const ggufspec_array *array) {
    size_t count = 1;
    for (uint32_t i = 0; i < array->rank; i++) count *= array->shape[i];
    return count;
}

static void serve(const char *name) {
    const int type = type_named(name);
    const ggufspec_type *t = &ggufspec_types[type];
    const int big_endian = (int)number();
    const size_t rows = number(), row_blocks = number();
    const size_t blocks = rows * row_blocks, size = blocks * t->bytes;

    uint8_t *data = allocate(size);
    if (fread(data, 1, size, stdin) != size) die("short request");
    float *floats = allocate(blocks * t->elements * sizeof *floats);
    if (ggufspec_dequantize(type, big_endian, data, floats, rows, row_blocks, NULL))
        die("dequantize refused");
    answer(floats, blocks * t->elements, sizeof *floats);
    free(floats);

    void **arrays = allocate(t->array_count * sizeof *arrays);
    for (uint32_t i = 0; i < t->array_count; i++)
        arrays[i] = allocate(blocks * numbers_a_block(&t->arrays[i]) * t->arrays[i].size);
    if (ggufspec_unpack(type, big_endian, data, blocks, arrays)) die("unpack refused");
    memset(data, 0xA5, size);
    if (ggufspec_pack(type, big_endian, data, blocks, (const void *const *)arrays))
        die("pack refused");
    for (uint32_t i = 0; i < t->array_count; i++) {
        answer(arrays[i], blocks * numbers_a_block(&t->arrays[i]), t->arrays[i].size);
        free(arrays[i]);
    }
    answer(data, size, 1);
    free(arrays);
    free(data);
}

int main(void) {
    char name[NAME];
    while (fread(name, 1, NAME, stdin) == NAME) {
        name[NAME - 1] = 0;
        serve(name);
    }
    return 0;
}
