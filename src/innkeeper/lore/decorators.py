"""Decorators: the ``@@`` lines at the head of an entry that SillyTavern acts on.

A line is one when it begins with a known name; ``@@@name`` stands in for an unknown line right before it. Known lines and
unknown ``@@`` lines are cut from the text, but only an exact known line acts. An entry that is nothing but such lines keeps
them as its text, and they act (`sillytavern.md` 36).
"""

from __future__ import annotations

from typing import Final

ACTIVATE: Final = "@@activate"
SUPPRESS: Final = "@@dont_activate"
MARK: Final = "@@"
_KNOWN: Final = (ACTIVATE, SUPPRESS)


def split_decorators(content: str) -> tuple[frozenset[str], str]:
    """The decorators that act, and the text without the lines at its head."""
    lines, text = decorator_lines(content)
    return frozenset(lines) & frozenset(_KNOWN), text


def decorator_lines(content: str) -> tuple[tuple[str, ...], str]:
    """Return the decorator lines at the head, fallbacks under the name they stand in for, and the text without the head."""
    if not content.startswith(MARK):
        return (), content
    lines = content.split("\n")
    matching: list[str] = []
    fallback = False
    for index, line in enumerate(lines):
        if not line.startswith(MARK):
            return tuple(matching), "\n".join(lines[index:])
        name = line[1:] if line.startswith("@@@") else line
        if line.startswith("@@@") and not fallback:
            continue
        fallback = not name.startswith(_KNOWN)
        if not fallback:
            matching.append(name)
    return tuple(matching), content
