"""Pieces: what a turn says, in the order in which it stands: thoughts, texts, media, calls, and blocks of one provider alone.

Dialects whose messages are lists write them one by one. Where a message says nothing of the order (`innkeeper.prompt.parts`), it
is that of these words, and its cache mark is its last piece's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import jsonable
from innkeeper.dialects.turn import Turn
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.parts import aligned

_KNOWN: Final = frozenset({"type", "text", "shape", "block"})
_MARKABLE: Final = frozenset({"text", "attachment", "call", "other"})


class Piece(msgspec.Struct, frozen=True):
    """One of them: its ``kind`` as in `innkeeper.prompt.parts`, what it is, and the fields of its own."""

    kind: str
    value: Any
    own: Mapping[str, Any] = EMPTY

    def fields(self) -> dict[str, Any]:
        """The fields of its own, JSON-ready."""
        fields: dict[str, Any] = jsonable(self.own) if self.own else {}
        return fields


def pieces_of(turn: Turn) -> list[Piece]:
    """The pieces of a turn, with what it is now: its text, and its attachments, calls and thoughts one after another."""
    pieces = _ordered(turn) if turn.parts else _plain(turn)
    last = pieces[-1] if pieces else None
    if turn.cache and last is not None and last.kind in _MARKABLE:
        pieces[-1] = Piece(last.kind, last.value, {**last.own, "cache_control": turn.cache})
    return pieces


def _plain(turn: Turn) -> list[Piece]:
    text = [Piece("text", turn.text)] if turn.text else []
    thoughts = [Piece("reasoning", part) for part in turn.reasoning]
    media = [Piece("attachment", item) for item in turn.attachments]
    return [*thoughts, *text, *media, *(Piece("call", call) for call in turn.calls)]


def _ordered(turn: Turn) -> list[Piece]:
    texts = aligned([str(part.get("text")) for part in turn.parts if part.get("type") == "text"], turn.text)
    sources: dict[str, Iterator[Any]] = {
        "text": iter(texts if texts or not turn.text else [turn.text]),
        "attachment": iter(turn.attachments),
        "reasoning": iter(turn.reasoning),
        "call": iter(turn.calls),
    }
    pieces = []
    for part in turn.parts:
        kind = str(part.get("type"))
        value = part.get("block") if kind == "other" else next(sources.get(kind, iter(())), None)
        if value is not None and value != "":
            own = {name: item for name, item in part.items() if name not in _KNOWN}
            pieces.append(Piece(kind, value, own))
    thoughts = [Piece("reasoning", value) for value in sources["reasoning"]]
    return [*thoughts, *pieces, *(Piece(kind, value) for kind, values in sources.items() for value in values)]


def listed(turn: Turn) -> list[dict[str, Any]]:
    """The parts of a turn in the usual order, as a message that says of its order lists them."""
    named = ((piece.kind, piece.value) for piece in _plain(turn))
    return [{"type": kind, **({"text": value} if kind == "text" else {})} for kind, value in named]


def texts_of(turn: Turn) -> int:
    """How many texts a turn is written as."""
    return sum(part.get("type") == "text" for part in turn.parts) if turn.parts else 1
