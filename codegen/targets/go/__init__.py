"""The Go module: container, values, writer, registry and kernels, without any dependency.

layout    expressions as gofmt lays them out
language  the spelling of kernels
tables    the container's tables, codebooks, small floats, the registry
emit      the files; hand-written support code is in templates/
"""

from .emit import outputs

__all__ = ["outputs"]
