#ifndef GGUFSPEC_STRINGS_H
#define GGUFSPEC_STRINGS_H

#include <stdint.h>

/*
 * Copies the texts of `count` neighbouring strings of an array to `out`, a NUL behind each.
 * `index` holds count + 1 offsets into the file: text i is the bytes from index[i] to
 * index[i + 1] - width. `block` holds the file's bytes from index[0] to index[count] - width,
 * and `out` has room for index[count] - index[0] - count * (width - 1) bytes.
 * The caller made the index by a scan of the same bytes, so it rises by `width` at least.
 */
void ggufspec_join_strings(const uint8_t *block, const uint64_t *index, uint64_t count,
                           uint64_t width, uint8_t *out);

#endif
