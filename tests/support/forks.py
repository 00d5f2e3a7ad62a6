"""Fork types from their descriptions alone, element by element, and files that hold them.

Nothing here reads the specification or uses what is generated from it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from support import crafted
from support.crafted import V3, Form

Floats = npt.NDArray[np.float32]

SLOTS = bytes.fromhex("a9892909a68626069a921a126a624a42012181a1042484a41018909840486068")
"""STQ1_0: four lanes of two bits for each slot, sign bit 0 and then sign bit 1."""


class Sizes(NamedTuple):
    """Elements and bytes a block, bytes in front of a row, bytes behind a tensor."""

    elements: int
    bytes: int
    prefix: int = 0
    suffix: int = 0

    def of(self, *dims: int) -> int:
        """Bytes of a tensor of these dimensions, the fastest first."""
        rows = 1
        for dim in dims[1:]:
            rows *= dim
        return rows * (self.prefix + dims[0] // self.elements * self.bytes) + self.suffix


SIZES: Mapping[str, Sizes] = {
    "F32": Sizes(1, 4),
    "Q2_0": Sizes(64, 18),
    "PQ2_0": Sizes(128, 34),
    "STQ1_0": Sizes(256, 42),
    "PTQ1_0": Sizes(128, 28),
    "I2_S": Sizes(128, 32, suffix=32),
    "IQ4_K": Sizes(256, 144),
    "IQ4_KS": Sizes(256, 136, prefix=4),
    "MXFP4": Sizes(32, 17),
}


def decode_stq1_0(block: bytes, order: str = "<") -> list[np.float32]:
    """32 bytes of slots, 8 bytes of signs, a half: 64 groups whose 4 weights lie 16 apart."""
    (d,) = np.frombuffer(block[40:42], order + "f2").astype(np.float32)
    out = [np.float32(0)] * 256
    for group in range(64):
        slot = block[group // 2] >> (4 if group % 2 else 0) & 15
        sign = block[32 + group // 8] >> (group % 8) & 1
        lanes = SLOTS[16 * sign + slot]
        for lane in range(4):
            value = (-1, 0, 1)[lanes >> 2 * lane & 3]
            out[64 * (group // 16) + group % 16 + 16 * lane] = d * np.float32(value)
    return out


def decode_pq2_0(block: bytes, order: str = "<") -> list[np.float32]:
    """A half d, then 128 codes of two bits, the first in the lowest bits: d times (code - 1)."""
    (d,) = np.frombuffer(block[:2], order + "f2").astype(np.float32)
    return [d * np.float32((block[2 + n // 4] >> 2 * (n % 4) & 3) - 1) for n in range(128)]


def decode_ptq1_0(block: bytes, order: str = "<") -> list[np.float32]:
    """16 bytes of five digits, 8 of five, 2 of four, then a half.

    A byte over 256 is a fraction whose first base-3 digits are stored; digit n of the bytes of a
    run are that many weights on end, behind those of digit n - 1.
    """
    (d,) = np.frombuffer(block[26:28], order + "f2").astype(np.float32)
    out = []
    for run, digits in ((block[:16], 5), (block[16:24], 5), (block[24:26], 4)):
        for digit in range(digits):
            for byte in run:
                value = byte * 3 ** (digit + 1) // 256 % 3
                out.append(d * np.float32(value - 1))
    return out


def decode_i2_s(data: bytes, scale: np.float32) -> list[np.float32]:
    """Groups of 32 bytes: byte p holds the elements p, p+32, p+64, p+96, the first highest."""
    out = []
    for start in range(0, len(data), 32):
        for shift in (6, 4, 2, 0):
            out += [scale * np.float32((data[start + p] >> shift & 3) - 1) for p in range(32)]
    return out


BLOCKS: Mapping[str, Callable[[bytes, str], list[np.float32]]] = {
    "STQ1_0": decode_stq1_0,
    "PQ2_0": decode_pq2_0,
    "PTQ1_0": decode_ptq1_0,
}


def decode(name: str, data: bytes, order: str = "<") -> Floats:
    """All elements of a tensor's bytes."""
    with np.errstate(all="ignore"):
        if name == "I2_S":
            (scale,) = np.frombuffer(data[-32:-28], order + "f4").astype(np.float32)
            return np.array(decode_i2_s(data[:-32], scale), np.float32)
        size = SIZES[name].bytes
        parts = (data[start : start + size] for start in range(0, len(data), size))
        return np.array([x for part in parts for x in BLOCKS[name](part, order)], np.float32)


class Entry(NamedTuple):
    """A tensor to be: its dimensions, the fastest first."""

    name: str
    dims: Sequence[int]
    number: int
    data: bytes


def entry(name: str, dims: Sequence[int], number: int, layout: str, seed: int = 0) -> Entry:
    """A tensor of random bytes in the size of a layout."""
    rng = np.random.default_rng(seed)
    return Entry(name, dims, number, rng.bytes(SIZES[layout].of(*dims)))


def plain(name: str, count: int = 8) -> Entry:
    """A float32 tensor of zeros."""
    return Entry(name, [count], crafted.F32, bytes(4 * count))


def model(
    entries: Sequence[Entry], *, alignment: int = 32, form: Form = V3, pairs: Sequence[bytes] = ()
) -> bytes:
    """A file whose tensors lie one behind the other, each padded."""
    return b"".join(_pieces(entries, alignment, form, pairs))


def _pieces(
    entries: Sequence[Entry], alignment: int, form: Form, pairs: Sequence[bytes]
) -> Iterator[bytes]:
    keys = [form.pair("general.architecture", crafted.STRING, form.string("llama")), *pairs]
    if alignment != 32:
        keys.append(form.pair("general.alignment", crafted.UINT32, form.u32(alignment)))
    infos, data = [], b""
    for one in entries:
        infos.append(form.tensor(one.name, one.dims, one.number, len(data)))
        data += crafted.padded(one.data, alignment)
    yield crafted.file(keys, infos, data, alignment=alignment, form=form)


def half(value: float, order: str = "<") -> bytes:
    """An IEEE half."""
    return struct.pack(order + "e", value)
