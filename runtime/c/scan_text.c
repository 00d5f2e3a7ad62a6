/* Text: UTF-8, characters that names should not have, the syntax of keys. */
#include "scan_text.h"

#include <string.h>

#include "scan.h"

/* The length of the well-formed sequence at the start of a text, or 0; its code point. */
static unsigned decode(const uint8_t *text, uint64_t length, uint32_t *code) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = text[0];
    unsigned bytes = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (bytes == 0 || bytes > length) {
        return 0;
    }
    uint32_t value = bytes == 1 ? lead : lead & (0x7fu >> bytes);
    for (unsigned i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (text[i] & 0x3f);
    }
    if (lead > 0xf7 || value < smallest[bytes] || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff)) {
        return 0;
    }
    *code = value;
    return bytes;
}

static int valid_plain(const uint8_t *text, uint64_t length) {
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t at = 0;
    while (at < length) {
        uint64_t eight;
        uint32_t code;
        if (length - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (!(eight & high)) {
                at += sizeof eight;
                continue;
            }
        }
        unsigned bytes = decode(text + at, length - at, &code);
        if (!bytes) {
            return 0;
        }
        at += bytes;
    }
    return 1;
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

/* 32 bytes at once, after J. Keiser and D. Lemire, "Validating UTF-8 in less than one
   instruction per byte" (2021). Each of three tables tells, from one half of a byte, which
   errors a byte and the one before it could still make; an error stands if all three agree.
   Sequences of three and four bytes need one more comparison. */
enum {
    TOO_SHORT = 1,     /* a lead byte or ASCII where a lead byte wants a continuation */
    TOO_LONG = 2,      /* a continuation behind ASCII */
    OVERLONG_3 = 4,    /* e0 80..9f */
    TOO_LARGE = 8,     /* f4 90..bf, f5..ff */
    SURROGATE = 16,    /* ed a0..bf */
    OVERLONG_2 = 32,   /* c0, c1 */
    BEYOND = 64,       /* f5..ff 80..8f, or f0 80..8f, which is overlong */
    CONTINUATIONS = 128, /* two in a row: right only inside of longer sequences */
    CARRY = TOO_SHORT | TOO_LONG | CONTINUATIONS
};

#define TWICE(...) __VA_ARGS__, __VA_ARGS__

static const uint8_t before_high[32] = {TWICE(
    /* 0_ .. 7_ */ TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    /* 8_ .. b_ */ CONTINUATIONS, CONTINUATIONS, CONTINUATIONS, CONTINUATIONS,
    /* c_ */ TOO_SHORT | OVERLONG_2, /* d_ */ TOO_SHORT, /* e_ */ TOO_SHORT | OVERLONG_3 | SURROGATE,
    /* f_ */ TOO_SHORT | TOO_LARGE | BEYOND)};

static const uint8_t before_low[32] = {TWICE(
    /* _0 */ CARRY | OVERLONG_3 | OVERLONG_2 | BEYOND, /* _1 */ CARRY | OVERLONG_2,
    /* _2, _3 */ CARRY, CARRY, /* _4 */ CARRY | TOO_LARGE,
    /* _5 .. _c */ CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND,
    CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND,
    CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND,
    /* _d */ CARRY | TOO_LARGE | BEYOND | SURROGATE,
    /* _e, _f */ CARRY | TOO_LARGE | BEYOND, CARRY | TOO_LARGE | BEYOND)};

static const uint8_t this_high[32] = {TWICE(
    /* 0_ .. 7_ */ TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    TOO_SHORT, /* 8_ */ TOO_LONG | OVERLONG_2 | CONTINUATIONS | OVERLONG_3 | BEYOND,
    /* 9_ */ TOO_LONG | OVERLONG_2 | CONTINUATIONS | OVERLONG_3 | TOO_LARGE,
    /* a_ */ TOO_LONG | OVERLONG_2 | CONTINUATIONS | SURROGATE | TOO_LARGE,
    /* b_ */ TOO_LONG | OVERLONG_2 | CONTINUATIONS | SURROGATE | TOO_LARGE,
    /* c_ .. f_ */ TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT)};

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i look_up(const uint8_t table[32], __m256i index) {
    return _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)table), index);
}

AVX2 static inline __m256i high_half(__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

/* Not zero where the 32 bytes at `at` go wrong; the three bytes before it are read too. */
AVX2 static inline __m256i errors_at(const uint8_t *at) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
    __m256i before1 = _mm256_loadu_si256((const __m256i *)(at - 1));
    __m256i before2 = _mm256_loadu_si256((const __m256i *)(at - 2));
    __m256i before3 = _mm256_loadu_si256((const __m256i *)(at - 3));
    __m256i possible = look_up(before_high, high_half(before1));
    possible = _mm256_and_si256(
        possible, look_up(before_low, _mm256_and_si256(before1, _mm256_set1_epi8(15))));
    possible = _mm256_and_si256(possible, look_up(this_high, high_half(bytes)));
    /* the high bit is set where e_ or f_ stands two before, or f_ three before */
    __m256i third = _mm256_subs_epu8(before2, _mm256_set1_epi8(0xe0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(before3, _mm256_set1_epi8((char)(0xf0 - 0x80)));
    __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(possible, must);
}

AVX2 static int valid_avx2(const uint8_t *text, uint64_t length) {
    uint8_t block[3 + 32] = {0};
    uint64_t at = length < 32 ? length : 32;
    memcpy(block + 3, text, at);
    __m256i errors = errors_at(block + 3);
    for (; length - at >= 32; at += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at));
        int ascii = !_mm256_movemask_epi8(bytes);
        if (ascii && text[at - 1] < 0xc0 && text[at - 2] < 0xe0 && text[at - 3] < 0xf0) {
            continue;
        }
        errors = _mm256_or_si256(errors, errors_at(text + at));
    }
    /* the rest, and zeros that an unfinished sequence runs into */
    memset(block, 0, sizeof block);
    uint64_t back = at < 3 ? at : 3;
    memcpy(block + 3 - back, text + at - back, back + length - at);
    errors = _mm256_or_si256(errors, errors_at(block + 3));
    return _mm256_testz_si256(errors, errors);
}

int ggufspec_utf8_valid(const uint8_t *text, uint64_t length) {
    if (length >= 16 && __builtin_cpu_supports("avx2")) {
        return valid_avx2(text, length);
    }
    return valid_plain(text, length);
}
#else
int ggufspec_utf8_valid(const uint8_t *text, uint64_t length) { return valid_plain(text, length); }
#endif

static int in_ranges(uint32_t code, const uint32_t ranges[][2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (ranges[i][0] <= code && code <= ranges[i][1]) {
            return 1;
        }
    }
    return 0;
}

int gs_printable(const uint8_t *text, uint64_t length, const uint32_t ranges[][2], size_t count) {
    int utf8 = ggufspec_utf8_valid(text, length);
    uint64_t at = 0;
    while (at < length) {
        uint32_t code = text[at];
        at += utf8 ? decode(text + at, length - at, &code) : 1;
        if ((utf8 || code < 0x80) && in_ranges(code, ranges, count)) {
            return 0;
        }
    }
    return 1;
}

int gs_dotted(const uint8_t *text, uint64_t length, const uint8_t classes[256]) {
    int in_word = 0;
    for (uint64_t i = 0; i < length; i++) {
        uint8_t class = classes[text[i]];
        if (class == 0 || (class == 2 && !in_word)) {
            return 0;
        }
        in_word = class == 1;
    }
    return in_word;
}
