/* The cursor: walks the records of a GGUF file that lies in memory and checks them.

   It knows bytes, bounds and buffers; fields, widths, ids, order, limits and severities come
   from generated/c/container_tables.h. It allocates nothing, never recurses, reads nothing
   beyond `size`, and computes no sum or product that could wrap. runtime/ggufspec/pyscan.py
   gives the same answers. */
#include "scan.h"

#include <string.h>

#include "scan_tables.h"

#include "container_tables.h"

#include "scan_text.h"

typedef ggufspec_cursor cursor;

const char *ggufspec_container_digest(void) { return GS_DIGEST; }

/* ---- numbers ---- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { HOST_IS_BIG = 1 };
#else
enum { HOST_IS_BIG = 0 };
#endif

static inline uint64_t load(const uint8_t *from, unsigned bytes, int big_endian) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | from[big_endian ? i : bytes - 1 - i];
    }
    return value;
}

/* Eight bytes in the host's own order. */
static inline uint64_t load_native(const uint8_t *from) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* a * b into product, unless it is above most. */
static int multiply(uint64_t a, uint64_t b, uint64_t most, uint64_t *product) {
    if (a != 0 && b > most / a) {
        return 0;
    }
    *product = a * b;
    return 1;
}

static int add(uint64_t a, uint64_t b, uint64_t most, uint64_t *sum) {
    if (a > most || b > most - a) {
        return 0;
    }
    *sum = a + b;
    return 1;
}

/* ---- findings ---- */

static int severity(const cursor *c, unsigned rule) { return gs_rules[rule].severity[c->profile]; }

static uint64_t limit(const cursor *c, unsigned rule) { return gs_rules[rule].limit[c->profile]; }

static void report_at(cursor *c, unsigned rule, uint64_t offset, uint64_t first, uint64_t second) {
    int grave = severity(c, rule);
    if (grave == GS_OFF) {
        return;
    }
    if (c->finding_count == c->finding_room) {
        c->left_out[gs_rules[rule].unsupported ? 2 : grave == GS_ERROR ? 0 : 1]++;
        return;
    }
    uint64_t *row = c->findings + GGUFSPEC_FINDING_COLUMNS * c->finding_count++;
    row[0] = rule;
    row[1] = c->section;
    row[2] = c->record;
    row[3] = c->field;
    row[4] = offset;
    row[5] = first;
    row[6] = second;
}

/* Whether `bytes` more can be read; what needs them began at `offset`. */
static int fits(cursor *c, uint64_t offset, uint64_t bytes) {
    uint64_t left = c->size - c->at;
    if (bytes <= left) {
        return 1;
    }
    report_at(c, GS_RULE_FITS, offset, bytes, left);
    return 0;
}

static int breaks(unsigned check, uint64_t value, uint64_t bound) {
    return check == GS_CHECK_AT_MOST    ? value > bound
           : check == GS_CHECK_AT_LEAST ? value < bound
                                        : 0;
}

static void check_number(cursor *c, gs_list rules, uint64_t offset, uint64_t value) {
    for (unsigned i = 0; i < rules.count; i++) {
        unsigned rule = gs_rule_numbers[rules.first + i];
        if (severity(c, rule) && breaks(gs_rules[rule].check, value, limit(c, rule))) {
            report_at(c, rule, offset, value, limit(c, rule));
        }
    }
}

static void check_text(cursor *c, gs_list rules, uint64_t offset, const uint8_t *text,
                       uint64_t length) {
    check_number(c, rules, offset, length);
    for (unsigned i = 0; i < rules.count; i++) {
        unsigned rule = gs_rule_numbers[rules.first + i];
        int broken = 0;
        if (!severity(c, rule)) {
            continue;
        }
        switch (gs_rules[rule].check) {
        case GS_CHECK_UTF8:
            broken = !ggufspec_utf8_valid(text, length);
            break;
        case GS_CHECK_PRINTABLE:
            broken = !gs_printable(text, length, gs_forbidden, GS_FORBIDDEN);
            break;
        case GS_CHECK_DOTTED:
            broken = length && !gs_dotted(text, length, gs_key_class);
            break;
        }
        if (broken) {
            report_at(c, rule, offset, 1, 0);
        }
    }
}

