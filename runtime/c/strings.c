/* Brings the strings of an array together, so that one decode and one split make them all. */
#include "strings.h"

#include <string.h>

void ggufspec_join_strings(const uint8_t *block, const uint64_t *index, uint64_t count,
                           uint64_t width, uint8_t *out) {
    for (uint64_t i = 0; i < count; i++) {
        const size_t length = (size_t)(index[i + 1] - width - index[i]);
        memcpy(out, block + (index[i] - index[0]), length);
        out[length] = 0;
        out += length + 1;
    }
}
