/* Builds the tables of neighbours: for each code the distances to all points at once, as bytes;
 * then the points at the smallest of them. */
#include "neighbours.h"

#include <stdlib.h>

#include "grids.h"
#include "load.h"

#if defined(_WIN32)
#include <windows.h>
#undef near /* which it defines as nothing */
static SRWLOCK building = SRWLOCK_INIT;
#define LOCK() AcquireSRWLockExclusive(&building)
#define UNLOCK() ReleaseSRWLockExclusive(&building)
#else
#include <pthread.h>
static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&building)
#define UNLOCK() pthread_mutex_unlock(&building)
#endif

enum { MOST_POINTS = 2048, MOST_DISTANCES = 8, HALF_CODES = 256 };

/* ---- codes and distances */

static int level_at(uint32_t code, int coordinate, int bits) {
    return (int)(code >> coordinate * bits & ((1u << bits) - 1));
}

/* ggml's map ends there: behind the highest code of three levels, or of eight. */
static int32_t map_length(const ggufspec_grid *g) { return g->bits == 2 ? 43692 : 4096; }

/* Squared distances, in levels, of half of a code's coordinates to the same half of each
 * point: a row of points for each half code. */
static void half_distances(const ggufspec_grid *g, int shift, uint8_t *rows) {
    const int half = g->length / 2, codes = 1 << half * g->bits;
    for (int u = 0; u < codes; u++)
        for (int p = 0; p < g->points; p++) {
            int sum = 0;
            for (int j = 0; j < half; j++) {
                const int away = level_at((uint32_t)u, j, g->bits) -
                                 level_at((uint32_t)g->codes[p] >> shift, j, g->bits);
                sum += away * away;
            }
            rows[u * g->points + p] = (uint8_t)sum;
        }
}

typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));

/* The smallest distance from `from` on. */
static int smallest(const bytes *distance, int vectors, int from) {
    const bytes least_wanted = (uint8_t)from - (bytes){0};
    bytes least = ~(bytes){0};
    for (int i = 0; i < vectors; i++) {
        const bytes d = distance[i] | (bytes)(distance[i] < least_wanted);
        const bytes less = (bytes)(d < least);
        least = (d & less) | (least & ~less);
    }
    int found = least[0];
    for (int i = 1; i < 16; i++) found = least[i] < found ? least[i] : found;
    return found;
}

/* The points at the `count` smallest distances, by distance and then by number. */
static int nearest_points(const bytes *distance, int vectors, int count, uint16_t *list) {
    const uint8_t *at = (const uint8_t *)distance;
    int limits[MOST_DISTANCES], limit = -1, n = 0, length = 0;
    for (int c = 0; c < count; c++) limits[c] = limit = smallest(distance, vectors, limit + 1);
    const bytes last = (uint8_t)limit - (bytes){0};
    uint16_t found[MOST_POINTS];
    for (int i = 0; i < vectors; i++) {
        const bytes hit = (bytes)(distance[i] <= last) & 1;
        uint8_t hits[16];
        memcpy(hits, &hit, 16);
        for (int p = 0; p < 16; p += 8)
            for (uint64_t some = load_u64(hits + p); some; some &= some - 1)
                found[n++] = (uint16_t)(16 * i + p + __builtin_ctzll(some) / 8);
    }
    for (int c = 0; c < count; c++)
        for (int i = 0; i < n; i++)
            if (at[found[i]] == limits[c]) list[length++] = found[i];
    return length;
}

/* ---- neighbours that another one makes superfluous */

/* A coordinate's deviation in ones, up and down apart: a set of bits holds another when it
 * deviates in every coordinate as far, the same way. */
static uint64_t deviations(uint32_t code, uint32_t from, int length, int bits) {
    uint64_t ones = 0;
    for (int j = 0; j < length; j++) {
        const int away = level_at(code, j, bits) - level_at(from, j, bits), most = (1 << bits) - 1;
        const uint64_t up = away > 0 ? (1u << away) - 1 : 0;
        const uint64_t down = away < 0 ? ((1u << -away) - 1) << most : 0;
        ones = ones << 2 * most | up | down;
    }
    return ones;
}

static int prune(const ggufspec_grid *g, uint32_t from, const uint16_t *list, int n,
                 uint16_t *kept) {
    uint64_t ones[MOST_POINTS];
    int count = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t mine = deviations(g->codes[list[i]], from, g->length, g->bits);
        int k = 0;
        while (k < count && (ones[k] & ~mine) != 0) k++;
        if (k < count) continue;
        ones[count] = mine;
        kept[count++] = g->codes[list[i]];
    }
    return count;
}

/* ---- all of it */

