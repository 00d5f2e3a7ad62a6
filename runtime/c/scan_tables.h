/* Types of the tables in generated/c/container_tables.h. */
#ifndef GGUFSPEC_SCAN_TABLES_H
#define GGUFSPEC_SCAN_TABLES_H

#include <stdint.h>

enum { GS_LITERAL, GS_VERSION, GS_NUMBER, GS_STRING, GS_VALUE };      /* kinds of fields */
enum { GS_SCALAR_VALUE, GS_STRING_VALUE, GS_ARRAY_VALUE };            /* kinds of value types */
enum { GS_OFF, GS_ERROR, GS_WARNING, GS_INFO };                       /* severities */
enum { GS_MOST_PROFILES = 8 };

/* A run of entries of another table. */
typedef struct {
    uint16_t first, count;
} gs_list;

typedef struct {
    uint8_t check, unsupported;
    uint8_t severity[GS_MOST_PROFILES];
    uint64_t limit[GS_MOST_PROFILES];
} gs_rule;

typedef struct {
    uint8_t kind, bytes, column, columns;
    uint8_t repeated; /* 1 + the column that says how often the number stands here, or 0 */
    gs_list rules;
    const char *literal;
} gs_field;

typedef struct {
    uint32_t id;
    uint8_t kind, bytes, smallest;
    gs_list rules;
} gs_value_type;

typedef struct {
    uint8_t is_count, bytes;
} gs_head;

typedef struct {
    uint32_t version;
    uint8_t string_length;
    gs_head array[2];
    gs_list sections[3], value_types;
} gs_layout;

#endif
