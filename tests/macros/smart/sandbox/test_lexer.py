"""The first look at code: what is refused before Python's parser, and what is mended for it."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart.sandbox.lexer import position_parts, prepared
from innkeeper.macros.smart.sandbox.limits import (
    SANDBOX_LIMITS,
    SandboxError,
    SandboxForbiddenError,
    SandboxLimitError,
    SandboxLimits,
    SandboxSyntaxError,
)


@dataclass(frozen=True)
class Case:
    """Code, and what the parser gets of it."""

    code: str
    ready: str


CASES = (
    Case("1 + getvar('a')", "1 + getvar('a')"),
    Case("1if x else 2", "1 if x else 2"),
    Case("0x1for 2", "0x1f or 2"),
    Case(r"'\d'", r"'\\d'"),
    Case(r"r'\d'", r"r'\d'"),
    Case(r"'\n\x41'", r"'\n\x41'"),
    Case(r"'\400'", r"'\u0100'"),
    Case(r"'\101'", r"'\101'"),
    Case("'for'  # for", "'for'  # for"),
    Case("format", "format"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_mended(case: Case) -> None:
    """Only what the parser would warn of is rewritten; texts, comments and longer words are left alone."""
    assert prepared(case.code, SANDBOX_LIMITS) == case.ready


@dataclass(frozen=True)
class Refused:
    """Code, the error, and the line and column it names (``None``: it names none)."""

    name: str
    code: str
    error: type[SandboxError]
    where: tuple[int, int] | None = None


REFUSED = (
    Refused("loop", "1\nx = [y for y in z]", SandboxForbiddenError, (2, 8)),
    Refused("lambda", "lambda: 0", SandboxForbiddenError, (1, 1)),
    Refused("import", "import os", SandboxForbiddenError, (1, 1)),
    Refused("formatted text", "1 + f'{x}'", SandboxForbiddenError, (1, 5)),
    Refused("bytes", "b'x'", SandboxForbiddenError, (1, 1)),
    Refused("too long", "1" * 101, SandboxLimitError),
    Refused("too many brackets", "((((1))))", SandboxLimitError, (1, 4)),
    Refused("too many signs", "----1", SandboxLimitError, (1, 1)),
    Refused("too many nots", "1 if not not not not 1 else 2", SandboxLimitError, (1, 6)),
    Refused("NUL", "1\0", SandboxSyntaxError),
    Refused("half a pair", "'\ud800'", SandboxSyntaxError),
)
TIGHT = SandboxLimits(code_chars=100, brackets=3)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(case: Refused) -> None:
    """Words and texts that the language does not have, and what exceeds a limit, are typed errors with their place."""
    with pytest.raises(case.error) as caught:
        prepared(case.code, TIGHT)
    where = caught.value.where
    assert (where and (where.line, where.column)) == case.where


def test_brackets_are_counted_inside_one_another() -> None:
    """Brackets beside one another do not nest."""
    assert prepared("((1)) + ((2)) + [[3]]", TIGHT) == "((1)) + ((2)) + [[3]]"


@given(st.text("ab\n\t é", max_size=20), st.integers(0, 20))
def test_a_place_is_where_the_offset_is(code: str, offset: int) -> None:
    """Line and column, counted from 1, lead back to the offset, and the excerpt is that line."""
    offset = min(offset, len(code))
    found = position_parts(code, offset)
    line, column = found["line"], found["column"]
    assert isinstance(line, int)
    assert isinstance(column, int)
    lines = code.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == offset
    assert found["excerpt"] == lines[line - 1]


@given(st.lists(st.sampled_from([r"\d", r"\x41", r"\777", r"\1", r"\\", "a", "é", r"\'", r"\ "]), max_size=6))
def test_a_mended_text_means_the_same(pieces: list[str]) -> None:
    """Escapes are rewritten without a change of what the text is, and without a warning."""
    code = f"'{''.join(pieces)}'"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        meant = ast.literal_eval(code)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ast.literal_eval(prepared(code, SANDBOX_LIMITS)) == meant
