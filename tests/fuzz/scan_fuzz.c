/* Damages files and walks them with the cursor in C, for a number of seconds.
 *
 *     scan_fuzz SECONDS FILE...
 *
 * Every prefix, every bit of the first 512 bytes, then random pieces with seed 1, each under
 * every profile. Compiled with address and undefined-behaviour sanitizers: a damaged file lies
 * in memory of exactly its size, so that any byte read beyond it ends the program. Prints how
 * many files it walked and how many records they had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "walk.h"

enum { SWEPT = 512 };

static void sweep(uint8_t *data, uint64_t size) {
    for (uint64_t length = 0; length <= size; length++) {
        walk_copy(data, length);
    }
    for (uint64_t bit = 0; bit < 8 * size && bit < 8 * SWEPT; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        walk_copy(data, size);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static uint64_t random_number(void) {
    static uint64_t state = 1; /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* One to four places get a number that readers stumble over, or any byte, or lose their rest. */
static void damage(const uint8_t *data, uint64_t size) {
    static const uint64_t numbers[] = {
        0, 1, 2, 8, 9, 13, 127, 128, 255, 1u << 16, UINT64_C(1) << 31, UINT64_C(1) << 32,
        UINT64_C(1) << 61, UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 31, UINT64_MAX,
    };
    uint8_t *copy = allocate(size);
    memcpy(copy, data, size);
    for (uint64_t n = 1 + random_number() % 4; n--;) {
        uint64_t at = random_number() % size, width = UINT64_C(1) << random_number() % 4;
        uint64_t number = numbers[random_number() % (sizeof numbers / sizeof *numbers)];
        int big = random_number() % 4 == 0;
        if (random_number() % 8 == 0) {
            number = random_number();
        }
        for (uint64_t i = 0; i < width && at + i < size; i++) {
            copy[at + i] = (uint8_t)(number >> 8 * (big ? width - 1 - i : i));
        }
        if (random_number() % 16 == 0) {
            size = at + 1;
        }
    }
    walk_copy(copy, size);
    free(copy);
}

static uint8_t *read_file(const char *path, uint64_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *size = (uint64_t)ftell(file);
    rewind(file);
    uint8_t *data = allocate(*size);
    if (fread(data, 1, *size, file) != *size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return data;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: scan_fuzz SECONDS FILE...\n");
        return 2;
    }
    const time_t end = time(NULL) + atol(arguments[1]);
    const int files = count - 2;
    uint8_t **data = allocate((uint64_t)files * sizeof *data);
    uint64_t *sizes = allocate((uint64_t)files * sizeof *sizes);
    for (int i = 0; i < files; i++) {
        data[i] = read_file(arguments[2 + i], &sizes[i]);
    }
    for (int i = 0; i < files && time(NULL) < end; i++) {
        sweep(data[i], sizes[i]);
    }
    while (time(NULL) < end) {
        for (int n = 0; n < 1000; n++) {
            int i = (int)(random_number() % (uint64_t)files);
            damage(data[i], sizes[i]);
        }
    }
    for (int i = 0; i < files; i++) {
        free(data[i]);
    }
    free(data);
    free(sizes);
    printf("%llu %llu\n", (unsigned long long)walked, (unsigned long long)records);
    return 0;
}
