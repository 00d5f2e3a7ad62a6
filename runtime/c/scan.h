/* Walks the records of a GGUF file that lies in memory; see scan.c. */
#ifndef GGUFSPEC_SCAN_H
#define GGUFSPEC_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum { GGUFSPEC_FINDING_COLUMNS = 7, GGUFSPEC_TYPE_COLUMNS = 5, GGUFSPEC_ARRAY_COLUMNS = 4 };

/* Where the walk is and what it found. runtime/ggufspec/cscan.py has the same structure. */
typedef struct {
    const uint8_t *data;
    uint64_t size;
    uint64_t at;         /* the next byte to read */
    uint64_t layout;     /* row of the table of versions; set by the header */
    uint64_t big_endian; /* set by the header */
    uint64_t profile;
    const uint64_t *types; /* rows by rising id: id, elements (0: removed), bytes, row prefix, suffix */
    uint64_t type_count;
    uint64_t *findings; /* rows: rule, section, record, field, offset, first, second */
    uint64_t finding_room, finding_count;
    uint64_t left_out[3];             /* beyond the room: errors, others, of unsupported things */
    uint64_t section, record, field; /* what is being read */
} ggufspec_cursor;

/* Which tables the cursor was compiled with. */
const char *ggufspec_container_digest(void);

/* Reads up to `count` records of a section into rows; returns how many it could read. */
uint64_t ggufspec_scan_records(ggufspec_cursor *cursor, uint64_t section, uint64_t count,
                               uint64_t *rows);

/* How many tensors, from the first, lie without gaps, in order and within `room` bytes. */
uint64_t ggufspec_scan_tiled(const uint64_t *rows, uint64_t count, uint64_t alignment,
                             uint64_t room);

/* Offsets of the strings at `cursor->at`: `count` starts, then the end plus a length's bytes.
   Returns 1, or 0 when they do not fit into the file. */
int ggufspec_index_strings(ggufspec_cursor *cursor, uint64_t count, uint64_t *offsets);

/* The arrays at `cursor->at`, rows of element type, count, first byte, end. 1 or 0 as above. */
int ggufspec_index_arrays(ggufspec_cursor *cursor, uint64_t count, uint64_t *rows);

/* 1 if the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
int ggufspec_utf8_valid(const uint8_t *text, uint64_t length);

#endif