/* The first of `count` scalars at `offset` that breaks a rule; one finding a rule. */
static void check_scalars(cursor *c, const gs_value_type *type, uint64_t offset, uint64_t count) {
    for (unsigned i = 0; i < type->rules.count; i++) {
        unsigned rule = gs_rule_numbers[type->rules.first + i];
        if (!severity(c, rule)) {
            continue;
        }
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = offset + k * type->bytes;
            uint64_t value = load(c->data + at, type->bytes, (int)c->big_endian);
            if (breaks(gs_rules[rule].check, value, limit(c, rule))) {
                report_at(c, rule, at, value, limit(c, rule));
                break;
            }
        }
    }
}

/* ---- values ---- */

static int read_number(cursor *c, unsigned bytes, uint64_t *value) {
    if (!fits(c, c->at, bytes)) {
        return 0;
    }
    *value = load(c->data + c->at, bytes, (int)c->big_endian);
    c->at += bytes;
    return 1;
}

static const gs_value_type *find_value_type(const cursor *c, uint64_t id) {
    gs_list types = gs_layouts[c->layout].value_types;
    for (unsigned i = 0; i < types.count; i++) {
        if (gs_value_types[types.first + i].id == id) {
            return &gs_value_types[types.first + i];
        }
    }
    return NULL;
}

static const gs_value_type *known_value_type(cursor *c, uint64_t offset, uint64_t id) {
    const gs_value_type *type = find_value_type(c, id);
    if (!type) {
        report_at(c, GS_RULE_KNOWN_VALUE, offset, id, 0);
    }
    return type;
}

/* What is wrong with the text of an array's strings, for one finding. */
typedef struct {
    uint64_t first, count;
} bad_strings;

/* Tests, one by one, the strings whose lengths stand between two offsets. */
static void find_bad_strings(const cursor *c, uint64_t from, uint64_t to, bad_strings *bad) {
    unsigned bytes = gs_layouts[c->layout].string_length;
    while (from < to) {
        uint64_t length = load(c->data + from, bytes, (int)c->big_endian);
        if (!ggufspec_utf8_valid(c->data + from + bytes, length)) {
            bad->first = bad->count ? bad->first : from;
            bad->count++;
        }
        from += bytes + length;
    }
}

/* Tests the strings between two offsets as one text. A length below 128 is ASCII itself, so
   it ends a character that the string before it left unfinished; walk_strings sees to it
   that only the first length is longer. */
static void check_strings(const cursor *c, uint64_t from, uint64_t to, bad_strings *bad) {
    uint64_t text = from + gs_layouts[c->layout].string_length;
    if (from < to && !ggufspec_utf8_valid(c->data + text, to - text)) {
        find_bad_strings(c, from, to, bad);
    }
}

enum { TEXT_AT_ONCE = 1 << 15 };

#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline int
walk_strings_of(cursor *c, gs_list rules, uint64_t count, unsigned bytes, int native,
                uint64_t least, uint64_t most, int utf8, bad_strings *bad) {
    const uint8_t *data = c->data;
    uint64_t size = c->size, at = c->at, text_from = at;
    for (uint64_t i = 0; i < count; i++) {
        if (size - at < bytes) {
            report_at(c, GS_RULE_FITS, at, bytes, size - at);
            return 0;
        }
        uint64_t length = native ? load_native(data + at) : load(data + at, bytes, (int)c->big_endian);
        if (length > size - at - bytes) {
            report_at(c, GS_RULE_FITS, at, length, size - at - bytes);
            return 0;
        }
        if (length < least || length > most) {
            check_number(c, rules, at, length);
        }
        if (utf8 && (length >= 128 || at - text_from >= TEXT_AT_ONCE)) {
            check_strings(c, text_from, at, bad);
            text_from = at;
        }
        at += bytes + length;
    }
    if (utf8) {
        check_strings(c, text_from, at, bad);
    }
    c->at = at;
    return 1;
}

static int walk_strings(cursor *c, const gs_value_type *type, uint64_t count) {
    unsigned bytes = gs_layouts[c->layout].string_length;
    uint64_t least = 0, most = UINT64_MAX;
    unsigned utf8 = 0;
    bad_strings bad = {0, 0};
    for (unsigned i = 0; i < type->rules.count; i++) {
        unsigned rule = gs_rule_numbers[type->rules.first + i];
        uint64_t bound = limit(c, rule);
        if (!severity(c, rule)) {
            continue;
        }
        switch (gs_rules[rule].check) {
        case GS_CHECK_AT_LEAST:
            least = bound > least ? bound : least;
            break;
        case GS_CHECK_AT_MOST:
            most = bound < most ? bound : most;
            break;
        case GS_CHECK_UTF8:
            utf8 = 1 + rule;
            break;
        }
    }
    int native = bytes == 8 && c->big_endian == HOST_IS_BIG;
    int whole = native && !utf8
                    ? walk_strings_of(c, type->rules, count, 8, 1, least, most, 0, &bad)
                : native ? walk_strings_of(c, type->rules, count, 8, 1, least, most, 1, &bad)
                         : walk_strings_of(c, type->rules, count, bytes, 0, least, most, utf8 != 0, &bad);
    if (whole && bad.count) {
        report_at(c, utf8 - 1, bad.first, bad.count, 0);
    }
    return whole;
}

