/* Chooses the quantizer of the running variant, and walks rows in pieces that stay in cache:
 * each is looked over for numbers that are not finite and then quantized, unless its quantizer
 * meets them by itself. */
#include "quantize.h"

#include "dispatch.h"
#include "strategies/flight.h"

/* Elements a piece: 8 KB, so that it is still in the first cache beside the output. */
#define PIECE 2048

GGUFSPEC_VARIANTS(ggufspec_quantizer, quantizers);

static const ggufspec_quantizer *quantizer_of(int type) {
    if (type < 0 || type >= ggufspec_type_count) return NULL;
    const ggufspec_quantizer *found = &quantizers[ggufspec_variant_number()][type];
    return found->run ? found : NULL;
}

static int all_finite(const float *x, size_t n) {
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++) found |= (single_bits(x[i]) & 0x7f800000) + 0x00800000;
    return found >> 31 == 0;
}

static size_t first_not_finite(const float *x) {
    size_t i = 0;
    while (all_finite(x + i, 1)) i++;
    return i;
}

int ggufspec_quantize(int type, const float *x, uint8_t *dst, size_t rows, size_t row_blocks,
                      const float *importance, size_t *where) {
    const int ready = ggufspec_prepare(type);
    if (ready != GGUFSPEC_QUANTIZED) return ready;
    const ggufspec_quantizer *q = quantizer_of(type);
    const ggufspec_type *t = &ggufspec_types[type];
    const size_t total = rows * row_blocks;
    size_t most = t->elements < PIECE ? PIECE / t->elements : 1;
    if (importance) most = row_blocks;
    const int stops = q->stops && !importance;
    float means[LANES] = {0};
    for (size_t done = 0, piece = 0; done < total; piece++) {
        const size_t count = total - done < most ? total - done : most;
        const size_t length = count * t->elements;
        const float *at = x + done * t->elements;
        if (!stops && !all_finite(at, length)) {
            *where = done * t->elements + first_not_finite(at);
            return GGUFSPEC_NOT_FINITE;
        }
        if (importance && q->row_mean && piece % LANES == 0)
            mean_squares(at, length, rows - piece < LANES ? (int)(rows - piece) : LANES, 1, means);
        const size_t written = q->run(at, dst + done * t->bytes, count, importance,
                                      means[piece % LANES]);
        done += written;
        if (written < count) {
            at = x + done * t->elements;
            if (stops && !all_finite(at, t->elements)) {
                *where = done * t->elements + first_not_finite(at);
                return GGUFSPEC_NOT_FINITE;
            }
            *where = done;
            return GGUFSPEC_OVERFLOW;
        }
    }
    return GGUFSPEC_QUANTIZED;
}

const ggufspec_neighbours *ggufspec_type_neighbours(int type) {
    const ggufspec_quantizer *q = quantizer_of(type);
    return q && q->grid ? ggufspec_neighbours_of(q->grid) : NULL;
}

int ggufspec_prepare(int type) {
    const ggufspec_quantizer *q = quantizer_of(type);
    if (q == NULL) return GGUFSPEC_NO_QUANTIZER;
    return q->grid && ggufspec_neighbours_of(q->grid) == NULL ? GGUFSPEC_NO_MEMORY
                                                              : GGUFSPEC_QUANTIZED;
}
