"""Activation decorators: the ``@@`` lines at the head of an entry that SillyTavern acts on.

A line is a decorator when it begins with a known name; ``@@@name`` stands in for an unknown line right before it. Known
lines and unknown ``@@`` lines are cut from the text, but only an exact known line acts. An entry that is nothing but
such lines keeps them as its text (`sillytavern.md` 36).
"""

from __future__ import annotations

from typing import Final

__all__ = ["ACTIVATE", "SUPPRESS", "split"]

ACTIVATE: Final = "@@activate"
SUPPRESS: Final = "@@dont_activate"
_KNOWN: Final = (ACTIVATE, SUPPRESS)


def split(content: str) -> tuple[frozenset[str], str]:
    """The decorators that act, and the text without the lines at its head."""
    if not content.startswith("@@"):
        return frozenset(), content
    lines = content.split("\n")
    found: list[str] = []
    fallback = False
    for index, line in enumerate(lines):
        if not line.startswith("@@"):
            return frozenset(found) & frozenset(_KNOWN), "\n".join(lines[index:])
        name = line[1:] if line.startswith("@@@") else line
        if line.startswith("@@@") and not fallback:
            continue
        fallback = not name.startswith(_KNOWN)
        if not fallback:
            found.append(name)
    return frozenset(), content
