/* Keeps a process alive that reads a mapped file while somebody cuts it; see guard.c. */
#ifndef GGUFSPEC_GUARD_H
#define GGUFSPEC_GUARD_H

#include <stddef.h>

/* From now on pages of the mapping that cannot be read are zeros. Returns a number for
   ggufspec_guard_end, or -1 where there is no such thing or no room for another mapping. */
int ggufspec_guard_begin(const void *start, size_t length);

/* Back to what was before. Returns 1 if a page could not be read meanwhile, else 0. */
int ggufspec_guard_end(int number);

#endif
