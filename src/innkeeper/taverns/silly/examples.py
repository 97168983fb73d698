"""Example dialogues: a card's examples as blocks, and a block as the lines of two speakers.

The rules are SillyTavern's (`sillytavern.md` 50): blocks begin at ``<START>``; a line that begins with a speaker's name
begins a turn; text before the first name joins the first turn's speaker.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = ["ExampleTurn", "example_blocks", "example_turns"]

_START: Final = re.compile(r"<START>", re.IGNORECASE)


class ExampleTurn(msgspec.Struct, frozen=True):
    """What one speaker says in an example: ``speaker`` is ``user`` or ``char``."""

    speaker: str
    name: str
    text: str


def example_blocks(text: str) -> list[str]:
    """The blocks of an examples text, without their ``<START>``. A text without one is one block; blank gives none."""
    trimmed = text.replace("\r", "").strip()
    if not trimmed or trimmed == "<START>":
        return []
    if not trimmed.startswith("<START>"):
        trimmed = "<START>\n" + trimmed
    return [block.strip() for block in _START.split(trimmed)[1:]]


def example_turns(block: str, user: str, char: str, members: tuple[str, ...] = ()) -> list[ExampleTurn]:
    """A block's turns. ``members`` are further names that speak as the character (a group's)."""
    turns: list[tuple[str, str, list[str]]] = []
    before: list[str] = []
    for line in block.split("\n"):
        who = _speaker(line, user, char, members)
        if who is not None and not (turns and turns[-1][0] == who[0]):
            turns.append((*who, [*before, line] if not turns else [line]))
            before = []
        elif turns:
            turns[-1][2].append(line)
        else:
            before.append(line)
    return [ExampleTurn(speaker, name, _unnamed("\n".join(lines), name)) for speaker, name, lines in turns]


def _speaker(line: str, user: str, char: str, members: tuple[str, ...]) -> tuple[str, str] | None:
    if line.startswith(f"{user}:"):
        return "user", user
    for name in (char, *members):
        if line.startswith(f"{name}:"):
            return "char", name
    return None


def _unnamed(text: str, name: str) -> str:
    """The text without the first ``Name:`` in it, trimmed."""
    return text.replace(f"{name}:", "", 1).strip()
