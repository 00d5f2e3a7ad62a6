/* Which specification this library was built from; native.py compares it with its own. */
#include "version.h"

#include <float.h>

/* Where floats are computed in a wider type the kernels' bits differ: no library is better. */
_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic has to round to float");

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
