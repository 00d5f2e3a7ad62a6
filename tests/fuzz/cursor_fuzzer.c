/* libFuzzer's entry to the cursor in C, with a mutator that knows what a file is made of.
 *
 * The mutator follows the file by the cursor's own tables, takes one number of it (a count, a
 * length, a tag, ...) and writes one of those that the specification says are worth it
 * (generated/fuzz/numbers.h), or gives a key another name, or puts arrays around a value. */
#include <stdint.h>

#include "walk.h"

#include "numbers.h"

enum { MOST_SPOTS = 256, SMALL = 0xFFFF };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    walk_copy(data, size);
    return 0;
}

/* ---- what a file is made of ---- */

typedef struct {
    gs_list numbers;
    size_t at;
    unsigned bytes;
    int is_text, is_tag; /* of a key or tensor; of a value */
} spot;

typedef struct {
    const uint8_t *data;
    size_t size, at, count;
    int big;
    const gs_layout *layout;
    spot spots[MOST_SPOTS];
} outline;

static uint64_t load_at(const uint8_t *data, unsigned bytes, int big) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | data[big ? i : bytes - 1 - i];
    }
    return value;
}

static void store_at(uint8_t *data, unsigned bytes, int big, uint64_t value) {
    for (unsigned i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(value >> 8 * (big ? bytes - 1 - i : i));
    }
}

/* Notes the number at hand and steps over it; 0 where the file or the room ends. */
static int take(outline *o, gs_list numbers, unsigned bytes, uint64_t *value) {
    if (o->size - o->at < bytes || o->count == MOST_SPOTS) {
        return 0;
    }
    *value = load_at(o->data + o->at, bytes, o->big);
    o->spots[o->count++] = (spot){.numbers = numbers, .at = o->at, .bytes = bytes};
    o->at += bytes;
    return 1;
}

static int skip(outline *o, uint64_t bytes) {
    if (o->size - o->at < bytes) {
        return 0;
    }
    o->at += bytes;
    return 1;
}

/* A value; of arrays in arrays only the first of each, which is enough to damage. */
static int take_value(outline *o, uint64_t id, int is_alignment) {
    const gs_list kinds = o->layout->value_types;
    for (int depth = 0; depth < MOST_SPOTS; depth++) {
        const gs_value_type *kind = gs_value_types + kinds.first;
        uint64_t length, count = 0;
        while (kind < gs_value_types + kinds.first + kinds.count && kind->id != id) {
            kind++;
        }
        if (kind == gs_value_types + kinds.first + kinds.count) {
            return 0;
        }
        if (kind->kind == GS_STRING_VALUE) {
            return take(o, gs_fuzz_string_length, o->layout->string_length, &length) &&
                   skip(o, length);
        }
        if (kind->kind == GS_SCALAR_VALUE) {
            return is_alignment ? take(o, gs_fuzz_alignment, kind->bytes, &length)
                                : skip(o, kind->bytes);
        }
        for (int i = 0; i < 2; i++) {
            const gs_head head = o->layout->array[i];
            if (!take(o, head.is_count ? gs_fuzz_array_count : gs_fuzz_array_element_type,
                      head.bytes, head.is_count ? &count : &id)) {
                return 0;
            }
        }
        if (!count) {
            return 1;
        }
        for (; count > 1; count--) { /* all but one element, as long as they are flat */
            kind = gs_value_types + kinds.first;
            while (kind < gs_value_types + kinds.first + kinds.count && kind->id != id) {
                kind++;
            }
            if (kind == gs_value_types + kinds.first + kinds.count ||
                kind->kind == GS_ARRAY_VALUE) {
                break;
            }
            if (kind->kind == GS_STRING_VALUE) {
                if (!take(o, gs_fuzz_string_length, o->layout->string_length, &length) ||
                    !skip(o, length)) {
                    return 0;
                }
            } else if (!skip(o, kind->bytes)) {
                return 0;
            }
        }
    }
    return 0;
}

static int take_record(outline *o, int section, uint64_t *columns) {
    const gs_list fields = o->layout->sections[section];
    int is_alignment = 0;
    for (unsigned i = fields.first; i < fields.first + (unsigned)fields.count; i++) {
        const gs_field *field = &gs_fields[i];
        const gs_list numbers = gs_fuzz_fields[i];
        uint64_t value = 0, times = field->repeated ? columns[field->repeated - 1] : 1;
        if (field->kind == GS_LITERAL) {
            if (!skip(o, field->bytes)) {
                return 0;
            }
            continue;
        }
        for (uint64_t n = 0; n < times && n < field->columns + (uint64_t)!field->repeated; n++) {
            if (!take(o, numbers, field->bytes, &value)) {
                return 0;
            }
        }
        columns[field->column] = value;
        if (field->kind == GS_STRING) {
            o->spots[o->count - 1].is_text = 1;
            is_alignment = value == gs_fuzz_names[GS_FUZZ_ALIGNMENT].length && o->size - o->at >= value &&
                           memcmp(o->data + o->at, gs_fuzz_names[GS_FUZZ_ALIGNMENT].text, value) == 0;
            if (!skip(o, value)) {
                return 0;
            }
        } else if (field->kind == GS_VALUE) {
            o->spots[o->count - 1].is_tag = 1;
            if (!take_value(o, value, is_alignment)) {
                return 0;
            }
        }
    }
    return 1;
}

