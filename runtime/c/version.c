/* Which specification this library was built from; native.py compares it with its own. */
#include "version.h"

const char *ggufspec_spec_version(void) { return GGUFSPEC_SPEC_VERSION; }

const char *ggufspec_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown compiler";
#endif
}
