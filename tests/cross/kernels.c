/* Runs the library's kernels on another machine, driven through pipes.
 *
 * A request is the type's name in 32 bytes, then uint32 big_endian, rows, blocks a row, then the
 * blocks. An answer is the dequantized float32, the arrays of unpack, how many values break each
 * condition (eight uint64), and what pack makes of the arrays.
 * Numbers on the wire are little-endian. */
#include "check.h"
#include "dispatch.h"
#include "pipe.h"

#define MOST_CONDITIONS 8

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
    uint64_t broken[MOST_CONDITIONS] = {0};
    if (ggufspec_check_blocks(type, big_endian, data, blocks, broken)) die("check refused");
    memset(data, 0xA5, size);
    if (ggufspec_pack(type, big_endian, data, blocks, (const void *const *)arrays))
        die("pack refused");
    for (uint32_t i = 0; i < t->array_count; i++) {
        answer(arrays[i], blocks * numbers_a_block(&t->arrays[i]), t->arrays[i].size);
        free(arrays[i]);
    }
    answer(broken, MOST_CONDITIONS, sizeof *broken);
    answer(data, size, 1);
    free(arrays);
    free(data);
}

int main(void) { return serve_all(serve); }
