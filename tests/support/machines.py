"""Other processors than this one: the library built for them, and programs run on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.build import native_library, program, run
from support.project import ROOT


@dataclass(frozen=True)
class Machine:
    """A processor with a cross compiler and an emulator for its programs."""

    name: str

    @property
    def compiler(self) -> str:
        return f"{self.name}-linux-gnu-gcc"

    @property
    def emulator(self) -> str:
        return f"qemu-{self.name}"


MACHINES = (Machine("aarch64"), Machine("s390x"))


@cache
def compiled(machine: Machine, source: Path) -> list[str]:
    """Compile a C program against the library, both for a machine; return how to run it."""
    folder = f"cross/{machine.name}"
    library = native_library(
        folder,
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={machine.name}",
        f"-DCMAKE_C_COMPILER={machine.compiler}",
    )
    target = ROOT / "build" / folder / source.stem
    run(
        [
            *(program(machine.compiler), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"),
            *("-I", str(ROOT / "runtime/c"), "-I", str(ROOT / "generated/c")),
            *(str(source), str(library), f"-Wl,-rpath,{library.parent}", "-o", str(target)),
        ]
    )
    return [program(machine.emulator), "-L", f"/usr/{machine.name}-linux-gnu", str(target)]
