"""Other languages: opening the 16 MB vocabulary and dequantizing, beside what their users have.

Each program takes its best of several runs itself; the peers are other people's packages, fetched
and built when the bench runs (tests/bench/peers). ggml's C stands beside what has no peer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.opening import NAME, best
from bench.table import show as table
from ggufspec.registry import types
from languages.pipe import Program, ProgramError
from languages.toolchains import LANGUAGES, run
from support import oracle, realfiles
from support.project import ROOT

PEERS = ROOT / "tests/bench/peers"
TYPES = ("Q4_K", "IQ3_S")
ELEMENTS = 1 << 22
ROUNDS = {"open": 10, "dequantize": 10}


@dataclass(frozen=True)
class Peer:
    """Somebody else's parser: its language, and the command that answers `time` requests."""

    name: str
    language: str
    tool: str
    build: Callable[[Path], Sequence[str]]


def _node(name: str) -> Callable[[Path], Sequence[str]]:
    def build(folder: Path) -> Sequence[str]:
        place = _copied("node", folder)
        if not (place / "node_modules").is_dir():
            run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], place)
        return ["node", str(place / "main.mjs"), name]

    return build


def _go(folder: Path) -> Sequence[str]:
    place = _copied("go", folder)
    run(["go", "mod", "tidy"], place)
    run(["go", "build", "-o", "peers", "."], place)
    return [str(place / "peers")]


def _rust(name: str) -> Callable[[Path], Sequence[str]]:
    def build(folder: Path) -> Sequence[str]:
        place = _copied("rust", folder)
        run(["cargo", "build", "-q", "--release"], place)
        return [str(place / "target/release/ggufspec-bench-peers"), name]

    return build


def _copied(name: str, folder: Path) -> Path:
    place = folder / name
    shutil.copytree(PEERS / name, place, dirs_exist_ok=True)
    return place


OTHERS = (
    Peer("candle-core", "rust", "cargo", _rust("candle-core")),
    Peer("gguf-rs", "rust", "cargo", _rust("gguf-rs")),
    Peer("gguf-parser-go", "go", "go", _go),
    Peer("@huggingface/gguf", "typescript", "npm", _node("@huggingface/gguf")),
    Peer("hyllama", "typescript", "npm", _node("hyllama")),
)


def show(*, markdown: bool) -> None:
    """Build everything, then let one program after the other say its times."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = _jobs(Path(folder))
        programs = _ours() | _peers(realfiles.cache_folder() / "bench-peers")
        rows = [
            [name, *(_cell(program, job) for job in jobs)] for name, program in programs.items()
        ]
    rows.append(["ggml (C)", *_ggml()])
    heads = ["", "open, ms", *(f"{name}, GB/s" for name in TYPES)]
    title = f"{NAME} opened and listed; float32 written by one thread, a row of {ELEMENTS} elements"
    table(title, heads, rows, markdown=markdown)


@dataclass(frozen=True)
class _Job:
    """A `time` request, and how its seconds are shown."""

    request: str
    shown: Callable[[float], str]


def _jobs(folder: Path) -> list[_Job]:
    path = next(file for file in realfiles.vocabularies() if file.name == NAME)
    jobs = [_Job(f"time\topen\t{path}\t{ROUNDS['open']}", lambda s: f"{s * 1e3:.2f}")]
    for name in TYPES:
        data = folder / f"{name}.bin"
        data.write_bytes(_blocks(name))
        jobs.append(_Job(f"time\tdequantize\t{name}\t{data}\t{ROUNDS['dequantize']}", _rate))
    return jobs


def _rate(seconds: float) -> str:
    return f"{4 * ELEMENTS / seconds / 1e9:.2f}"


def _blocks(name: str) -> bytes:
    kind = types[name]
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, ELEMENTS // kind.elements * kind.bytes, np.uint8).tobytes()


def _ours() -> dict[str, Program]:
    found = {}
    for name, language in LANGUAGES.items():
        if name == "python" or any(tool.startswith("qemu") for tool in language.tools):
            continue
        if language.missing():
            print(f"skipped {name}: no {', '.join(language.missing())}")
            continue
        place = language.built()
        found[f"{name}: ours"] = Program(language.command(place), language.environment(place))
    return found


def _peers(folder: Path) -> dict[str, Program]:
    found = {}
    for peer in OTHERS:
        if shutil.which(peer.tool) is None:
            print(f"skipped {peer.name}: no {peer.tool}")
        else:
            found[f"{peer.language}: {peer.name}"] = Program(peer.build(folder))
    return found


def _cell(program: Program, job: _Job) -> str:
    try:
        (line,) = program.lines(job.request, seconds=300)
    except ProgramError as error:
        return str(error)[:30]
    word, _, value = line.partition("\t")
    return job.shown(float(value)) if word == "seconds" else "-"


def _ggml() -> list[str]:
    path = next(file for file in realfiles.vocabularies() if file.name == NAME)
    cells = [f"{best(lambda: oracle.opens(path), 5) * 1e3:.2f}"]
    out = np.empty(ELEMENTS, np.float32)
    for name in TYPES:
        kind = types[name]
        assert kind.id is not None
        number, data = kind.id, np.frombuffer(_blocks(name), np.uint8)
        work = partial(oracle.dequantize_into, data, number, out)
        cells.append(_rate(best(work, ROUNDS["dequantize"])))
    return cells
