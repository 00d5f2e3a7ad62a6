/* Answers requests of the conformance runner, a line each, with the generated header; C99 and C++17.
 *
 *     cc -std=c99 -O2 -I generated/header tests/languages/c/conformance.c -o conformance */
#define GGUFSPEC_IMPLEMENTATION
#include "ggufspec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_FIELDS = 8, MOST_ARRAYS = 64, MOST_DEPTH = 32 };

/* ---- memory */

static void *take(size_t size) {
    void *p = malloc(size ? size : 1);
    if (p == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return p;
}

typedef struct {
    uint8_t *data;
    uint64_t size;
} bytes;

static int read_file(const char *path, bytes *out) {
    FILE *file = fopen(path, "rb");
    long size;
    if (file == NULL) {
        return -1;
    }
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    fseek(file, 0, SEEK_SET);
    out->size = size < 0 ? 0 : (uint64_t)size;
    out->data = (uint8_t *)take((size_t)out->size);
    if (fread(out->data, 1, (size_t)out->size, file) != out->size) {
        out->size = 0;
    }
    fclose(file);
    return 0;
}

/* ---- hexadecimal */

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

static bytes from_hex(const char *text) {
    bytes out;
    out.size = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
    out.data = (uint8_t *)take((size_t)out.size);
    for (uint64_t i = 0; i < out.size; i++) {
        out.data[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    }
    return out;
}

static void print_hex(const void *data, uint64_t size) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = (const uint8_t *)data;
    char piece[4096];
    size_t used = 0;
    for (uint64_t i = 0; i < size; i++) {
        piece[used++] = digits[from[i] >> 4];
        piece[used++] = digits[from[i] & 15];
        if (used == sizeof piece || i + 1 == size) {
            fwrite(piece, 1, used, stdout);
            used = 0;
        }
    }
}

static void print_floats(float *values, uint64_t count) {
    fputs("f32\t", stdout);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        uint8_t little[4];
        memcpy(&bits, &values[i], sizeof bits);
        for (int k = 0; k < 4; k++) {
            little[k] = (uint8_t)(bits >> 8 * k);
        }
        memcpy(&values[i], little, sizeof little);
    }
    print_hex(values, count * sizeof *values);
    putchar('\n');
}

static void print_error(const ggufspec_error *error) {
    if (!*error->code) {
        printf("fail\t%s\n", error->message);
    } else if (error->offset == GGUFSPEC_NO_OFFSET) {
        printf("error\t%s\t-\n", error->code);
    } else {
        printf("error\t%s\t%" PRIu64 "\n", error->code, error->offset);
    }
}

/* ---- files */

typedef struct {
    bytes content;
    void *workspace;
    ggufspec_file file;
} opened;

static void close_file(opened *o) {
    free(o->content.data);
    free(o->workspace);
}

/* 0, or -1 after the answer was given. */
static int open_file(const char *profile, const char *path, opened *o) {
    ggufspec_error error;
    size_t need;
    if (ggufspec_profile(profile) < 0) {
        printf("fail\tno profile %s\n", profile);
        return -1;
    }
    if (read_file(path, &o->content)) {
        printf("fail\tcannot read %s\n", path);
        return -1;
    }
    need = ggufspec_workspace(o->content.data, o->content.size);
    o->workspace = take(need);
    if (ggufspec_open(&o->file, o->content.data, o->content.size, ggufspec_profile(profile),
                      o->workspace, need, &error)) {
        print_error(&error);
        close_file(o);
        return -1;
    }
    return 0;
}

static void print_scalar(const ggufspec_value *v) {
    uint64_t natural = 0;
    int64_t integer = 0;
    double number = 0;
    ggufspec_text text;
    int truth;
    switch (ggufspec_value_type_kind(v->type)) {
    case 's':
        ggufspec_as_text(v, &text);
        print_hex(text.bytes, text.length);
        break;
    case 'b':
        ggufspec_as_bool(v, &truth);
        printf("%d", truth);
        break;
    case 'f':
        ggufspec_as_f64(v, &number);
        if (number != number) {
            fputs("nan", stdout);
        } else {
            printf("%0*" PRIx64, (int)(2 * ggufspec_value_type_bytes(v->type)), v->bits);
        }
        break;
    case 'i':
        ggufspec_as_i64(v, &integer);
        printf("%" PRId64, integer);
        break;
    default:
        ggufspec_as_u64(v, &natural);
        printf("%" PRIu64, natural);
    }
}

