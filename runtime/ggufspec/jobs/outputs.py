"""Files in the making."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..container.layout import pad_up
from ..files.atomic import AtomicFile
from ..files.shard_names import shard_name
from ..files.writer import Writer, planned_size
from .errors import ConversionError
from .resume import Done, PartialFile, identity
from .together import name_together

if TYPE_CHECKING:
    from .origin import Origin
    from .plan import FilePlan, Plan
    from .steps import Step

SUFFIX = ".gguf"


@dataclass(frozen=True)
class Output:
    """A plan, and the name of what it makes (of a set: what its files' names start with)."""

    plan: Plan
    path: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files to be written, named as llama-quantize names them."""
        if not self.plan.options.keep_split:
            return (self.path,)
        prefix = self.path.name.removesuffix(SUFFIX)
        count = len(self.plan.files)
        return tuple(
            self.path.with_name(shard_name(prefix, number, count)) for number in range(1, count + 1)
        )


@dataclass
class Work:
    """One file in the making: its tensors are begun, fed and ended one after the other."""

    plan: Plan
    file: FilePlan
    sink: AtomicFile | PartialFile
    writer: Writer
    hashes: bool
    offset: int  # where the current tensor starts
    digests: list[str] = field(default_factory=list)  # of the tensors that are done
    _hashed: Any = None

    def begins(self, step: Step) -> bool:
        """Start with the next tensor; False if it is there already, and the one after is next."""
        self._hashed = hashlib.sha256() if self.hashes else None
        done = len(self.digests)
        if not isinstance(self.sink, PartialFile) or done >= len(self.sink.done):
            return True
        known = self.sink.done[done]
        if (known.name, known.offset, known.nbytes) != (step.name, self.offset, step.plan.nbytes):
            raise ConversionError(
                f"{known.name!r} lies where {step.name!r} belongs", "check",
                file=str(self.sink.temporary),
            )  # fmt: skip
        if step.plan.nbytes:
            self.writer.skip()
        self._ended(step, known.sha256)
        return False

    def feed(self, data: Any) -> None:
        """Append to the current tensor."""
        self.writer.feed(data)
        if self._hashed is not None:
            self._hashed.update(data)

    def ends(self, step: Step, source: str) -> None:
        """The current tensor is whole; `source` is the sha256 of what it was changed from."""
        digest = self._hashed.hexdigest() if self._hashed is not None else ""
        if isinstance(self.sink, PartialFile):
            source = source if step.changes else digest
            done = Done(step.name, step.type, self.offset, step.plan.nbytes, digest, source)
            self.sink.note(done)
        self._ended(step, digest)

    def _ended(self, step: Step, digest: str) -> None:
        self.digests.append(digest)
        self.offset += pad_up(step.plan.nbytes, self.writer.alignment)


def start(
    plan: Plan, number: int, path: Path, *, origin: Origin | None, replace: bool, hashes: bool
) -> Work:
    """Start file ``number``, from 0, of a plan; with an origin, go on with what there is of it."""
    file = plan.files[number]
    sink: AtomicFile | PartialFile
    if origin is not None:
        front = planned_size(
            file.metadata, [], alignment=file.alignment, byte_order=file.byte_order
        )
        sink = PartialFile(
            path, identity(plan, number, origin), origin, [step.tensor for step in file.steps],
            front=front, replace=replace, like=plan.source.paths,
        )  # fmt: skip
    else:
        sink = AtomicFile(path, replace=replace, like=plan.source.paths)
    plans = [step.plan for step in file.steps]
    writer = Writer(
        path, file.metadata, plans, alignment=file.alignment, byte_order=file.byte_order,
        output=sink,
    )  # fmt: skip
    return Work(plan, file, sink, writer, hashes or origin is not None, writer.front)


def finish(works: list[Work]) -> None:
    """Give all files their names, of a set the first last.

    A file that appeared meanwhile stops none of the others, and what was made keeps its temporary
    name. The files that a set replaces are set aside first: never is it a mixture of both.
    """
    failed: FileExistsError | None = None
    for _, group in groupby(works, key=lambda work: id(work.plan)):
        some = list(group)
        if len(some) > 1 and some[0].sink.replace:
            name_together([(work.sink, work.writer.finish) for work in some])
            continue
        for work in reversed(some):
            try:
                work.writer.finish()
            except FileExistsError as error:
                failed = error
    if failed:
        raise failed
