#ifndef GGUFSPEC_NEIGHBOURS_H
#define GGUFSPEC_NEIGHBOURS_H

/* What a grid quantizer looks up: which points of its grid are near to levels that are none. */

#include "types.h"

/* A grid: `points` rows of `length` levels. A row's levels side by side, the first lowest and
 * `bits` each, are its code; rows are in ascending order of their codes. */
typedef struct {
    int number; /* among all grids */
    int points, length, bits;
    int distances; /* neighbours are the points at so many smallest distances */
    const uint16_t *codes;
} ggufspec_grid;

enum { NEIGHBOURS_TOGETHER = 8 };

typedef struct {
    int32_t codes; /* how many entries `map` has */
    /* A code's point, or -(offset + 1) of its list in `lists`: how many, and those points by
     * distance and then by number. */
    const int32_t *map;
    const uint16_t *lists;
    size_t list_words;
    /* For searching, the codes of the neighbours of code u: the vectors first[u] .. first[u + 1]
     * of `near`, each of NEIGHBOURS_TOGETHER codes. They come in the order
     * of the list; the last is repeated to fill the vector. A code on the grid has itself;
     * a code with a level that no row has has none.
     *
     * A neighbour is left out when another one is, in every coordinate, between it and the
     * code: as long as no level of a coordinate has a smaller term than the code's own, the
     * other's sum is not larger, and it comes first. Otherwise `lists` is to be searched. */
    const uint32_t *first;
    const uint16_t *near;
    size_t near_vectors;
} ggufspec_neighbours;

/* The neighbours on a grid, built on first use, once a process, and kept. Any thread may call.
 * NULL when there is no memory. */
GGUFSPEC_HIDDEN const ggufspec_neighbours *ggufspec_neighbours_of(const ggufspec_grid *grid);

#endif