static void print_array_head(const ggufspec_value *v) {
    printf("%s:%" PRIu64 ":[", ggufspec_value_type_name(v->element_type), v->count);
}

static void print_value(const ggufspec_value *value) {
    ggufspec_elements outer[MOST_DEPTH];
    ggufspec_value element;
    int depth = 0;
    printf("%s:", ggufspec_value_type_name(value->type));
    if (value->type != GGUFSPEC_ARRAY) {
        print_scalar(value);
        return;
    }
    print_array_head(value);
    outer[depth++] = ggufspec_elements_of(value);
    while (depth) {
        if (!ggufspec_next(&outer[depth - 1], &element)) {
            putchar(']');
            depth--;
            continue;
        }
        if (outer[depth - 1].done > 1) {
            putchar(',');
        }
        if (element.type != GGUFSPEC_ARRAY) {
            print_scalar(&element);
        } else if (depth < MOST_DEPTH) {
            print_array_head(&element);
            outer[depth++] = ggufspec_elements_of(&element);
        }
    }
}

static void print_tensor(const ggufspec_tensor *t) {
    fputs("tensor\t", stdout);
    print_hex(t->name.bytes, t->name.length);
    printf("\t%" PRIu32 "\t", t->type);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        printf(i ? ",%" PRIu64 : "%" PRIu64, t->dims[i]);
    }
    printf("%s\t%" PRIu64 "\t", t->n_dims ? "" : "-", t->offset);
    if (t->nbytes == GGUFSPEC_UNKNOWN) {
        puts("-");
    } else {
        printf("%" PRIu64 "\n", t->nbytes);
    }
}

static void answer_open(char **fields) {
    opened o;
    if (open_file(fields[1], fields[2], &o)) {
        return;
    }
    printf("ok\t%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\n", o.file.version,
           o.file.big_endian ? "big" : "little", o.file.alignment, o.file.data_offset);
    for (uint64_t i = 0; i < o.file.key_count; i++) {
        ggufspec_key key;
        ggufspec_key_at(&o.file, i, &key);
        fputs("key\t", stdout);
        print_hex(key.name.bytes, key.name.length);
        putchar('\t');
        print_value(&key.value);
        putchar('\n');
    }
    for (uint64_t i = 0; i < o.file.tensor_count; i++) {
        ggufspec_tensor tensor;
        ggufspec_tensor_at(&o.file, i, &tensor);
        print_tensor(&tensor);
    }
    close_file(&o);
}

static void answer_tensor(char **fields) {
    opened o;
    bytes name = from_hex(fields[3]);
    ggufspec_error error;
    ggufspec_tensor tensor;
    int64_t index;
    if (open_file(fields[1], fields[2], &o) == 0) {
        index = ggufspec_find_tensor_n(&o.file, (const char *)name.data, name.size);
        if (index < 0) {
            puts("fail\tno such tensor");
        } else {
            float *values;
            uint64_t count;
            ggufspec_tensor_at(&o.file, (uint64_t)index, &tensor);
            count = tensor.data ? ggufspec_elements_in(&tensor) : 0;
            values = (float *)take((size_t)count * sizeof *values);
            if (ggufspec_tensor_dequantize(&tensor, values, &error)) {
                print_error(&error);
            } else {
                print_floats(values, count);
            }
            free(values);
        }
        close_file(&o);
    }
    free(name.data);
}