static int walk_scalars(cursor *c, const gs_value_type *type, uint64_t count) {
    uint64_t start = c->at, bytes;
    if (!multiply(count, type->bytes, UINT64_MAX, &bytes) || !fits(c, start, bytes)) {
        return 0;
    }
    c->at += bytes;
    check_scalars(c, type, start, count);
    return 1;
}

static int walk_elements(cursor *c, const gs_value_type *type, uint64_t count) {
    return type->kind == GS_STRING_VALUE ? walk_strings(c, type, count)
                                         : walk_scalars(c, type, count);
}

/* The numbers in front of an array's elements. */
static const gs_value_type *read_array_head(cursor *c, uint64_t *count) {
    const gs_head *heads = gs_layouts[c->layout].array;
    uint64_t id = 0, id_at = 0, count_at = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = c->at;
        if (!read_number(c, heads[i].bytes, heads[i].is_count ? count : &id)) {
            return NULL;
        }
        *(heads[i].is_count ? &count_at : &id_at) = at;
    }
    const gs_value_type *type = known_value_type(c, id_at, id);
    if (!type) {
        return NULL;
    }
    check_number(c, gs_count_rules, count_at, *count);
    uint64_t room = (c->size - c->at) / type->smallest;
    if (*count > room) {
        report_at(c, GS_RULE_COUNT_FITS, count_at, *count, room);
        return NULL;
    }
    return type;
}

/* A rule about depth fires at the first array that is too deep. */
static void check_depth(cursor *c, uint64_t offset, uint64_t depth) {
    for (unsigned i = 0; i < gs_depth_rules.count; i++) {
        unsigned rule = gs_rule_numbers[gs_depth_rules.first + i];
        if (severity(c, rule) && depth == limit(c, rule) + 1) {
            report_at(c, rule, offset, depth, limit(c, rule));
        }
    }
}

/* One array with all that is in it; row: element type, count, first byte, end. */
static int walk_array(cursor *c, uint64_t *row) {
    uint64_t left[GS_DEEPEST]; /* inner arrays still to come, for each level */
    uint64_t depth = 0, deepest = 0, count = 0, start = c->at;
    const gs_value_type *type = read_array_head(c, &count);
    if (!type) {
        return 0;
    }
    row[0] = type->id;
    row[1] = count;
    row[2] = c->at;
    for (;;) {
        if (type->kind != GS_ARRAY_VALUE) {
            if (!walk_elements(c, type, count)) {
                return 0;
            }
        } else {
            if (depth == deepest) {
                check_depth(c, start, ++deepest);
            }
            if (depth == GS_DEEPEST) {
                return 0;
            }
            left[depth++] = count;
        }
        while (depth && left[depth - 1] == 0) {
            depth--;
        }
        if (!depth) {
            row[3] = c->at;
            return 1;
        }
        left[depth - 1]--;
        start = c->at;
        type = read_array_head(c, &count);
        if (!type) {
            return 0;
        }
    }
}

/* ---- fields: 1, or 0 when nothing behind them can be found ---- */

static int read_literal(cursor *c, const gs_field *field) {
    if (!fits(c, c->at, field->bytes)) {
        return 0;
    }
    if (memcmp(c->data + c->at, field->literal, field->bytes) != 0) {
        report_at(c, GS_RULE_LITERAL, c->at, 0, 0);
        return 0;
    }
    c->at += field->bytes;
    return 1;
}

/* The version, which also tells the byte order: in the file's own it is a small number. */
static int read_version(cursor *c, const gs_field *field, uint64_t *row) {
    uint64_t start = c->at;
    if (!fits(c, start, field->bytes)) {
        return 0;
    }
    uint64_t little = load(c->data + start, field->bytes, 0);
    uint64_t big = load(c->data + start, field->bytes, 1);
    c->big_endian = little >= GS_VERSION_BELOW && big < GS_VERSION_BELOW;
    c->at += field->bytes;
    row[field->column] = c->big_endian ? big : little;
    for (c->layout = 0; c->layout < GS_VERSIONS; c->layout++) {
        if (gs_layouts[c->layout].version == row[field->column]) {
            break;
        }
    }
    if (c->layout == GS_VERSIONS) {
        c->layout = 0;
        report_at(c, GS_RULE_KNOWN_VERSION, start, row[field->column], 0);
        return 0;
    }
    if (c->big_endian) {
        report_at(c, GS_RULE_LITTLE_ENDIAN, start, 0, 0);
    }
    check_number(c, field->rules, start, row[field->column]);
    return 1;
}

