"""SourceMap: where each character of a final payload came from, for any dialect, those of guests included.

A dialect says nothing about what it does with text. So it renders twice: once for real and once with a private token in
place of each text (`innkeeper.prompt.payload.sentinels`). Both payloads are walked side by side; in each string the tokens give
the order of texts and what the dialect wrote between them; that reading must rebuild the real string, character for character.
Where it does not (the dialect treats content by what it says), the string as a whole is laid to its blocks, ``exact=False``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.payload.dialect import known_options
from innkeeper.prompt.payload.sentinels import Sentinels, SentinelSource, strings
from innkeeper.prompt.text import escaped, printable

if TYPE_CHECKING:
    from innkeeper.prompt.block import Block
    from innkeeper.prompt.payload.dialect import Dialects
    from innkeeper.prompt.plan import Plan


DIALECT: Final = Origin(OriginAsset.DIALECT)
"""The origin of text that the dialect itself wrote."""

_READINGS: Final = 16
"""The number of readings of one string that are followed at once."""

_MISSING: Final = object()


class SourceRange(msgspec.Struct, frozen=True, omit_defaults=True):
    """Characters ``start`` to ``end`` (code points, end not included) of the string at ``pointer``.

    ``pointer`` is a JSON Pointer (RFC 6901). ``block_id`` is ``None`` for text that no block holds. ``exact`` is false where the
    string was laid to its blocks as a whole.
    """

    pointer: str
    start: int
    end: int
    origin: Origin
    text: str
    block_id: str | None = None
    exact: bool = True


class SourceMap(msgspec.Struct, frozen=True):
    """The ranges of a payload in document order. Those of one string, joined, are that string."""

    payload: Any
    ranges: tuple[SourceRange, ...]

    @property
    def exact(self) -> bool:
        """Whether every range is."""
        return all(each.exact for each in self.ranges)

    def leaf(self, pointer: str) -> tuple[SourceRange, ...]:
        """The ranges of the string at ``pointer``; none for an empty string. Raises `UnknownNameError`."""
        ranges = tuple(each for each in self.ranges if each.pointer == pointer)
        if not ranges and pointer not in dict(_leaves(self.payload)):
            raise UnknownNameError("string in the payload", pointer, {each.pointer for each in self.ranges})
        return ranges

    def at(self, pointer: str, offset: int = 0) -> SourceRange:
        """The range of one character. Raises `UnknownNameError` for the pointer, `UsageError` for the offset."""
        for each in self.leaf(pointer):
            if each.start <= offset < each.end:
                return each
        raise UsageError(f"the string at {pointer!r} has no character {offset}")

    def of_block(self, block_id: str) -> tuple[SourceRange, ...]:
        """Everything that came from one block."""
        return tuple(each for each in self.ranges if each.block_id == block_id)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the ranges, without the payload."""
        facts: dict[str, Any] = {"exact": self.exact, "ranges": msgspec.to_builtins(self.ranges)}
        return facts


class _StringRun(msgspec.Struct, frozen=True):
    """A run of one string while it is being read: by which source, from which character of it."""

    text: str
    source: SentinelSource | None = None
    offset: int = 0
    exact: bool = True


def source_map(
    plan: Plan, dialect: str | None = None, *, request: bool = False, dialects: Dialects | None = None, **options: Any
) -> SourceMap:
    """The source map of ``plan.to_messages(dialect, **options)``, or with ``request`` of ``plan.to_request(...)``.

    Raises what the dialect raises.
    """
    render = plan.to_request if request else plan.render
    payload = known_options(render(dialect, dialects=dialects, **options), options).body
    marks = Sentinels(plan.blocks, payload)
    shadow = _shadow(plan.with_blocks(marks.blocks), dialect, dialects, options, request=request)
    strings_read = list(_walk(payload, shadow, marks, plan.blocks))
    return SourceMap(payload, tuple(_ranges(strings_read, plan, _request_origins(plan, options))))


def _shadow(
    plan: Plan, dialect: str | None, dialects: Dialects | None, options: Mapping[str, Any], *, request: bool
) -> Any:
    """The payload with tokens; nothing, when the dialect does not take them (a template may refuse any text)."""
    render = plan.to_request if request else plan.render
    try:
        return render(dialect, dialects=dialects, **options).body
    except InnkeeperError:
        return _MISSING


