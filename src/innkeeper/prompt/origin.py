"""Origin and Piece: where text came from, and a run of text that knows it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

__all__ = ["Origin", "OriginAsset", "Piece", "join_pieces", "strip_pieces"]


class OriginAsset(StrEnum):
    """What text comes from, in every tavern and dialect. A guest's own step may use a word of its own.

    In the comments, what ``name``, ``field`` and ``entry`` of an `Origin` mean there.
    """

    CHARACTER = "character"  # name: of a group, whose card; field: of the card (``description``); entry: which greeting, example
    PERSONA = "persona"  # field: ``description``
    LOREBOOK = "lorebook"  # name: the book's; field: ``content``; entry: the entry's id
    PRESET = "preset"  # field: ``prompts`` or a field of the preset; entry: the prompt's identifier
    HISTORY = "history"  # a message of the chat; entry: its place, from 0
    MESSAGE = "message"  # what the user says now
    AUTHORS_NOTE = "authors_note"
    INJECTION = "injection"  # entry: the injection's key
    TEMPLATE = "template"  # name: the template's, with its version; field: which part of it
    VARIABLE = "variable"  # field: the variable's name
    REQUEST = (
        "request"  # text given with the request itself; field: ``meta``, ``options``, ``settings`` …; entry: the key
    )
    ENGINE = "engine"  # text Innkeeper itself adds; field: which (``separator``, ``default_system`` …)
    DIALECT = "dialect"  # text the dialect adds to a payload
    UNKNOWN = "unknown"  # nobody said


class Origin(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where text came from: the asset (`OriginAsset`), the field or entry in it, the macro that gave it.

    ``name`` tells assets of one kind apart: of several lorebooks, the book's name.
    """

    asset: str
    field: str | None = None
    entry: str | None = None
    macro: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        """``asset(name).field[entry] {{macro}}``, without the parts that are not known."""
        name = f"({self.name})" if self.name else ""
        field = f".{self.field}" if self.field else ""
        entry = f"[{self.entry}]" if self.entry is not None else ""
        return f"{self.asset}{name}{field}{entry}" + (f" {{{{{self.macro}}}}}" if self.macro else "")


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A run of text with one origin. A block's pieces, concatenated, are its content."""

    text: str
    origin: Origin


def join_pieces(parts: Iterable[Iterable[Piece]], separator: str, origin: Origin) -> tuple[Piece, ...]:
    """The pieces of all parts with ``separator`` (of ``origin``) between parts; parts without text are left out."""
    joined: list[Piece] = []
    for part in parts:
        run = [piece for piece in part if piece.text]
        if not run:
            continue
        if joined and separator:
            joined.append(Piece(separator, origin))
        joined += run
    return tuple(joined)


def strip_pieces(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces of the same text after ``str.strip``: blanks at both ends and empty pieces are gone."""
    run = [piece for piece in pieces if piece.text]
    while run and not run[0].text.strip():
        del run[0]
    while run and not run[-1].text.strip():
        del run[-1]
    if run:
        run[0] = Piece(run[0].text.lstrip(), run[0].origin)
        run[-1] = Piece(run[-1].text.rstrip(), run[-1].origin)
    return tuple(run)
