/* Runs the conditions of the running variant, on big-endian blocks by way of a tile. */
#include "check.h"

#include "dispatch.h"
#include "load.h"

GGUFSPEC_VARIANTS(ggufspec_check, checks);

static const ggufspec_check *check_of(int type) {
    if (type < 0 || type >= ggufspec_type_count) return NULL;
    return &checks[ggufspec_variant_number()][type];
}

const char *const *ggufspec_conditions(int type) {
    const ggufspec_check *check = check_of(type);
    return check == NULL ? NULL : check->conditions;
}

int ggufspec_check_blocks(int type, int big_endian, const uint8_t *src, size_t n,
                          uint64_t *broken) {
    const ggufspec_check *check = check_of(type);
    if (check == NULL) return -1;
    if (check->count == NULL) return 0;
    const ggufspec_type *t = &ggufspec_types[type];
    if (!big_endian || t->words_count == 0) {
        check->count(src, n, broken);
        return 0;
    }
    if (t->bytes > GGUFSPEC_TILE) return -1;
    uint8_t tile[GGUFSPEC_TILE];
    for (size_t done = 0, count; done < n; done += count) {
        count = ggufspec_reversed(t, tile, src + done * t->bytes, n - done);
        check->count(tile, count, broken);
    }
    return 0;
}

static int all_alike(const uint8_t *data, size_t size, uint64_t word) {
    uint64_t other = load_u64(data + size - 8) ^ word;
    for (size_t at = 0; at + 8 <= size; at += 8) other |= load_u64(data + at) ^ word;
    return other == 0;
}

void ggufspec_whole_steps(const uint8_t *data, size_t n, size_t size, uint8_t *kinds) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = load_u64(data + i * size);
        kinds[i] = word == 0 ? 1 : word == UINT64_MAX ? 2 : 0;
    }
    for (size_t i = 0; i < n; i++)
        if (kinds[i] && !all_alike(data + i * size, size, kinds[i] == 1 ? 0 : UINT64_MAX))
            kinds[i] = 0;
}