/* Writes a file anew with the values and bytes of another. */
static void copy_opened(const opened *o, const char *path) {
    const ggufspec_file *f = &o->file;
    ggufspec_key *keys = (ggufspec_key *)take((size_t)f->key_count * sizeof *keys);
    ggufspec_tensor *tensors = (ggufspec_tensor *)take((size_t)f->tensor_count * sizeof *tensors);
    size_t room = ggufspec_write_workspace(f->key_count, f->tensor_count);
    void *workspace = take(room);
    ggufspec_options options = {f->version, f->big_endian, f->alignment};
    ggufspec_buffer buffer = {NULL, 0, 0};
    ggufspec_error error;
    int known = 1, whole = 0;
    for (uint64_t i = 0; i < f->key_count; i++) {
        ggufspec_key_at(f, i, &keys[i]);
    }
    for (uint64_t i = 0; i < f->tensor_count; i++) {
        ggufspec_tensor_at(f, i, &tensors[i]);
        known &= tensors[i].nbytes != GGUFSPEC_UNKNOWN;
    }
    if (!known) {
        puts("fail\tunknown type");
    } else if (ggufspec_write(ggufspec_fill, &buffer, &options, keys, f->key_count, tensors,
                              f->tensor_count, workspace, room, &error)) {
        print_error(&error);
    } else {
        FILE *file = fopen(path, "wb");
        buffer.room = buffer.used;
        buffer.used = 0;
        buffer.bytes = (uint8_t *)take((size_t)buffer.room);
        if (ggufspec_write(ggufspec_fill, &buffer, &options, keys, f->key_count, tensors,
                           f->tensor_count, workspace, room, &error)) {
            print_error(&error);
        } else if (file != NULL) {
            whole = fwrite(buffer.bytes, 1, (size_t)buffer.used, file) == buffer.used;
            puts(whole ? "ok" : "fail\tcannot write");
        } else {
            puts("fail\tcannot write");
        }
        if (file != NULL) {
            fclose(file);
        }
        free(buffer.bytes);
    }
    free(keys);
    free(tensors);
    free(workspace);
}

static void answer_copy(char **fields) {
    opened o;
    if (open_file("lenient", fields[1], &o) == 0) {
        copy_opened(&o, fields[2]);
        close_file(&o);
    }
}

/* ---- blocks */

static void answer_types(void) {
    static const char *const names[] = {"live", "internal", "removed", "fork"};
    const ggufspec_type *type;
    for (size_t i = 0; (type = ggufspec_type_at(i)) != NULL; i++) {
        printf("type\t");
        printf(type->id < 0 ? "-" : "%" PRId32, type->id);
        printf("\t%s\t%" PRIu32 "\t%" PRIu32 "\t%s\n", type->name, type->elements, type->bytes,
               names[type->status]);
    }
}

/* The type of a request; NULL after the answer was given. */
static const ggufspec_type *find_type(const char *name) {
    const ggufspec_type *type = ggufspec_type_by_name(name);
    if (type == NULL || !type->elements) {
        printf("fail\tno layout of %s\n", name);
        return NULL;
    }
    return type;
}

static void answer_dequantize(char **fields) {
    const ggufspec_type *type = find_type(fields[1]);
    bytes prefix, suffix, row;
    uint8_t *whole;
    uint64_t blocks;
    float *values;
    if (type == NULL) {
        return;
    }
    prefix = from_hex(fields[2]);
    suffix = from_hex(fields[3]);
    row = from_hex(fields[4]);
    blocks = row.size / type->bytes;
    whole = (uint8_t *)take((size_t)(prefix.size + row.size));
    memcpy(whole, prefix.data, (size_t)prefix.size);
    memcpy(whole + prefix.size, row.data, (size_t)row.size);
    values = (float *)take((size_t)(blocks * type->elements) * sizeof *values);
    if (prefix.size != type->row_prefix || suffix.size != type->tensor_suffix ||
        row.size % type->bytes ||
        ggufspec_dequantize(type, 0, whole, values, 1, (size_t)blocks,
                            suffix.size ? suffix.data : NULL)) {
        puts("fail\tnot the bytes of a row");
    } else {
        print_floats(values, blocks * type->elements);
    }
    free(values);
    free(whole);
    free(prefix.data);
    free(suffix.data);
    free(row.data);
}

static void print_code(const uint8_t *at, const ggufspec_array *array) {
    uint64_t v = 0;
    uint16_t half;
    uint32_t word;
    if (array->size == 1) {
        v = *at;
    } else if (array->size == 2) {
        memcpy(&half, at, sizeof half);
        v = half;
    } else if (array->size == 4) {
        memcpy(&word, at, sizeof word);
        v = word;
    } else {
        memcpy(&v, at, sizeof v);
    }
    if (array->kind == 'i' && array->size < 8 && v >> (8 * array->size - 1)) {
        printf("-%" PRIu64, (UINT64_C(1) << 8 * array->size) - v);
    } else if (array->kind == 'i') {
        printf("%" PRId64, (int64_t)v);
    } else {
        printf("%" PRIu64, v);
    }
}

