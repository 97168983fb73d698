"""Where in a template something is: line, column and the line itself, cut to what a terminal shows."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt.errors import Where

__all__ = ["EXCERPT_CHARS", "place_in"]

EXCERPT_CHARS: Final = 100
"""How much of a line an error shows."""

_BEFORE: Final = 60


def place_in(text: str, index: int, asset: str | None = None) -> Where:
    r"""The place of the character at ``index`` (from 0), with the line around it.

    >>> place_in("one\ntwo {{", 8).pointer()
    'two {{\n    ^'
    """
    index = max(0, min(index, len(text)))
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", index)
    column = index - start
    cut = max(0, column - _BEFORE)
    line = text[start + cut : len(text) if end < 0 else end][:EXCERPT_CHARS].rstrip("\r")
    return Where(
        asset=asset, line=text.count("\n", 0, start) + 1, column=column + 1, excerpt=line.replace("\t", " "), cut=cut
    )
