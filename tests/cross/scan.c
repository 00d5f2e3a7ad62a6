/* Scans one file, given on standard input, with the library's cursor on another machine.
 *
 * The request is uint64 profile, types and bytes, the rows of types, then the file; the answer
 * is the header's columns, the rows of metadata and of tensors, each behind their number, and
 * the findings. Everything on the wire is uint64, little-endian. */
#include <stdio.h>
#include <stdlib.h>

#include "scan.h"
#include "scan_tables.h"

#include "container_tables.h"

enum { ROOM = 1000 };

static void die(const char *what) {
    fprintf(stderr, "scan: %s\n", what);
    exit(1);
}

static void *allocate(uint64_t size) {
    void *bytes = calloc(size ? size : 1, 1);
    if (bytes == NULL) die("out of memory");
    return bytes;
}

static uint64_t number(void) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        int byte = getchar();
        if (byte == EOF) die("short request");
        value |= (uint64_t)byte << 8 * i;
    }
    return value;
}

static void answer(const uint64_t *numbers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        for (int j = 0; j < 8; j++) putchar((int)(numbers[i] >> 8 * j & 0xff));
}

/* The records of a section, as many as the header promises and the file can hold. */
static int section(ggufspec_cursor *c, uint64_t which, uint64_t count, uint64_t columns) {
    uint64_t room = count < c->size ? count : c->size;
    uint64_t *rows = allocate(room * columns * sizeof *rows);
    c->record = 0;
    uint64_t done = ggufspec_scan_records(c, which, room, rows);
    answer(&done, 1);
    answer(rows, done * columns);
    free(rows);
    return done == count;
}

int main(void) {
    ggufspec_cursor c = {0};
    c.profile = number();
    c.type_count = number();
    c.size = number();
    uint64_t *types = allocate(c.type_count * GGUFSPEC_TYPE_COLUMNS * sizeof *types);
    for (uint64_t i = 0; i < c.type_count * GGUFSPEC_TYPE_COLUMNS; i++) types[i] = number();
    uint8_t *data = allocate(c.size);
    if (fread(data, 1, c.size, stdin) != c.size) die("short file");
    uint64_t findings[ROOM * GGUFSPEC_FINDING_COLUMNS], header[GS_HEADER_COLUMNS] = {0};
    c.types = types;
    c.data = data;
    c.findings = findings;
    c.finding_room = ROOM;
    uint64_t whole = ggufspec_scan_records(&c, GS_HEADER, 1, header);
    answer(&whole, 1);
    answer(header, GS_HEADER_COLUMNS);
    if (whole && section(&c, GS_METADATA, header[GS_COLUMN_METADATA_COUNT], GS_METADATA_COLUMNS))
        section(&c, GS_TENSORS, header[GS_COLUMN_TENSORS_COUNT], GS_TENSORS_COLUMNS);
    answer(&c.finding_count, 1);
    answer(findings, c.finding_count * GGUFSPEC_FINDING_COLUMNS);
    return 0;
}
