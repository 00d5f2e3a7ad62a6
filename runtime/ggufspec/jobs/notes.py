"""What is worth a warning about one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Note:
    """A remark: ``message`` is a sentence about the tensor, ``count`` of what it counts.

    ``kind``: "unseen" (experts without data in the importance matrix), "zero" (blocks without
    any importance), "missing" (no entry in the matrix), "misfit" (an entry that does not fit),
    "kept" (stays as it is where floats were asked for), "refused" (ggml will not open the file),
    "matrix" (about the matrix as a whole) or "pattern" (of no tensor); ``tensor`` may be "".
    """

    kind: Literal["unseen", "zero", "missing", "misfit", "kept", "refused", "matrix", "pattern"]
    tensor: str
    message: str
    count: int = 0

    def __str__(self) -> str:
        return f"{self.tensor}: {self.message}" if self.tensor else self.message
