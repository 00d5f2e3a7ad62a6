"""The one exception that an importance matrix can cause."""

from __future__ import annotations


class ImatrixError(ValueError):
    """What is wrong with an importance matrix, and what to do about it.

    `file` is its path as it was given, `tensor` the weight tensor it is about ("" for the file
    as a whole), `hint` what helps.
    """

    def __init__(self, message: str, *, file: str = "", tensor: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.tensor = tensor
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.file, self.tensor, self.hint)


def _rebuild(
    kind: type[ImatrixError], message: str, file: str, tensor: str, hint: str
) -> ImatrixError:
    return kind(message, file=file, tensor=tensor, hint=hint)
