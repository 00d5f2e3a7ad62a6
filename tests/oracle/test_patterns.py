"""The patterns of --tensor-type find what Python's do, and end where those do not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufspec.recipes import pattern_of

_ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a-b_]", r"\.", r"\d", r"\W", r"[\d.-]", "^", "$", r"\b", r"\x61"]
)
_REPEATS = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{2,}", "{0}"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"({'|'.join(some)})"),
        st.tuples(inner, _REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
    )


@given(st.recursive(_ATOMS, _larger, max_leaves=6), st.text("ab.1_ ", min_size=1, max_size=7))
@settings(max_examples=300)
def test_as_in_python(pattern: str, name: str) -> None:
    assert pattern_of(pattern).search(name) == bool(re.search(pattern, name))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("[[:digit:]]", "7"),
        ("[[:alpha:][:space:]]", "aqQ "),
        ("[^[:alnum:]]", "_.- #["),
        ("[[:w:].]", "aqQ7_."),
        ("[[:upper:]]", "Q"),
        ("[[:xdigit:]-]", "a7-"),
        ("[[:punct:]]", "_.-#["),
        ("[]", ""),
        ("[^]", "aqQ7_.- #["),
        ("[[]", "["),
    ],
)
def test_sets(pattern: str, found: str) -> None:
    """Sets as std::regex takes them."""
    assert [char for char in "aqQ7_.- #[" if pattern_of(pattern).search(char)] == list(found)


def test_names_are_bytes() -> None:
    assert pattern_of("^..$").search("é")
    assert pattern_of("[é]").search("é")
    assert not pattern_of(r"\w").search("é")


@pytest.mark.parametrize(
    "pattern",
    ["(.*)*(.*)*(.*)*(.*)*#", "(a|a|aa)*#", "((a+)+)+#", "a{999999999}#", "(?=.*(?=.*(?=.*#)))"],
)
def test_it_ends(pattern: str) -> None:
    assert not pattern_of(pattern).search("a" * 100)
    assert pattern_of(f"{pattern}|b$").search("a" * 100 + "b")


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "*", "a|+", "[a", "[b-a]", "a{2", "a{3,2}", "a{x}", "(?<a)", r"(a)\1", r"\q", "\\",
     "[[:no:]]", "[[.a.]]", "[[=a=]]", r"\x6", "{", "a" * 9 + "{9999999999}", "(" * 60],
)  # fmt: skip
def test_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - each says something else
        pattern_of(pattern)
    assert str(refusal.value)


def test_too_long() -> None:
    with pytest.raises(ValueError, match="takes too long"):
        pattern_of("^(.*#|.*)*(.*#|.*)*x").search("ab" * 60_000)
