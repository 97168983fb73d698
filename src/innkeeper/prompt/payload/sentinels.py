"""Sentinels: a plan in which every text is replaced by a token, so that one can see where a dialect puts each of them.

Content gets a token a block, so that joined blocks stay apart. Names, ids, addresses and other values of metadata get a token a
*value*, so that what was equal stays equal. Text of nothing but white space gets a token of white space, since dialects
treat it differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.parts import aligned
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    from innkeeper.prompt.block import Block
    from innkeeper.prompt.parts import Attachment


_DIGITS: Final = "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
_EDGE: Final = "\u205f"
_STORED_KEYS: Final = frozenset({"type"})
"""Keys whose values are words of a format, not content."""


class SentinelSource(msgspec.Struct, frozen=True):
    """The meaning of a token: a text in pieces, and the blocks (by index) it may come from."""

    text: str
    blocks: frozenset[int]
    pieces: tuple[Piece, ...] = ()
    field: str | None = None


def strings(value: Any) -> Iterator[str]:
    """Every string in plain data, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


class Sentinels:
    """The tokens of one plan. ``blocks`` are its blocks with tokens; `split` finds the tokens in a text."""

    def __init__(self, blocks: tuple[Block, ...], payload: Any) -> None:
        self._taken = [*strings(payload), *(block.content for block in blocks)]
        self._salt = next(salt for salt in range(1 << 30) if not self._occurs(f"Zq{salt}x"))
        self._spaces = not self._occurs(_EDGE)
        blank = rf"|{_EDGE}([{_DIGITS}]+){_EDGE}" if self._spaces else ""
        self._token = re.compile(rf"Zq{self._salt}x([0-9]+)xqZ{blank}")
        self._sources: list[SentinelSource] = []
        self._by_value: dict[str, int] = {}
        self._holders: dict[int, list[int]] = {}
        self.blocks = tuple(self._replaced(index, block) for index, block in enumerate(blocks))
        for number, holders in self._holders.items():
            self._sources[number] = msgspec.structs.replace(self._sources[number], blocks=frozenset(holders))
        self._by_text = {source.text.strip(): source for source in self._sources if source.pieces}

    def content(self, text: str) -> SentinelSource | None:
        """The content of which ``text`` is the whole, white space at its ends aside."""
        return self._by_text.get(text.strip())

    def _occurs(self, text: str) -> bool:
        return any(text in other for other in self._taken)

    def split(self, text: str) -> tuple[list[str], list[SentinelSource]]:
        """Split a text into the literals around the tokens (one more than tokens) and the sources of the tokens."""
        literals, sources, end = [], [], 0
        for match in self._token.finditer(text):
            literals.append(text[end : match.start()])
            sources.append(self._sources[_number(match)])
            end = match.end()
        return [*literals, text[end:]], sources

    def _replaced(self, index: int, block: Block) -> Block:
        content, parts = self._parts(index, block)
        return block.with_(
            content=content,
            pieces=(),
            name=self._value(index, block.name, "name") if block.name else block.name,
            attachments=tuple(self._attachment(index, item) for item in block.attachments),
            message_metadata=FrozenDict({**self._data(index, block.message_metadata, "metadata"), **parts}),
        )

    def _parts(self, index: int, block: Block) -> tuple[str, Mapping[str, Any]]:
        """The content, and the parts of its message, each text of them by itself, as `aligned` finds it."""
        listed = block.message_metadata.get("parts") or ()
        texts = [text_of_part for part in listed if (text_of_part := part.get("text")) is not None]
        if not texts or not block.content:
            return self._content(index, block), {}
        tokens, end = [], 0
        for text in aligned(texts, block.content):
            at = block.content.find(text, end)
            tokens.append(self._content(index, block, (at, at + len(text))) if text else "")
            end = at + len(text)
        spelt = iter(tokens)
        parts = [FrozenDict({**part, "text": next(spelt)}) if part.get("text") is not None else part for part in listed]
        return "\n".join(tokens), {"parts": tuple(parts)}

    def _content(self, index: int, block: Block, span: tuple[int, int] | None = None) -> str:
        content = block.content if span is None else block.content[slice(*span)]
        if not content:
            return ""
        blank = content.isspace()
        if blank and not self._spaces:
            return content
        text = scalar_text(content)
        pieces = _pieces(block, scalar_text(block.content))
        self._sources.append(SentinelSource(text, frozenset((index,)), pieces if span is None else _cut(pieces, *span)))
        return self._spelt(len(self._sources) - 1, blank=blank)

    def _spelt(self, number: int, *, blank: bool) -> str:
        if blank:
            return _EDGE + "".join(_DIGITS[int(digit)] for digit in str(number)) + _EDGE
        return f"Zq{self._salt}x{number}xqZ"

    def _value(self, index: int, value: str, field: str) -> str:
        if not value.strip():
            return value
        number = self._by_value.get(value)
        if number is None:
            number = self._by_value[value] = len(self._sources)
            self._sources.append(SentinelSource(scalar_text(value), frozenset((index,)), field=field))
        self._holders.setdefault(number, []).append(index)
        return self._spelt(number, blank=False)

    def _attachment(self, index: int, item: Attachment) -> Attachment:
        texts = {key: getattr(item, key) for key in ("url", "data", "name") if getattr(item, key)}
        tokens = {key: self._value(index, text, f"attachments.{key}") for key, text in texts.items()}
        return msgspec.structs.replace(item, **tokens)

    def _data(self, index: int, value: Any, field: str) -> Any:
        if isinstance(value, str):
            return self._value(index, value, field)
        if isinstance(value, Mapping):
            return FrozenDict(
                {
                    key: item if key in _STORED_KEYS else self._data(index, item, f"{field}.{key}")
                    for key, item in value.items()
                }
            )
        if isinstance(value, (list, tuple)):
            return tuple(self._data(index, item, field) for item in value)
        return value


def _number(match: re.Match[str]) -> int:
    if match[1] is not None:
        return int(match[1])
    return int("".join(str(_DIGITS.index(digit)) for digit in match[2]))


def _cut(pieces: tuple[Piece, ...], start: int, end: int) -> tuple[Piece, ...]:
    """The pieces of a range of the text that they make."""
    cut, at = [], 0
    for piece in pieces:
        text = piece.text[max(0, start - at) : max(0, end - at)]
        at += len(piece.text)
        if text:
            cut.append(Piece(text, piece.origin))
    return tuple(cut)


def _pieces(block: Block, text: str) -> tuple[Piece, ...]:
    """The block's pieces with safe text, or one piece when they are not its content."""
    pieces = tuple(Piece(scalar_text(piece.text), piece.origin) for piece in block.ranges())
    if "".join(piece.text for piece in pieces) == text:
        return pieces
    return (Piece(text, block.origin or Origin(OriginAsset.UNKNOWN)),)
