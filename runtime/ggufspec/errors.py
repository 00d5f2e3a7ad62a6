"""The one exception that a file's content can cause."""

from __future__ import annotations


class GGUFError(ValueError):
    """What is wrong with a file, where, and what to do about it.

    `code` is the id of the violated rule (`GG0101`), `offset` the byte of the
    file it was seen at (None where no single byte is to blame), `path` the place
    in the container description (`tensor[3].offset`), `hint` what helps. `file` is the one of a
    set that shows it, "" where there is only one.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        offset: int | None = None,
        path: str = "",
        hint: str = "",
        file: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.offset = offset
        self.path = path
        self.hint = hint
        self.file = file

    def __str__(self) -> str:
        place = f" at byte {self.offset}" if self.offset is not None else ""
        within = f" in {self.path}" if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.code}{place}{within}: {self.message}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: getattr(self, name) for name in ("code", "offset", "path", "hint", "file")}
        return _rebuild, (type(self), self.message, fields)


def _rebuild(kind: type[GGUFError], message: str, fields: dict[str, object]) -> GGUFError:
    return kind(message, **fields)  # type: ignore[arg-type]


class MissingExtraError(ImportError):
    """A part that was not installed with the package; `extra` is the name of what brings it."""

    def __init__(self, message: str, extra: str) -> None:
        super().__init__(f"{message}: pip install 'ggufspec[{extra}]'")
        self.extra = extra