def _leaves(payload: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(payload, str):
        yield pointer, payload
    else:
        for key, item in _children(payload):
            yield from _leaves(item, f"{pointer}/{_escaped(key)}")


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(str(index), item) for index, item in enumerate(value)]
    return []


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _walk(
    real: Any, shadow: Any, marks: Sentinels, blocks: Sequence[Block], pointer: str = ""
) -> Iterator[tuple[str, list[_StringRun]]]:
    """Each string of the payload with its parts."""
    if isinstance(real, str) and isinstance(shadow, str):
        yield pointer, _read(real, *marks.split(shadow)) or _laid(real, marks.split(shadow)[1], marks)
        return
    inner, other = _children(real), _children(shadow)
    if not isinstance(real, str) and [key for key, _ in inner] == [key for key, _ in other]:
        for (key, item), (_, twin) in zip(inner, other, strict=True):
            yield from _walk(item, twin, marks, blocks, f"{pointer}/{_escaped(key)}")
        return
    # The payloads differ in shape here (a dialect merged or parsed something): search the sources of the shadow's strings.
    near = [source for text in strings(shadow) for source in marks.split(text)[1]] or _all_sources(blocks)
    for leaf, text in _leaves(real, pointer):
        yield leaf, _laid(text, near, marks)


def _all_sources(blocks: Sequence[Block]) -> list[SentinelSource]:
    return [
        SentinelSource(block.content, frozenset((index,)), block.ranges())
        for index, block in enumerate(blocks)
        if block.content.strip()
    ]


class _StringReading(msgspec.Struct, frozen=True):
    """A way to read a string up to some character: the last step, and the reading before it."""

    parts: tuple[_StringRun, ...]
    before: _StringReading | None = None

    def unrolled(self) -> list[_StringRun]:
        steps, step = [], self
        while step.before is not None:
            steps.append(step.parts)
            step = step.before
        steps.append(step.parts)
        return [part for parts in reversed(steps) for part in parts]


def _read(real: str, literals: list[str], sources: list[SentinelSource]) -> list[_StringRun]:
    """``real`` as literals and sources in turn, when they rebuild it; else nothing."""
    first = literals[0]
    if not sources and real == first:
        return [_StringRun(real)]
    # All readings of the string are followed side by side, by the character that each has reached: stripping makes a source
    # ambiguous where white space or a repeated text follows. At each character the first reading wins, up to `_READINGS`.
    readings = {len(first): _StringReading((_StringRun(first),))} if real.startswith(first) else {}
    for source, literal in zip(sources, literals[1:], strict=True):
        further: dict[int, _StringReading] = {}
        for start, reading in readings.items():
            # a template may strip white space: try the text as it is and stripped, with the offset at which each begins
            left = len(source.text) - len(source.text.lstrip())
            variants = {source.text: 0, source.text.rstrip(): 0, source.text[left:]: left, source.text.strip(): left}
            variants.pop("", None)
            for text, offset in variants.items():
                middle = start + len(text)
                if real.startswith(text, start) and real.startswith(literal, middle):
                    step = _StringReading((_StringRun(text, source, offset), _StringRun(literal)), reading)
                    further.setdefault(middle + len(literal), step)
        readings = dict(list(further.items())[:_READINGS])
    return readings[len(real)].unrolled() if sources and len(real) in readings else []


def _laid(text: str, sources: list[SentinelSource], marks: Sentinels) -> list[_StringRun]:
    """Assign ``text`` to its sources as well as possible: to the content it equals, to the only source, or by search."""
    same = marks.content(text)
    if same is not None:
        sources = [same]
    blocks = {source.blocks for source in sources}
    if len(blocks) == 1:
        only = sources[0]
        pieces = (Piece(text, only.pieces[0].origin),) if only.pieces else ()
        return [_StringRun(text, SentinelSource(text, only.blocks, pieces, only.field), exact=False)]
    parts, end = [], 0
    for source in sources:
        stripped = source.text.strip()
        start = text.find(stripped, end) if stripped else -1
        if start >= 0:
            offset = source.text.find(stripped)
            parts += [_StringRun(text[end:start], exact=False), _StringRun(stripped, source, offset, exact=False)]
            end = start + len(stripped)
    return [*parts, _StringRun(text[end:], exact=False)]


def _ranges(
    strings_read: list[tuple[str, list[_StringRun]]], plan: Plan, origins: Mapping[str, Origin]
) -> Iterator[SourceRange]:
    """The parts as ranges, each with its block and origin."""
    near = _blocks_near(strings_read)
    busy = {_top(pointer) for pointer, parts in strings_read if any(part.source for part in parts)}
    for pointer, parts in strings_read:
        start = 0
        for part in parts:
            for origin, block, text in _origins(part, pointer, parts, plan.blocks, near):
                known = origins.get(text, origin) if part.source is None and _top(pointer) not in busy else origin
                yield SourceRange(pointer, start, start + len(text), known, text, block, part.exact)
                start += len(text)


