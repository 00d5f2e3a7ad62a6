/* Runs the library's quantizers on another machine, driven through pipes.
 *
 * A request is the type's name in 32 bytes, then uint32 rows, blocks a row, whether there is an
 * importance, then that and the rows as float32. An answer is uint32 what became of it, uint32
 * where that was, and the blocks, those that were not written zeros. */
#include "pipe.h"
#include "quantize.h"

static float *floats(size_t count) {
    float *x = allocate(count * sizeof *x);
    numbers(x, count, sizeof *x);
    return x;
}

static void serve(const char *name) {
    const int type = type_named(name);
    const ggufspec_type *t = &ggufspec_types[type];
    const size_t rows = number(), row_blocks = number(), row = row_blocks * t->elements;
    float *importance = number() ? floats(row) : NULL;
    float *x = floats(rows * row);
    const size_t size = rows * row_blocks * t->bytes;
    uint8_t *blocks = allocate(size);
    memset(blocks, 0, size);
    size_t where = 0;
    const int status = ggufspec_quantize(type, x, blocks, rows, row_blocks, importance, &where);
    const uint32_t told[] = {(uint32_t)status, (uint32_t)where};
    answer(told, 2, sizeof *told);
    answer(blocks, size, 1);
    free(blocks);
    free(x);
    free(importance);
}

int main(void) { return serve_all(serve); }