static void answer_unpack(char **fields) {
    const ggufspec_type *type = find_type(fields[1]);
    void *arrays[MOST_ARRAYS];
    bytes row;
    size_t blocks;
    if (type == NULL) {
        return;
    }
    row = from_hex(fields[2]);
    blocks = (size_t)(row.size / type->bytes);
    for (uint32_t i = 0; i < type->array_count; i++) {
        arrays[i] = take(blocks * type->arrays[i].count * type->arrays[i].size);
    }
    if (row.size % type->bytes || ggufspec_unpack(type, 0, row.data, blocks, arrays)) {
        puts("fail\tno whole blocks");
    } else {
        fputs("codes\t", stdout);
        for (uint32_t i = 0; i < type->array_count; i++) {
            const ggufspec_array *array = &type->arrays[i];
            printf("%s%s=", i ? ";" : "", array->name);
            for (size_t k = 0; k < blocks * array->count; k++) {
                fputs(k ? "," : "", stdout);
                print_code((const uint8_t *)arrays[i] + k * array->size, array);
            }
        }
        putchar('\n');
    }
    for (uint32_t i = 0; i < type->array_count; i++) {
        free(arrays[i]);
    }
    free(row.data);
}

/* Numbers of `name=1,2,3` into an array; how many there are. */
static size_t read_codes(const char *text, const ggufspec_array *array, uint8_t *to) {
    size_t count = 0;
    while (*text && *text != ';') {
        char *end;
        uint64_t v = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
        uint8_t small = (uint8_t)v;
        uint16_t half = (uint16_t)v;
        uint32_t word = (uint32_t)v;
        if (to != NULL) {
            memcpy(to + count * array->size,
                   array->size == 1   ? (const void *)&small
                   : array->size == 2 ? (const void *)&half
                   : array->size == 4 ? (const void *)&word
                                      : (const void *)&v,
                   array->size);
        }
        count++;
        text = *end == ',' ? end + 1 : end;
        if (end == text && *end && *end != ';') {
            break;
        }
    }
    return count;
}

static const char *find_codes(const char *text, const char *name) {
    size_t length = strlen(name);
    while (text != NULL) {
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            return text + length + 1;
        }
        text = strchr(text, ';');
        text = text ? text + 1 : NULL;
    }
    return NULL;
}

static void answer_pack(char **fields) {
    const ggufspec_type *type = find_type(fields[1]);
    void *arrays[MOST_ARRAYS];
    uint32_t made = 0;
    size_t blocks = 0;
    if (type == NULL) {
        return;
    }
    for (; made < type->array_count; made++) {
        const ggufspec_array *array = &type->arrays[made];
        const char *text = find_codes(fields[2], array->name);
        size_t count = text ? read_codes(text, array, NULL) : 0;
        if (made == 0) {
            blocks = count / array->count;
        }
        if (count != blocks * array->count) {
            break;
        }
        arrays[made] = take(count * array->size);
        read_codes(text, array, (uint8_t *)arrays[made]);
    }
    if (made < type->array_count) {
        printf("fail\twrong number of %s\n", type->arrays[made].name);
    } else {
        uint8_t *out = (uint8_t *)take(blocks * type->bytes);
        ggufspec_pack(type, 0, out, blocks, (const void *const *)arrays);
        fputs("bytes\t", stdout);
        print_hex(out, blocks * type->bytes);
        putchar('\n');
        free(out);
    }
    while (made) {
        free(arrays[--made]);
    }
}

/* ---- requests */

static void answer_hello(void) {
#if defined(__cplusplus)
    printf("hello\tc++\t%s\n", GGUFSPEC_SPEC_VERSION);
#else
    printf("hello\tc\t%s\n", GGUFSPEC_SPEC_VERSION);
#endif
}

static double now(void) { return (double)clock() / CLOCKS_PER_SEC; } /* C99 has no better one */