def _origins(
    part: _StringRun, pointer: str, parts: list[_StringRun], blocks: Sequence[Block], near: Mapping[str, set[int]]
) -> Iterator[tuple[Origin, str | None, str]]:
    source = part.source
    if not part.text:
        return
    if source is None:
        yield DIALECT, None, part.text
    elif source.pieces:
        for origin, text in _clipped(source.pieces, part.offset, len(part.text)):
            yield origin, blocks[min(source.blocks)].id, text
    else:
        block = blocks[_owner(source, pointer, parts, near)]
        asset = block.origin.asset if block.origin else OriginAsset.UNKNOWN
        yield Origin(asset, source.field), block.id, part.text


def _clipped(pieces: Sequence[Piece], offset: int, length: int) -> Iterator[tuple[Origin, str]]:
    """The pieces between two characters of their text."""
    start = 0
    for piece in pieces:
        text = piece.text[max(offset - start, 0) : max(offset + length - start, 0)]
        start += len(piece.text)
        if text:
            yield piece.origin, text


def _owner(source: SentinelSource, pointer: str, parts: list[_StringRun], near: Mapping[str, set[int]]) -> int:
    """Of the blocks that hold a value, return the one whose text is nearest: in the same string, else in the same object."""
    if len(source.blocks) == 1:
        return min(source.blocks)
    beside = {index for part in parts if part.source and part.source.pieces for index in part.source.blocks}
    while True:
        shared = beside & source.blocks
        if shared or not pointer:
            return min(shared or source.blocks)
        pointer = pointer.rpartition("/")[0]
        beside = near.get(pointer, set())


def _blocks_near(strings_read: list[tuple[str, list[_StringRun]]]) -> dict[str, set[int]]:
    """The blocks that certainly have text under each pointer."""
    near: dict[str, set[int]] = {}
    for pointer, parts in strings_read:
        certain = {min(part.source.blocks) for part in parts if part.source and len(part.source.blocks) == 1}
        above = pointer
        while certain and above:
            above = above.rpartition("/")[0]
            near.setdefault(above, set()).update(certain)
    return near


def _top(pointer: str) -> str:
    return pointer[1:].partition("/")[0]


def _request_origins(plan: Plan, options: Mapping[str, Any]) -> dict[str, Origin]:
    """Origins of the strings that a request holds besides its messages, by their kind."""
    fields = {
        **{f"options.{name}": value for name, value in {**plan.options, **options}.items()},
        "tools": msgspec.to_builtins(plan.tools),
        "stop": plan.stop,
        "model": plan.model,
    }
    return {text: Origin(OriginAsset.REQUEST, field) for field, value in fields.items() for text in strings(value)}


# ----------------------------------------------------------------------------------------------------------- notebooks

_HUES: Final = (255, 150, 60, 320, 195, 20, 105, 290, 175, 350, 225, 80)
"""The colours of the inspector's page, one for each kind of asset, in the order of `OriginAsset`."""

_TINTS: Final = {
    str(asset): f"background:light-dark(oklch(.93 .05 {hue}),oklch(.35 .06 {hue}))"
    for asset, hue in zip(OriginAsset, cycle(_HUES), strict=False)
}


def plan_html(plan: Plan) -> str:
    """Return a plan's messages as an element of a page: each text in the colour of its asset, its origin on pointing at it."""
    assets = dict.fromkeys(piece.origin.asset for block in plan.sent_blocks() for piece in block.ranges())
    legend = " ".join(
        [f'<span style="{_TINTS.get(str(asset), "")}">{escape(printable(str(asset)))}</span>' for asset in assets]
    )
    rows = "".join([_row_html(block) for block in plan.sent_blocks()])
    return f'<div style="color-scheme:light dark"><p>{legend}</p><table style="text-align:left">{rows}</table></div>'


def _row_html(block: Block) -> str:
    texts = "".join(
        [
            f'<span style="{_TINTS.get(str(piece.origin.asset), "")}" title="{escape(printable(str(piece.origin)))}">'
            f"{escape(escaped(piece.text))}</span>"
            for piece in block.ranges()
        ]
    )
    text = f'<td style="white-space:pre-wrap;text-align:left">{texts}</td>'
    return f'<tr><th style="vertical-align:top">{escape(block.role)}</th>{text}</tr>'
