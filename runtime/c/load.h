#ifndef GGUFSPEC_LOAD_H
#define GGUFSPEC_LOAD_H

/* Stored words and numbers. Blocks reach the kernels in little-endian byte order, at any
 * address; a big-endian host reverses each word as it loads it. */

#include <stdint.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define GGUFSPEC_BIG_ENDIAN_HOST 1
#define GGUFSPEC_LITTLE(bits, v) __builtin_bswap##bits(v)
#else
#define GGUFSPEC_BIG_ENDIAN_HOST 0
#define GGUFSPEC_LITTLE(bits, v) (v)
#endif

#define GGUFSPEC_WORD(bits)                                                                        \
    static inline uint##bits##_t load_u##bits(const uint8_t *p) {                                  \
        uint##bits##_t v;                                                                          \
        memcpy(&v, p, sizeof v);                                                                   \
        return GGUFSPEC_LITTLE(bits, v);                                                           \
    }                                                                                              \
    static inline int##bits##_t load_i##bits(const uint8_t *p) {                                   \
        return (int##bits##_t)load_u##bits(p);                                                     \
    }                                                                                              \
    static inline void store_u##bits(uint8_t *p, uint##bits##_t v) {                               \
        v = GGUFSPEC_LITTLE(bits, v);                                                              \
        memcpy(p, &v, sizeof v);                                                                   \
    }                                                                                              \
    static inline void or_u##bits(uint8_t *p, uint##bits##_t v) {                                  \
        store_u##bits(p, (uint##bits##_t)(load_u##bits(p) | v));                                   \
    }

GGUFSPEC_WORD(16)
GGUFSPEC_WORD(32)
GGUFSPEC_WORD(64)

static inline uint8_t load_u8(const uint8_t *p) { return *p; }
static inline int8_t load_i8(const uint8_t *p) { return (int8_t)*p; }
static inline void store_u8(uint8_t *p, uint8_t v) { *p = v; }
static inline void or_u8(uint8_t *p, uint8_t v) { *p = (uint8_t)(*p | v); }

static inline float single_value(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t single_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline double double_value(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* bfloat16: the upper half of a float. A shift, no arithmetic: signalling NaNs stay so. */
static inline float bfloat_value(uint16_t bits) { return single_value((uint32_t)bits << 16); }

/* IEEE half, exact; NaNs are quieted and keep their payload, as F16C does. This form computes all
 * three cases and masks: loops over halves become vectors. */
static inline float half_lane(uint16_t bits) {
#if defined(__F16C__)
    return _cvtsh_ss(bits);
#else
    const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    const float small = (float)(int32_t)magnitude * 0x1p-24f;
    uint32_t subnormal;
    memcpy(&subnormal, &small, sizeof subnormal);
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t special = magnitude << 13 | 0xffu << 23 | (uint32_t)(magnitude > 0x7c00) << 22;
    const uint32_t is_subnormal = 0u - (uint32_t)(magnitude < 0x0400);
    const uint32_t is_special = 0u - (uint32_t)(magnitude >= 0x7c00);
    const uint32_t whole = (subnormal & is_subnormal) | (special & is_special) |
                           (normal & ~(is_subnormal | is_special));
    return single_value(sign | whole);
#endif
}

/* The same for a single half, which is nearly always a normal one. */
static inline float half_value(uint16_t bits) {
#if !defined(__F16C__)
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude - 0x0400u < 0x7800u)
        return single_value((bits & 0x8000u) << 16 | ((magnitude << 13) + (112u << 23)));
#endif
    return half_lane(bits);
}

/* Base-3 digit n of a byte, 0 the most significant: the byte is a fraction of 256, times
 * 3^n its leading digits are gone, times 3 the next one stands above the byte. */
static const uint8_t ggufspec_pow3[5] = {1, 3, 9, 27, 81};

static inline int32_t trit(uint8_t byte, int digit) {
    return (int32_t)((uint8_t)(byte * ggufspec_pow3[digit]) * 3) >> 8;
}

/* Write digit n into a byte that so far holds the number 0..242 of the digits written;
 * a digit above 2 counts as 2. seal_trits makes the fraction of it. */
static inline void add_trit(uint8_t *p, int32_t value, int digit) {
    *p = (uint8_t)(*p + (value > 2 ? 2 : value) * ggufspec_pow3[4 - digit]);
}

static inline void seal_trits(uint8_t *p) { *p = (uint8_t)((*p * 256 + 242) / 243); }

#endif
