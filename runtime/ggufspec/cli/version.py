"""``ggufspec --version``."""

from __future__ import annotations


def show() -> None:
    """Print the package's version, the specification's, and what runs the kernels."""
    from .. import __version__, native
    from ..generated import SPEC_VERSION

    kernels = "native" if native.lib() else "numpy"
    print(f"ggufspec {__version__}")
    print(f"specification {SPEC_VERSION}")
    print(f"kernels: {kernels} ({native.describe()})")
