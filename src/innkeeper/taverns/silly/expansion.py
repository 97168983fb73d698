"""Expander: the macros of this build's texts replaced, with where each range of the result came from.

A text on its way is a tuple of `Piece`: runs of text with their origins, which joined are the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.macros.silly import is_plain, substitute
from innkeeper.macros.silly.card import has_effects
from innkeeper.prompt.block import Origin, OriginAsset, Piece, strip_pieces
from innkeeper.taverns.locator import TextLocator
from innkeeper.text.javascript.values import WHITE_SPACE

Pieces = tuple[Piece, ...]

SEPARATOR: Final = Origin(OriginAsset.ENGINE, "separator")
"""The origin of line breaks between joined texts."""

LINE_BREAK: Final = Piece("\n", SEPARATOR)


def pieces_of(text: str, origin: Origin) -> Pieces:
    """A text of one origin; no piece for no text."""
    return (Piece(text, origin),) if text else ()


def text_of(pieces: Pieces) -> str:
    """The text that pieces make."""
    return pieces[0].text if len(pieces) == 1 else "".join([piece.text for piece in pieces])


def origin_of(pieces: Pieces) -> Origin | None:
    """The origin of a text, macros aside: of several entries the asset alone, of several assets the first one's origin."""
    if len(pieces) == 1:
        return pieces[0].origin
    origins = [piece.origin for piece in pieces if piece is not LINE_BREAK]
    if not origins:
        return None
    first = origins[0]
    address = first.asset, first.name, first.field, first.entry
    same = [origin is first or (origin.asset, origin.name, origin.field, origin.entry) == address for origin in origins]
    if all(same):
        return first if first.macro is None else msgspec.structs.replace(first, macro=None)
    return Origin(first.asset) if all(origin.asset == first.asset for origin in origins) else first


def in_lines(*texts: Pieces) -> Pieces:
    """Texts joined by line breaks, empty ones left out."""
    if len(texts) == 1:
        return texts[0]
    filled = [text for text in texts if text]
    return tuple(piece for index, text in enumerate(filled) for piece in (*((LINE_BREAK,) if index else ()), *text))


def trimmed(pieces: Pieces, *, end: bool = True) -> Pieces:
    """A text without white space, as JavaScript has it, at its beginning and, with ``end``, at its end."""
    return strip_pieces(pieces, end=end, blanks=WHITE_SPACE)


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands macros for this build. ``env`` reads later results, such as lore's outlets, where they are stored.

    ``card_effects`` says that resolving the card changes something. The former engine resolves it for every text, plain ones
    too; then none of them may be left out. ``report`` is told of each text.
    """

    env: MacroEnvironment
    pack: Literal["new", "legacy"] = "new"
    card_effects: bool = False
    report: Callable[[str], None] | None = None

    @property
    def counts_plain(self) -> bool:
        """Whether expanding a text without macros changes something too."""
        return self.card_effects and self.pack == "legacy"

    def is_settled(self, text: str) -> bool:
        """Whether the text is what it would be expanded to, and expanding it would change nothing."""
        return is_plain(text) and not (self.card_effects and text and self.counts_plain)

    def __call__(self, text: str, *, original: str | None = None, bare: bool = False) -> str:
        """The text with its macros replaced; in a ``bare`` one the card's fields are empty."""
        if self.is_settled(text):
            return text
        return self._expanded(text, self.env, original=original, replace_character_card=not bare)

    def is_restless(self, text: str) -> bool:
        """Whether expanding the text changes something."""
        return has_effects(text) or (self.card_effects and ("{{" in text or not self.is_settled(text)))

    def again(self, text: str, *, bare: bool = False) -> None:
        """Expand a text for the effects of its macros alone: reports were made when its result was used."""
        if self.is_restless(text):
            self.silently(text, bare=bare)

    def silently(self, text: str, *, bare: bool = False) -> str:
        """The text with its macros replaced once more; nothing is reported."""
        if self.is_settled(text):
            return text
        return self._expanded(text, replace(self.env, warn=None), replace_character_card=not bare)

    def unreported(self) -> Expander:
        """The same, without notes: for texts that are expanded once more before they are sent."""
        return replace(self, env=replace(self.env, warn=None))

    def ranged(self, text: str, origin: Origin | None = None) -> tuple[str, list[MacroRange]]:
        """Replace the macros of a text, and return the range of each of their outputs."""
        ranges: list[MacroRange] = []
        return text if self.is_settled(text) else self._expanded(text, self.env, origin, ranges=ranges), ranges

    def written(self, text: str, origin: Origin, *, original: str | None = None) -> Pieces:
        """Replace the macros of a text of one origin: their outputs name them."""
        return self.pieces(pieces_of(text, origin), original=original)

    def pieces(
        self, source: Pieces, *, char: str | None = None, original: str | None = None, bare: bool = False
    ) -> Pieces:
        """Pieces with their macros replaced, as one text.

        ``char`` speaks instead of the environment's character; in a ``bare`` text, as a field of the card is one, the card's
        other fields are empty (`sillytavern.md` 14).
        """
        text = text_of(source)
        if is_plain(text) if bare else self.is_settled(text):
            return source
        env = self.env if char is None else replace(self.env, char=char)
        ranges: list[MacroRange] = []
        origin = source[0].origin
        expanded = self._expanded(text, env, origin, original=original, replace_character_card=not bare, ranges=ranges)
        if expanded == text:
            return source
        made = made_pieces(expanded, ranges, origin)
        return made if len(source) == 1 else tuple(_carried(source, text, made))

    def _expanded(self, text: str, env: MacroEnvironment, origin: Origin | None = None, **options: Any) -> str:
        if self.report is not None:
            self.report(text)
        if isinstance(env.locate, TextLocator):
            env.locate.near = origin
        return substitute(text, env, pack=self.pack, **options)


def _carried(source: Pieces, text: str, made: Pieces) -> Iterator[Piece]:
    """The result for a text of several origins: unchanged parts keep their own, a macro's output has that of its tag."""
    offset = 0
    for piece in made:
        start = text.find(piece.text, offset) if piece.origin.macro is None else -1
        if start >= 0:
            offset = start + len(piece.text)
            yield from cut(source, start, offset)
        else:
            origin = next(iter(cut(source, offset, len(text))), source[-1]).origin
            yield Piece(piece.text, msgspec.structs.replace(origin, macro=piece.origin.macro))


def cut(source: Pieces, start: int, end: int) -> Iterator[Piece]:
    """The pieces of a text from one character to another."""
    offset = 0
    for piece in source:
        text = piece.text[max(start - offset, 0) : max(end - offset, 0)]
        offset += len(piece.text)
        if text:
            yield Piece(text, piece.origin)
