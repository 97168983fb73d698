"""Text as the engine accepts it, and Piece: a run of text that knows where it came from.

Lone surrogates become U+FFFD one for one (`innkeeper.prompt.mending`), so offsets stay right; everything else, NUL
included, is kept as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from innkeeper.prompt.mending import scalar_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Origin", "Piece", "join_pieces", "scalar_text", "strip_pieces"]


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where text came from: ``asset`` (``character``, ``history``, a book's name …), the field or entry in it, the macro."""

    asset: str
    field: str | None = None
    entry: str | None = None
    macro: str | None = None

    def __str__(self) -> str:
        """``asset.field[entry]{{macro}}``, without the parts that are not known."""
        field = f".{self.field}" if self.field else ""
        entry = f"[{self.entry}]" if self.entry is not None else ""
        return f"{self.asset}{field}{entry}" + (f" {{{{{self.macro}}}}}" if self.macro else "")


class Piece(msgspec.Struct, frozen=True):
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
