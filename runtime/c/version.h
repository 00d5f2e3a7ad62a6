#ifndef GGUFSPEC_VERSION_H
#define GGUFSPEC_VERSION_H

/* The text of spec/VERSION at build time. */
const char *ggufspec_spec_version(void);

/* Name and version of the compiler, for people. */
const char *ggufspec_compiler(void);

#endif