/* An array that grows. */
typedef struct {
    uint16_t *at;
    size_t count, room;
} words;

static uint16_t *more(words *w, size_t count) {
    if (w->room - w->count < count) {
        const size_t room = 2 * w->room + count;
        uint16_t *moved = realloc(w->at, room * sizeof *moved);
        if (moved == NULL) return NULL;
        w->at = moved;
        w->room = room;
    }
    return w->at + w->count;
}

static void trim(words *w) {
    uint16_t *moved = realloc(w->at, w->count * sizeof *moved);
    if (moved) w->at = moved;
}

/* The highest level of any row. */
static int top_level(const ggufspec_grid *g) {
    int top = 0;
    for (int p = 0; p < g->points; p++)
        for (int j = 0; j < g->length; j++) {
            const int level = level_at(g->codes[p], j, g->bits);
            top = level > top ? level : top;
        }
    return top;
}

static int is_possible(const ggufspec_grid *g, uint32_t code, int top) {
    for (int j = 0; j < g->length; j++)
        if (level_at(code, j, g->bits) > top) return 0;
    return 1;
}

typedef struct {
    int32_t *map;
    uint32_t *first;
    bytes *low, *high; /* half distances */
    words lists, near;
} parts;

static int fill(const ggufspec_grid *g, int32_t codes, parts *t) {
    const int half = g->length / 2 * g->bits, vectors = g->points / 16, top = top_level(g);
    half_distances(g, 0, (uint8_t *)t->low);
    half_distances(g, half, (uint8_t *)t->high);
    for (int32_t u = 0; u < codes; u++) t->map[u] = -1;
    for (int p = 0; p < g->points; p++) t->map[g->codes[p]] = p;

    for (int32_t u = 0; u < codes; u++) {
        t->first[u] = (uint32_t)(t->near.count / NEIGHBOURS_TOGETHER);
        uint16_t *near = more(&t->near, MOST_POINTS + NEIGHBOURS_TOGETHER);
        uint16_t *list = more(&t->lists, MOST_POINTS + 1);
        if (near == NULL || list == NULL) return 0;
        int kept = 0;
        if (t->map[u] >= 0) {
            near[kept++] = (uint16_t)u;
        } else {
            bytes distance[MOST_POINTS / 16];
            const bytes *low = t->low + (u & ((1 << half) - 1)) * vectors;
            const bytes *high = t->high + (u >> half) * vectors;
            for (int i = 0; i < vectors; i++) distance[i] = low[i] + high[i];
            const int n = nearest_points(distance, vectors, g->distances, list + 1);
            list[0] = (uint16_t)n;
            t->map[u] = -(int32_t)t->lists.count - 1;
            t->lists.count += (size_t)n + 1;
            if (is_possible(g, (uint32_t)u, top)) kept = prune(g, (uint32_t)u, list + 1, n, near);
        }
        for (; kept % NEIGHBOURS_TOGETHER; kept++) near[kept] = near[kept - 1];
        t->near.count += (size_t)kept;
    }
    t->first[codes] = (uint32_t)(t->near.count / NEIGHBOURS_TOGETHER);
    return 1;
}

static ggufspec_neighbours *build(const ggufspec_grid *g) {
    const int32_t codes = map_length(g);
    const size_t half_size = (size_t)(HALF_CODES * g->points);
    ggufspec_neighbours *made = malloc(sizeof *made);
    parts t = {.map = malloc((size_t)codes * sizeof *t.map),
               .first = malloc(((size_t)codes + 1) * sizeof *t.first),
               .low = malloc(half_size),
               .high = malloc(half_size)};
    const int done = made && t.map && t.first && t.low && t.high && fill(g, codes, &t);
    free(t.low);
    free(t.high);
    if (!done) {
        free(made);
        free(t.map);
        free(t.first);
        free(t.lists.at);
        free(t.near.at);
        return NULL;
    }
    trim(&t.lists);
    trim(&t.near);
    *made = (ggufspec_neighbours){codes,   t.map,     t.lists.at, t.lists.count,
                                  t.first, t.near.at, t.near.count / NEIGHBOURS_TOGETHER};
    return made;
}

static const ggufspec_neighbours *built[GRID_COUNT]; /* by the number of the grid */

const ggufspec_neighbours *ggufspec_neighbours_of(const ggufspec_grid *grid) {
    const ggufspec_neighbours **slot = &built[grid->number];
    const ggufspec_neighbours *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (found) return found;
    LOCK();
    if (*slot == NULL) __atomic_store_n(slot, build(grid), __ATOMIC_RELEASE);
    found = *slot;
    UNLOCK();
    return found;
}