static void follow(outline *o, const uint8_t *data, size_t size) {
    static const int sections[] = {GS_HEADER, GS_METADATA, GS_TENSORS};
    static const unsigned counted[] = {0, GS_COLUMN_METADATA_COUNT, GS_COLUMN_TENSORS_COUNT};
    uint64_t header[64] = {0}, columns[64];
    *o = (outline){.data = data, .size = size, .layout = &gs_layouts[GS_VERSIONS - 1]};
    if (size >= 8) {
        uint64_t version = load_at(data + 4, 4, 0);
        o->big = version >= GS_VERSION_BELOW;
        version = load_at(data + 4, 4, o->big);
        for (int i = 0; i < GS_VERSIONS; i++) {
            o->layout = gs_layouts[i].version == version ? &gs_layouts[i] : o->layout;
        }
    }
    for (int i = 0; i < 3; i++) {
        for (uint64_t n = i ? header[counted[i]] : 1; n; n--) {
            memset(columns, 0, sizeof columns);
            if (!take_record(o, sections[i], i ? columns : header)) {
                return;
            }
        }
    }
}

/* ---- damage ---- */

static unsigned state;

static unsigned next(unsigned below) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

/* Puts `text` in place of the `old` bytes at `at`; 0 where there is no room. */
static size_t replace(uint8_t *data, size_t size, size_t most, size_t at, size_t old,
                      const void *text, size_t length) {
    if (at + old > size || size - old + length > most) {
        return 0;
    }
    memmove(data + at + length, data + at + old, size - at - old);
    memcpy(data + at, text, length);
    return size - old + length;
}

static size_t rename_at(uint8_t *data, size_t size, size_t most, const outline *o, const spot *s) {
    const unsigned n = next(sizeof gs_fuzz_names / sizeof *gs_fuzz_names);
    const uint64_t old = load_at(data + s->at, s->bytes, o->big);
    if (old > SMALL) {
        return 0;
    }
    const size_t length = gs_fuzz_names[n].length;
    const size_t now =
        replace(data, size, most, s->at + s->bytes, old, gs_fuzz_names[n].text, length);
    if (now) {
        store_at(data + s->at, s->bytes, o->big, length);
    }
    return now;
}

/* Arrays of one array around the value behind a tag. */
static size_t nest_at(uint8_t *data, size_t size, size_t most, const outline *o, const spot *s) {
    uint8_t heads[4096];
    uint64_t inner = load_at(data + s->at, s->bytes, o->big), array = 0;
    const gs_head *head = o->layout->array;
    const size_t one = (size_t)head[0].bytes + head[1].bytes;
    size_t depth = gs_fuzz_depths[next(sizeof gs_fuzz_depths / sizeof *gs_fuzz_depths)];
    for (unsigned i = 0; i < o->layout->value_types.count; i++) {
        const gs_value_type *kind = &gs_value_types[o->layout->value_types.first + i];
        array = kind->kind == GS_ARRAY_VALUE ? kind->id : array;
    }
    if (depth * one > sizeof heads) {
        depth = sizeof heads / one;
    }
    uint8_t *at = heads;
    for (size_t n = 0; n < depth; n++) {
        for (int i = 0; i < 2; i++) {
            const uint64_t element = n + 1 < depth ? array : inner;
            store_at(at, head[i].bytes, o->big, head[i].is_count ? 1 : element);
            at += head[i].bytes;
        }
    }
    const size_t now = replace(data, size, most, s->at + s->bytes, 0, heads, depth * one);
    if (now) {
        store_at(data + s->at, s->bytes, o->big, array);
    }
    return now;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static outline o;
    state = seed | 1;
    next(2);
    if (next(4) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    follow(&o, data, size);
    if (!o.count) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    const spot *s = &o.spots[next((unsigned)o.count)];
    size_t now = 0;
    if (s->is_text && next(2)) {
        now = rename_at(data, size, max_size, &o, s);
    } else if (s->is_tag && next(2)) {
        now = nest_at(data, size, max_size, &o, s);
    }
    if (!now) {
        const uint64_t value = load_at(data + s->at, s->bytes, o.big);
        const unsigned pick = next(s->numbers.count + 2u);
        store_at(data + s->at, s->bytes, o.big,
                 pick == 0   ? value + 1
                 : pick == 1 ? value - 1
                             : gs_fuzz_numbers[s->numbers.first + pick - 2]);
        now = size;
    }
    return now;
}