/* Opens a file and goes through all keys and tensors; 0, or -1 after the answer was given. */
static int list_file(const char *path, uint64_t *seen) {
    opened o;
    if (open_file("lenient", path, &o)) {
        return -1;
    }
    for (uint64_t i = 0; i < o.file.key_count; i++) {
        ggufspec_key key;
        ggufspec_key_at(&o.file, i, &key);
        *seen += key.name.length;
    }
    for (uint64_t i = 0; i < o.file.tensor_count; i++) {
        ggufspec_tensor tensor;
        ggufspec_tensor_at(&o.file, i, &tensor);
        *seen += tensor.name.length + tensor.nbytes;
    }
    close_file(&o);
    return 0;
}

static void answer_time_open(char **fields) {
    double best = 1e9;
    uint64_t seen = 0;
    for (int i = atoi(fields[3]); i > 0; i--) {
        double start = now(), took;
        if (list_file(fields[2], &seen)) {
            return;
        }
        took = now() - start;
        best = took < best ? took : best;
    }
    if (seen) {
        printf("seconds\t%.9f\n", best);
    } else {
        puts("fail\tnothing in the file");
    }
}

static void answer_time_dequantize(char **fields) {
    const ggufspec_type *type = find_type(fields[2]);
    double best = 1e9;
    bytes data;
    float *values;
    uint64_t blocks;
    if (type == NULL) {
        return;
    }
    if (read_file(fields[3], &data)) {
        printf("fail\tcannot read %s\n", fields[3]);
        return;
    }
    blocks = data.size / type->bytes;
    values = (float *)take((size_t)(blocks * type->elements) * sizeof *values);
    for (int i = atoi(fields[4]); i > 0; i--) {
        double start = now(), took;
        ggufspec_dequantize(type, 0, data.data, values, 1, (size_t)blocks, NULL);
        took = now() - start;
        best = took < best ? took : best;
    }
    printf("seconds\t%.9f\n", best);
    free(values);
    free(data.data);
}

static void answer(char *line) {
    char *fields[MOST_FIELDS];
    int count = 1;
    fields[0] = line;
    for (; *line; line++) {
        if (*line == '\t' && count < MOST_FIELDS) {
            *line = 0;
            fields[count++] = line + 1;
        }
    }
    if (count == 1 && strcmp(fields[0], "hello") == 0) {
        answer_hello();
    } else if (count == 1 && strcmp(fields[0], "types") == 0) {
        answer_types();
    } else if (count == 3 && strcmp(fields[0], "open") == 0) {
        answer_open(fields);
    } else if (count == 4 && strcmp(fields[0], "tensor") == 0) {
        answer_tensor(fields);
    } else if (count == 5 && strcmp(fields[0], "dequantize") == 0) {
        answer_dequantize(fields);
    } else if (count == 3 && strcmp(fields[0], "unpack") == 0) {
        answer_unpack(fields);
    } else if (count == 3 && strcmp(fields[0], "pack") == 0) {
        answer_pack(fields);
    } else if (count == 3 && strcmp(fields[0], "copy") == 0) {
        answer_copy(fields);
    } else if (count == 4 && strcmp(fields[0], "time") == 0 && strcmp(fields[1], "open") == 0) {
        answer_time_open(fields);
    } else if (count == 5 && strcmp(fields[0], "time") == 0) {
        answer_time_dequantize(fields);
    } else {
        puts("fail\tunknown request");
    }
    puts("end");
    fflush(stdout);
}

/* The next line without its end, in a buffer that grows; NULL at the end of the input. */
static char *next_line(char **buffer, size_t *room) {
    size_t used = 0;
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (used + 1 >= *room) {
            char *larger = (char *)take(*room * 2 + 4096);
            if (*buffer != NULL) {
                memcpy(larger, *buffer, used);
            }
            free(*buffer);
            *buffer = larger;
            *room = *room * 2 + 4096;
        }
        (*buffer)[used++] = (char)c;
    }
    if (c == EOF && used == 0) {
        return NULL;
    }
    if (*buffer == NULL) {
        *buffer = (char *)take(*room = 4096);
    }
    (*buffer)[used] = 0;
    return *buffer;
}

int main(void) {
    char *buffer = NULL, *line;
    size_t room = 0;
    while ((line = next_line(&buffer, &room)) != NULL) {
        answer(line);
    }
    free(buffer);
    return 0;
}
