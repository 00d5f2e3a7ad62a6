"""GG12: a vocabulary whose tokens, their arrays and the numbers that point into it disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..files.arrays import StringArray
from ..generated.tokenizers import TOKENIZERS
from .keys import known_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..generated.tokenizers import Tokenizer
    from .findings import Collector
    from .model import Model

    Text = str | bytes

_MODEL = "tokenizer.ggml.model"
_TOKENS = "tokenizer.ggml.tokens"
_TYPES = "tokenizer.ggml.token_type"
_SCORES = "tokenizer.ggml.scores"
_MERGES = "tokenizer.ggml.merges"
_CHARSMAP = "tokenizer.ggml.precompiled_charsmap"

_ASKED_FOR = {  # what is added to a text, and which token that is
    "tokenizer.ggml.add_bos_token": "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.add_eos_token": "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.add_sep_token": "tokenizer.ggml.seperator_token_id",
}

_BYTE = 6  # the type of a token that stands for a byte
_BYTE_FORM = re.compile("<0x[0-9A-F]{2}>")
_BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]

_TOGETHER = 1 << 14  # tokens looked at together
_PIECE = 1 << 22  # bytes of merges looked at together


def check(model: Model, found: Collector) -> None:
    """Add what is wrong with the vocabulary, if there is one."""
    name = model.value(_MODEL)
    tokenizer = TOKENIZERS.get(name) if isinstance(name, str) else None
    tokens = _strings(model, _TOKENS)
    if tokenizer and tokenizer.vocabulary:
        lacking = [key for key in (_TOKENS, *tokenizer.needs) if key not in model.metadata]
        if lacking:
            found.add("GG1201", **model.place(_MODEL), tokenizer=name, keys=lacking)
    if tokens is not None:
        _check_ids(model, found, len(tokens))
        _check_size(model, found, len(tokens))
        if tokenizer:
            _check_defaults(model, found, tokenizer, len(tokens))
        if len(tokens) <= found.limit("GG1212"):
            _check_tokens(model, found, tokens, tokenizer)
        else:
            found.add("GG1212", **model.place(_TOKENS), count=len(tokens))
    _check_scores(model, found)
    _check_merges(model, found)
    _check_charsmap(model, found)


def _strings(model: Model, key: str) -> StringArray | None:
    value = model.value(key)
    return value if isinstance(value, StringArray) else None


def _check_ids(model: Model, found: Collector, count: int) -> None:
    for name, key in known_keys(model):
        if key.indexes != _TOKENS:
            continue
        value = model.value(name)
        if hasattr(value, "dtype"):
            value = next(iter(value[(value < 0) | (value >= count)].tolist()), None)
        if isinstance(value, int) and not 0 <= value < count:
            found.add("GG1202", **model.place(name), key=name, value=value, count=count)


def _check_size(model: Model, found: Collector, count: int) -> None:
    key = f"{model.architecture}.vocab_size"
    value = model.value(key)
    if isinstance(value, int) and value != count:
        found.add("GG1215", **model.place(key), key=key, value=value, count=count)


def _check_defaults(model: Model, found: Collector, tokenizer: Tokenizer, count: int) -> None:
    valid = set()
    for key in {*tokenizer.defaults, *_ASKED_FOR.values()}:
        value = model.value(key, tokenizer.defaults.get(key))
        if isinstance(value, int) and 0 <= value < count:
            valid.add(key)
    for key, value in tokenizer.defaults.items():
        if key not in model.metadata and key not in valid:
            place, name = model.place(_TOKENS), model.value(_MODEL)
            found.add("GG1203", **place, key=key, tokenizer=name, value=value, count=count)
    for flag, key in _ASKED_FOR.items():
        if model.value(flag) is True and key not in valid:
            found.add("GG1204", **model.place(flag), flag=flag, key=key)


def _check_tokens(
    model: Model, found: Collector, tokens: StringArray, tokenizer: Tokenizer | None
) -> None:
    place = model.place(_TOKENS)
    start, end = tokens.ends()
    length = end - start
    if len(empty := _where(length == 0)):
        found.add("GG1206", **place, count=len(empty), first=empty[0])
    if len(long := _where(length > found.limit("GG1208"))):
        found.add("GG1208", **place, count=len(long), first=long[0])
    left_out = {*empty, *long}
    seen, nul = _distinct(tokens, left_out)
    if nul:
        found.add("GG1207", **place, count=len(nul), token=tokens[nul[0]], first=nul[0])
    if len(seen) < len(tokens) - len(left_out):
        count, first, again = _repeated(tokens, left_out)
        found.add("GG1205", **place, count=count, token=tokens[again], first=first, again=again)
    types = model.value(_TYPES)
    if getattr(types, "ndim", 0) == 1:
        strange = [number for number in _where(types == _BYTE) if number < len(tokens)]
        strange = [number for number in strange if not _is_byte(tokens[number])]
        if strange:
            token = tokens[strange[0]]
            found.add("GG1209", **place, count=len(strange), token=token, first=strange[0])
    if tokenizer and tokenizer.bytes:
        lacking = [token for token in _BYTE_TOKENS if token not in seen]
        if lacking:
            name = model.value(_MODEL)
            found.add("GG1210", **place, count=len(lacking), tokenizer=name, token=lacking[0])


def _where(mask: NDArray[Any]) -> list[int]:
    numbers: list[int] = mask.nonzero()[0].tolist()
    return numbers


def _is_byte(token: Text) -> bool:
    return isinstance(token, str) and _BYTE_FORM.fullmatch(token) is not None


def _distinct(tokens: StringArray, left_out: set[int]) -> tuple[set[Text], list[int]]:
    """The tokens as C strings, each once, and the numbers of those with a NUL byte."""
    seen: set[Text] = set()
    nul: list[int] = []
    for numbers, chunk in _chunks(tokens, left_out):
        if _may_have_nul(chunk):
            nul += [n for n, token in zip(numbers, chunk, strict=True) if _c_string(token) != token]
            seen.update(map(_c_string, chunk))
        else:
            seen.update(chunk)
    return seen, nul


def _repeated(tokens: StringArray, left_out: set[int]) -> tuple[int, int, int]:
    """How many tokens are there again, and the numbers of the first of them."""
    numbers_of: dict[Text, int] = {}
    count, first, again = 0, 0, 0
    for numbers, chunk in _chunks(tokens, left_out):
        for number, token in zip(numbers, map(_c_string, chunk), strict=True):
            earlier = numbers_of.setdefault(token, number)
            if earlier != number:
                if not count:
                    first, again = earlier, number
                count += 1
    return count, first, again


def _chunks(tokens: StringArray, left_out: set[int]) -> Iterator[tuple[Sequence[int], list[Text]]]:
    """The tokens, some at a time, with their numbers."""
    for first in range(0, len(tokens), _TOGETHER):
        numbers: Sequence[int] = range(first, min(first + _TOGETHER, len(tokens)))
        if not left_out or left_out.isdisjoint(numbers):
            yield numbers, tokens[first : first + _TOGETHER]
        else:
            numbers = [number for number in numbers if number not in left_out]
            yield numbers, [tokens[number] for number in numbers]


def _may_have_nul(chunk: list[Text]) -> bool:
    try:
        return "\0" in "".join(chunk)  # type: ignore[arg-type]
    except TypeError:  # some are no UTF-8
        return True


def _c_string(token: Text) -> Text:
    return token.partition("\0")[0] if isinstance(token, str) else token.partition(b"\0")[0]


def _check_scores(model: Model, found: Collector) -> None:
    import numpy as np

    scores = model.value(_SCORES)
    if getattr(getattr(scores, "dtype", None), "kind", "") == "f":
        nan = _where(np.isnan(scores))
        if nan:
            found.add("GG1213", **model.place(_SCORES), count=len(nan), first=nan[0])


def _check_merges(model: Model, found: Collector) -> None:
    merges = _strings(model, _MERGES)
    if merges is None or not len(merges):
        return
    count, first = 0, 0
    for number in _not_two_parts(merges):
        first = first if count else number
        count += 1
    if count:
        place, merge = model.place(_MERGES), bytes(merges.raw(first)[:1024])
        found.add("GG1211", **place, count=count, merge=merge, first=first)


def _not_two_parts(merges: StringArray) -> Iterator[int]:
    """The numbers of merges that have no space between two other bytes."""
    import numpy as np

    start, end = merges.ends()
    view, first = merges.stored.source.view, 0
    while first < len(merges):
        last = int(np.searchsorted(end, start[first] + _PIECE, "right"))
        if last <= first:  # one text of megabytes is no merge
            yield first
            first += 1
            continue
        base = int(start[first])
        block = np.frombuffer(view[base : int(end[last - 1])], np.uint8)
        spaces = np.flatnonzero(block == ord(" "))
        inside = np.searchsorted(spaces, start[first:last] + 1 - base)
        outside = np.searchsorted(spaces, end[first:last] - 1 - base)
        yield from (first + at for at in _where(inside >= outside))
        first = last


def _check_charsmap(model: Model, found: Collector) -> None:
    if model.type(_CHARSMAP) not in ("ARRAY[UINT8]", "ARRAY[INT8]"):
        return
    raw = model.metadata.stored(_CHARSMAP).bytes()
    size = int.from_bytes(raw[:4], "little")
    if len(raw) < 4 or size + 4 >= len(raw):
        found.add("GG1214", **model.place(_CHARSMAP), count=len(raw), size=size)
