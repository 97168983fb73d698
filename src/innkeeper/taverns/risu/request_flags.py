"""Request flags: what RisuAI does to a finished prompt for the sake of the model that gets it.

Models differ in where a system message may stand, whether roles must alternate, and whether the user must begin. The table
``models.json`` has the flags of each model RisuAI knows; one that it does not know has none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.typed.once import once
from innkeeper.taverns.risu.line import PromptLine, joined, line

FULL_SYSTEM: Final = "hasFullSystemPrompt"
FIRST_SYSTEM: Final = "hasFirstSystemPrompt"
ALTERNATES: Final = "requiresAlternateRole"
USER_FIRST: Final = "mustStartWithUserInput"

SLOT: Final = "{{slot}}"
_OWN: Final = Origin(OriginAsset.ENGINE, "request_flags")


class RisuModel(msgspec.Struct, frozen=True):
    """A model RisuAI knows: its flags, the format of its requests, the options it takes, and its provider's name for it."""

    flags: frozenset[str] = frozenset()
    format: str = ""
    parameters: tuple[str, ...] = ()
    internal: str = ""


def model_of(name: str) -> RisuModel | None:
    """What is known of a model, `None` for one that RisuAI does not know."""
    return _models().get(name)


@once
def _models() -> dict[str, RisuModel]:
    families: list[dict[str, Any]] = json.loads(Path(__file__).with_name("models.json").read_text("utf-8"))
    return {
        name: RisuModel(frozenset(family["flags"]), family["format"], tuple(family["parameters"]), internal or name)
        for family in families
        for name, internal in family["models"].items()
    }


def flagged(
    lines: Sequence[PromptLine], flags: Collection[str], *, replacement: str = "", role: str = "user"
) -> tuple[PromptLine, ...]:
    """The lines as a model with these flags gets them.

    ``replacement`` is the text of a system line that may not be one, with ``{{slot}}`` for its own, and ``role`` its role.
    """
    rest, first = list(lines), None
    if FULL_SYSTEM not in flags:
        if FIRST_SYSTEM in flags:
            while rest and rest[0].role == "system":
                head = rest.pop(0)
                first = head if first is None else joined(first, head, "\n\n")
        rest = [_without_system(item, replacement or f"system: {SLOT}", role) for item in rest]
    if ALTERNATES in flags:
        rest = _alternating(rest)
    if USER_FIRST in flags and (not rest or rest[0].role != "user"):
        rest.insert(0, line("user", " ", _OWN, "request_flags"))
    return tuple(rest if first is None else [first, *rest])


def _without_system(item: PromptLine, replacement: str, role: str) -> PromptLine:
    if item.role != "system":
        return item
    before, _, after = replacement.partition(SLOT)
    pieces = (Piece(before, _OWN), *item.pieces, Piece(after, _OWN)) if SLOT in replacement else (Piece(before, _OWN),)
    return msgspec.structs.replace(item, role=role, pieces=tuple(piece for piece in pieces if piece.text))


def _alternating(lines: Sequence[PromptLine]) -> list[PromptLine]:
    result: list[PromptLine] = []
    for item in lines:
        if result and result[-1].role == item.role:
            result[-1] = joined(result[-1], item, "\n")
        else:
            result.append(item)
    return result
