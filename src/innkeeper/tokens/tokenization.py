"""Tokenization: a text taken apart by a tokenizer."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

__all__ = ["Tokenization", "spans"]


class Tokenization(msgspec.Struct, frozen=True, omit_defaults=True):
    """A count and, where the tokenizer can say, its tokens (TavernKit's `Tokenization`).

    ``backend`` names the engine; ``ids`` are vocabulary numbers, ``tokens`` their texts (U+FFFD for part of a character),
    ``offsets`` character ranges in the text, end excluded; ``details`` is what `Counter.describe` says of the choice.
    """

    backend: str
    count: int
    ids: tuple[int, ...] | None = None
    tokens: tuple[str, ...] | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    details: dict[str, Any] = {}

    @property
    def detailed(self) -> bool:
        """Whether there is more than a count."""
        return not (self.ids is None and self.tokens is None and self.offsets is None)


def spans(pieces: Iterable[bytes]) -> tuple[tuple[int, int], ...]:
    """The character range of each of the consecutive UTF-8 pieces of a text; a split character belongs to all its pieces.

    >>> spans([b"a", "é".encode()[:1], "é".encode()[1:], b"b"])
    ((0, 1), (1, 2), (1, 2), (2, 3))
    """
    found, seen = [], 0
    for piece in pieces:
        starts = _starts(piece)
        inside = bool(piece) and _continues(piece[0])
        found.append((seen - 1 if inside else seen, seen + starts))
        seen += starts
    return tuple(found)


def _starts(piece: Sequence[int]) -> int:
    return sum(not _continues(byte) for byte in piece)


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8: a continuation byte is 10xxxxxx
