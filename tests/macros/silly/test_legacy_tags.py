"""The finders of the former engine agree with the regular expressions they stand for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.silly.legacy_tags import Finder, assigned, exactly, on_line, quoted, to_close, within_braces

FINDERS: dict[str, tuple[Finder, str]] = {
    "exact": (exactly("{{a}}"), r"\{\{a\}\}"),
    "braces": (within_braces(r"\{\{a::([^}]+)\}\}"), r"\{\{a::([^}]+)\}\}"),
    "assigned": (assigned("{{a::", empty=True), r"\{\{a::([^:]+)::([^}]*)\}\}"),
    "assigned, not empty": (assigned("{{a::", empty=False), r"\{\{a::([^:]+)::([^}]+)\}\}"),
    "to close": (to_close("{{a"), r"\{\{a([\s\S]*?)\}\}"),
    "on a line": (on_line("{{a:"), r"\{\{a:([^\n]+?)\}\}"),
    "two on a line": (on_line("{{a::", "::"), r"\{\{a::([^\n]*?)::([^\n]*?)\}\}"),
    "quoted": (quoted('{{a "', '"}}'), r'\{\{a "([^\n]*)"\}\}'),
}
TEXTS = st.lists(
    st.sampled_from(["{{a::", "{{a:", "{{A", '{{a "', "{{a}}", "}}", "}", "{", "::", ":", '"', "x", "\n", " "]),
    max_size=14,
)


@pytest.mark.parametrize("name", FINDERS)
@given(pieces=TEXTS)
def test_finders_agree_with_their_patterns(name: str, pieces: list[str]) -> None:
    """Same spans, same groups, in the same order, for every text."""
    find, pattern = FINDERS[name]
    text = "".join(pieces)
    expected = [(m.start(), m.end(), m.groups()) for m in re.finditer(pattern, text, re.IGNORECASE)]
    assert [(found.start, found.end, found.groups) for found in find(text)] == expected


@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize("tail", ["", "}", "\n}}", "}}"], ids=repr)
def test_many_openers(name: str, tail: str) -> None:
    """A hundred thousand openers without closers are looked through once."""
    find, _ = FINDERS[name]
    for opener in ("{{a::", "{{a:", '{{a "', "{{a::x::"):
        assert len(list(find(opener * 100_000 + tail))) <= 1