static int read_numbers(cursor *c, const gs_field *field, uint64_t *row) {
    uint64_t times = field->repeated ? row[field->repeated - 1] : 1;
    if (times > field->columns) {
        return 0; /* a rule of the repeating field has said so */
    }
    for (uint64_t i = 0; i < times; i++) {
        uint64_t *value = row + field->column + i;
        uint64_t start = c->at;
        if (!read_number(c, field->bytes, value)) {
            return 0;
        }
        check_number(c, field->rules, start, *value);
    }
    for (uint64_t i = times; i < field->columns; i++) {
        row[field->column + i] = 1;
    }
    return 1;
}

static int read_string(cursor *c, const gs_field *field, uint64_t *row) {
    uint64_t start = c->at, length;
    if (!read_number(c, field->bytes, &length) || !fits(c, start, length)) {
        return 0;
    }
    row[field->column] = c->at;
    row[field->column + 1] = length;
    check_text(c, field->rules, start, c->data + c->at, length);
    c->at += length;
    return 1;
}

static int read_value(cursor *c, const gs_field *field, uint64_t *row) {
    uint64_t start = c->at, id;
    if (!read_number(c, field->bytes, &id)) {
        return 0;
    }
    const gs_value_type *type = known_value_type(c, start, id);
    if (!type) {
        return 0;
    }
    uint64_t *value = row + field->column; /* type, element type, count, first byte, end */
    value[0] = id;
    if (type->kind == GS_ARRAY_VALUE) {
        return walk_array(c, value + 1);
    }
    value[1] = id;
    value[2] = 1;
    value[3] = c->at + (type->kind == GS_STRING_VALUE ? gs_layouts[c->layout].string_length : 0);
    if (!walk_elements(c, type, 1)) {
        return 0;
    }
    value[4] = c->at;
    return 1;
}

static int read_field(cursor *c, const gs_field *field, uint64_t *row) {
    switch (field->kind) {
    case GS_LITERAL:
        return read_literal(c, field);
    case GS_VERSION:
        return read_version(c, field, row);
    case GS_NUMBER:
        return read_numbers(c, field, row);
    case GS_STRING:
        return read_string(c, field, row);
    default:
        return read_value(c, field, row);
    }
}

/* ---- tensors ---- */

static const uint64_t *find_type(const cursor *c, uint64_t id) {
    uint64_t low = 0, high = c->type_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint64_t *row = c->types + middle * GGUFSPEC_TYPE_COLUMNS;
        if (row[0] == id) {
            return row;
        }
        *(row[0] < id ? &low : &high) = row[0] < id ? middle + 1 : middle;
    }
    return NULL;
}

/* The product of the dimensions but zero, which hides no overflow of the others; 0 when it is
   out of range. The test is the one that ggml asserts, a little stricter than the product. */
static uint64_t count_elements(const uint64_t *dims, uint64_t most) {
    uint64_t elements = dims[0] ? dims[0] : 1;
    if (elements > most) {
        return 0;
    }
    for (unsigned i = 1; i < GS_MOST_DIMS; i++) {
        if (dims[i] > 1) {
            if (most / dims[i] <= elements) {
                return 0;
            }
            elements *= dims[i];
        }
    }
    return elements;
}

static void dimension_range(const uint64_t *dims, uint64_t *smallest, uint64_t *largest) {
    *smallest = *largest = dims[0];
    for (unsigned i = 1; i < GS_MOST_DIMS; i++) {
        *smallest = dims[i] < *smallest ? dims[i] : *smallest;
        *largest = dims[i] > *largest ? dims[i] : *largest;
    }
}

/* Bytes of a tensor of `elements` in rows of `row`, unless they are above `most`. */
static int count_bytes(const uint64_t *type, uint64_t row, uint64_t elements, uint64_t most,
                       uint64_t *bytes) {
    return multiply(row / type[1], type[2], most, bytes) && add(*bytes, type[3], most, bytes) &&
           multiply(*bytes, elements / row, most, bytes) && add(*bytes, type[4], most, bytes);
}

