"""Run Python with the native library built under address and undefined-behaviour sanitizers.

    PYTHONPATH=tests python -m support.sanitized -m pytest tests/fuzz

The arguments are Python's. A finding of a sanitizer prints its report and ends the process.
"""

from __future__ import annotations

import os
import sys

from support.build import native_library, program, run


def main(arguments: list[str]) -> None:
    library = native_library("sanitized", "-DGGUFSPEC_SANITIZE=ON", "-DCMAKE_C_COMPILER=gcc")
    # Python itself is not built with it, so the sanitizer's runtime has to come first.
    runtime = run([program("gcc"), "-print-file-name=libasan.so"]).decode().strip()
    environment = os.environ | {
        "GGUFSPEC_NATIVE": "1",
        "GGUFSPEC_LIBRARY": str(library),
        "LD_PRELOAD": runtime,
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Whole file descriptors that pytest takes would take the report of a dying process.
        "PYTEST_ADDOPTS": "--capture=sys -p no:cacheprovider",
    }
    os.execve(sys.executable, [sys.executable, *arguments], environment)


if __name__ == "__main__":
    main(sys.argv[1:])
