/* Checks of text that the cursor needs. */
#ifndef GGUFSPEC_SCAN_TEXT_H
#define GGUFSPEC_SCAN_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* 1 if no code point lies in one of the ranges; of text that is not UTF-8, bytes below 0x80. */
int gs_printable(const uint8_t *text, uint64_t length, const uint32_t ranges[][2], size_t count);

/* 1 if the text is words (class 1) joined by single separators (class 2). */
int gs_dotted(const uint8_t *text, uint64_t length, const uint8_t classes[256]);

#endif