/* Reports about the tensor field that a column belongs to. */
static void report_tensor(cursor *c, unsigned rule, const uint64_t *places, unsigned column,
                          uint64_t first, uint64_t second) {
    gs_list fields = gs_layouts[c->layout].sections[GS_TENSORS];
    c->field = 0;
    while (gs_fields[fields.first + c->field].column != column) {
        c->field++;
    }
    report_at(c, rule, places[c->field], first, second);
}

static void size_tensor(cursor *c, const uint64_t *places, uint64_t *row) {
    const uint64_t *dims = row + GS_COLUMN_DIMS;
    uint64_t *bytes = row + GS_COLUMN_NBYTES;
    uint64_t most = limit(c, GS_RULE_ELEMENTS);
    uint64_t elements = count_elements(dims, most), smallest, largest;
    *bytes = UINT64_MAX;
    dimension_range(dims, &smallest, &largest);
    if (!elements && largest <= most) { /* a larger dimension has a rule of its own */
        report_tensor(c, GS_RULE_ELEMENTS, places, GS_COLUMN_DIMS, 0, most);
    }
    const uint64_t *type = find_type(c, row[GS_COLUMN_TYPE]);
    if (!type || !type[1]) {
        unsigned rule = type ? GS_RULE_LIVE_TYPE : GS_RULE_KNOWN_TYPE;
        report_tensor(c, rule, places, GS_COLUMN_TYPE, row[GS_COLUMN_TYPE], 0);
        return;
    }
    if (dims[0] % type[1]) {
        report_tensor(c, GS_RULE_WHOLE_ROWS, places, GS_COLUMN_DIMS, dims[0], type[1]);
        return;
    }
    if (!elements) {
        return;
    }
    if (smallest == 0) {
        *bytes = 0;
        return;
    }
    most = limit(c, GS_RULE_BYTES);
    if (!count_bytes(type, dims[0], elements, most, bytes)) {
        *bytes = UINT64_MAX;
        report_tensor(c, GS_RULE_BYTES, places, GS_COLUMN_DIMS, 0, most);
    }
}

/* ---- entry points ---- */

uint64_t ggufspec_scan_records(cursor *c, uint64_t section, uint64_t count, uint64_t *rows) {
    static const unsigned columns[] = {GS_HEADER_COLUMNS, GS_METADATA_COLUMNS, GS_TENSORS_COLUMNS};
    uint64_t places[GS_FIELDS];
    c->section = section;
    for (uint64_t done = 0; done < count; done++, c->record++) {
        uint64_t *row = rows + done * columns[section];
        row[0] = c->at;
        /* the header's version decides about the fields behind it */
        for (c->field = 0; c->field < gs_layouts[c->layout].sections[section].count; c->field++) {
            unsigned first = gs_layouts[c->layout].sections[section].first;
            places[c->field] = c->at;
            if (!read_field(c, &gs_fields[first + c->field], row)) {
                return done;
            }
        }
        if (section == GS_TENSORS) {
            size_tensor(c, places, row);
        }
    }
    return count;
}

uint64_t ggufspec_scan_tiled(const uint64_t *rows, uint64_t count, uint64_t alignment,
                             uint64_t room) {
    uint64_t expected = 0, end;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *row = rows + i * GS_TENSORS_COLUMNS;
        if (row[GS_COLUMN_OFFSET] != expected || !add(expected, row[GS_COLUMN_NBYTES], room, &end)) {
            return i;
        }
        uint64_t over = end % alignment;
        if (!add(end, over ? alignment - over : 0, UINT64_MAX, &expected)) {
            return i;
        }
    }
    return count;
}

int ggufspec_index_strings(cursor *c, uint64_t count, uint64_t *offsets) {
    unsigned bytes = gs_layouts[c->layout].string_length;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length;
        if (c->size - c->at < bytes) {
            return 0;
        }
        length = load(c->data + c->at, bytes, (int)c->big_endian);
        c->at += bytes;
        if (length > c->size - c->at) {
            return 0;
        }
        offsets[i] = c->at;
        c->at += length;
    }
    offsets[count] = c->at + bytes;
    return 1;
}

int ggufspec_index_arrays(cursor *c, uint64_t count, uint64_t *rows) {
    for (uint64_t i = 0; i < count; i++) {
        if (!walk_array(c, rows + i * GGUFSPEC_ARRAY_COLUMNS)) {
            return 0;
        }
    }
    return 1;
}
