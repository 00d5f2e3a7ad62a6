/* Times kernels without Python in between: each function repeats one call on the same buffers and
 * returns the seconds that one call took. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef void to_float_function(const void *src, float *dst, int64_t n);
typedef int dequantize_function(int type, int big_endian, const uint8_t *src, float *dst,
                                size_t rows, size_t row_blocks, const uint8_t *tail);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double time_ggml(to_float_function *f, const void *src, float *dst, int64_t n, int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; i++) f(src, dst, n);
    return (now() - start) / repeats;
}

double time_ours(dequantize_function *f, int type, const uint8_t *src, float *dst, size_t blocks,
                 int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; i++) f(type, 0, src, dst, 1, blocks, NULL);
    return (now() - start) / repeats;
}

double time_copy(const void *src, float *dst, size_t n, int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; i++) {
        memcpy(dst, src, n * sizeof *dst);
        __asm__ volatile("" ::: "memory");
    }
    return (now() - start) / repeats;
}

/* Plain stores, as wide as the processor has them, of a value that is no memset. */
#if defined(__x86_64__)
typedef float wide __attribute__((vector_size(32)));
__attribute__((target("avx2")))
#else
typedef float wide __attribute__((vector_size(16)));
#endif
static void stores(float *dst, size_t n, float value) {
    const wide v = (wide){0} + value;
    wide *p = (wide *)dst;
    for (wide *end = p + n / (sizeof v / sizeof *dst); p < end; p += 4) {
        p[0] = v;
        p[1] = v;
        p[2] = v;
        p[3] = v;
        __asm__ volatile("" ::: "memory");
    }
}

double time_stores(float *dst, size_t n, int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; i++) stores(dst, n, 1.5f + (float)i);
    return (now() - start) / repeats;
}

/* The floats that a quantizer reads and the bytes that it writes, and nothing else. */
#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
static void loads(const float *src, size_t n) {
    wide sum[4] = {{0}};
    const wide *p = (const wide *)src;
    for (const wide *end = p + n / (sizeof *p / sizeof *src); p + 4 <= end; p += 4)
        for (int i = 0; i < 4; i++) sum[i] += p[i];
    volatile wide kept = sum[0] + sum[1] + sum[2] + sum[3];
    (void)kept;
}

double time_traffic(const float *src, size_t n, void *dst, size_t bytes, int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; i++) {
        loads(src, n);
        stores(dst, bytes / 128 * 32, 1.5f);
    }
    return (now() - start) / repeats;
}
