#ifndef PIPE_H
#define PIPE_H

/* What the drivers of this folder have in common: requests on stdin, answers on stdout, numbers
 * on the wire little-endian. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

#define NAME 32

static inline void die(const char *what) {
    fprintf(stderr, "driver: %s\n", what);
    exit(1);
}

static inline void *allocate(size_t size) {
    void *bytes = malloc(size ? size : 1);
    if (bytes == NULL) die("out of memory");
    return bytes;
}

static inline int is_little(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one;
}

/* Read `count` numbers of `size` bytes into the host's byte order. */
static inline void numbers(void *to, size_t count, size_t size) {
    uint8_t *bytes = to;
    if (fread(bytes, size, count, stdin) != count) die("short request");
    if (is_little()) return;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < size / 2; j++) {
            uint8_t *low = bytes + i * size + j, *high = bytes + (i + 1) * size - 1 - j, was = *low;
            *low = *high;
            *high = was;
        }
}

static inline uint32_t number(void) {
    uint32_t n;
    numbers(&n, 1, sizeof n);
    return n;
}

/* Write `count` numbers of `size` bytes, last byte first on a big-endian host. */
static inline void answer(const void *from, size_t count, size_t size) {
    const uint8_t *bytes = from;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < size; j++)
            putchar(bytes[i * size + (is_little() ? j : size - 1 - j)]);
}

static inline int type_named(const char *name) {
    for (int i = 0; i < ggufspec_type_count; i++)
        if (strcmp(ggufspec_types[i].name, name) == 0) return i;
    die("no such type");
    return -1;
}

/* Serve requests that start with a type's name, as many as there are. */
static inline int serve_all(void (*serve)(const char *name)) {
    char name[NAME];
    while (fread(name, 1, NAME, stdin) == NAME) {
        name[NAME - 1] = 0;
        serve(name);
    }
    return 0;
}

#endif
