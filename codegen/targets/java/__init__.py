"""The Java target: a Maven project, whose hand-written half are the files in templates/."""

from .emit import outputs

__all__ = ["outputs"]
