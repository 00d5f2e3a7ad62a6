/* Scans one file, given on standard input, with the library's cursor on another machine.
 *
 * The request is uint64 profile, types and bytes, the rows of types, then the file; the answer
 * is the header's columns, the rows of metadata and of tensors, each behind their number, and
 * the findings. Everything on the wire is uint64, little-endian. */
#include "pipe.h"
#include "scan.h"
#include "scan_tables.h"

#include "container_tables.h"

enum { ROOM = 1000 };

/* The records of a section, as many as the header promises and the file can hold. */
static int section(ggufspec_cursor *c, uint64_t which, uint64_t count, uint64_t columns) {
    uint64_t room = count < c->size ? count : c->size;
    uint64_t *rows = allocate(room * columns * sizeof *rows);
    c->record = 0;
    uint64_t done = ggufspec_scan_records(c, which, room, rows);
    answer(&done, 1, sizeof done);
    answer(rows, done * columns, sizeof *rows);
    free(rows);
    return done == count;
}

int main(void) {
    ggufspec_cursor c = {0};
    uint64_t request[3];
    numbers(request, 3, sizeof *request);
    c.profile = request[0];
    c.type_count = request[1];
    c.size = request[2];
    uint64_t *types = allocate(c.type_count * GGUFSPEC_TYPE_COLUMNS * sizeof *types);
    numbers(types, c.type_count * GGUFSPEC_TYPE_COLUMNS, sizeof *types);
    uint8_t *data = allocate(c.size);
    if (fread(data, 1, c.size, stdin) != c.size) die("short file");
    uint64_t findings[ROOM * GGUFSPEC_FINDING_COLUMNS], header[GS_HEADER_COLUMNS] = {0};
    c.types = types;
    c.data = data;
    c.findings = findings;
    c.finding_room = ROOM;
    uint64_t whole = ggufspec_scan_records(&c, GS_HEADER, 1, header);
    answer(&whole, 1, sizeof whole);
    answer(header, GS_HEADER_COLUMNS, sizeof *header);
    if (whole && section(&c, GS_METADATA, header[GS_COLUMN_METADATA_COUNT], GS_METADATA_COLUMNS))
        section(&c, GS_TENSORS, header[GS_COLUMN_TENSORS_COUNT], GS_TENSORS_COLUMNS);
    answer(&c.finding_count, 1, sizeof c.finding_count);
    answer(findings, c.finding_count * GGUFSPEC_FINDING_COLUMNS, sizeof *findings);
    return 0;
}
