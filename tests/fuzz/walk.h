/* Walks bytes with the cursor in C as a reader does, under a profile or under all of them. */
#ifndef GGUFSPEC_FUZZ_WALK_H
#define GGUFSPEC_FUZZ_WALK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "scan_tables.h"

#include "container_tables.h"

enum { ROOM = 50, TYPES = 4 };

/* id, elements, bytes, row prefix, tensor suffix: plain, in blocks, removed, with a prefix */
static const uint64_t types[TYPES * GGUFSPEC_TYPE_COLUMNS] = {
    0, 1, 4, 0, 0, 2, 32, 18, 0, 0, 4, 0, 0, 0, 0, 144, 256, 136, 4, 32,
};

static uint64_t walked, records;

static void *allocate(uint64_t size) {
    void *bytes = malloc(size ? size : 1);
    if (!bytes) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return bytes;
}

/* Up to `count` records of a section; a file of n bytes has fewer than n. */
static uint64_t *walk_section(ggufspec_cursor *c, uint64_t section, uint64_t count, unsigned columns,
                              uint64_t *done) {
    uint64_t room = count < c->size ? count : c->size;
    uint64_t *rows = allocate(room * columns * sizeof *rows);
    memset(rows, 0, room * columns * sizeof *rows);
    c->record = 0;
    *done = ggufspec_scan_records(c, section, room, rows);
    records += *done;
    return rows;
}

/* The indexes of arrays, wherever the row says they are. */
static void index_arrays(const ggufspec_cursor *c, const uint64_t *rows, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *value = rows + i * GS_METADATA_COLUMNS + 3;
        ggufspec_cursor inner = *c;
        uint64_t elements = value[2] < c->size ? value[2] : c->size;
        uint64_t *out = allocate((elements + 1) * GGUFSPEC_ARRAY_COLUMNS * sizeof *out);
        inner.finding_room = inner.finding_count = 0;
        inner.at = value[3] < c->size ? value[3] : c->size;
        (void)ggufspec_index_strings(&inner, elements, out);
        inner.at = value[3] < c->size ? value[3] : c->size;
        (void)ggufspec_index_arrays(&inner, elements, out);
        free(out);
    }
}

static void walk(const uint8_t *data, uint64_t size, uint64_t profile) {
    uint64_t findings[ROOM * GGUFSPEC_FINDING_COLUMNS], done, *rows;
    uint64_t header[GS_HEADER_COLUMNS] = {0};
    ggufspec_cursor c = {
        .data = data,
        .size = size,
        .profile = profile,
        .types = types,
        .type_count = TYPES,
        .findings = findings,
        .finding_room = ROOM,
    };
    walked++;
    if (!ggufspec_scan_records(&c, GS_HEADER, 1, header)) {
        return;
    }
    rows = walk_section(&c, GS_METADATA, header[GS_COLUMN_METADATA_COUNT], GS_METADATA_COLUMNS, &done);
    index_arrays(&c, rows, done);
    free(rows);
    if (done < header[GS_COLUMN_METADATA_COUNT]) {
        return;
    }
    rows = walk_section(&c, GS_TENSORS, header[GS_COLUMN_TENSORS_COUNT], GS_TENSORS_COLUMNS, &done);
    (void)ggufspec_scan_tiled(rows, done, 32, size);
    free(rows);
}

/* Walks a copy in memory of exactly its size. */
static void walk_copy(const uint8_t *data, uint64_t size) {
    uint8_t *copy = allocate(size);
    memcpy(copy, data, size);
    for (uint64_t profile = 0; profile < GS_PROFILES; profile++) {
        walk(copy, size, profile);
    }
    free(copy);
}

#endif
