"""Wire: the exact request that a provider gets, text by text with its origin, and how to send it by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.prompt import Plan
from innkeeper.service.inspector.inspection.origins import Origins
from innkeeper.service.inspector.inspection.snippets import MODEL, curl, destination, javascript, python
from innkeeper.service.inspector.views.inspection import Wire, WireRange
from innkeeper.service.inspector.views.workspace import FindingView, Variation

if TYPE_CHECKING:
    from innkeeper.prompt.payload.source_map import SourceRange
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


INDENT: Final = 2


def wire_view(workspace: OpenWorkspace, plan: Plan, variation: Variation | None = None) -> Wire:
    """The body of a plan, in the dialect that it was built for. Raises what `Plan.to_request` raises."""
    name = plan.dialect or "openai"
    payload = plan.to_request(name)
    body = payload.body
    mapped = plan.source_map(name, request=True)
    pretty, texts = _pretty(body)
    origins = Origins(workspace, variation)
    text = body.get("prompt") if isinstance(body, Mapping) else None
    sent = pretty if plan.model else _pretty(plan.with_(model=MODEL).to_request(name).body)[0]
    to = destination(plan, name)
    return Wire(
        dialect=name,
        body=body,
        text=text if isinstance(text, str) else None,
        pretty=pretty,
        lost=tuple(
            FindingView(
                "warning",
                str(note.kind),
                note.message,
                note.hint,
                where=None if note.where is None else str(note.where),
            )
            for note in payload.notes
        ),
        stop=plan.stop,
        fingerprint=plan.fingerprint(name),
        ranges=tuple(_ranges(mapped.ranges, texts, origins)),
        text_ranges=tuple(_ranges(mapped.ranges, {"/prompt": _Text(0, len(text), None)}, origins))
        if isinstance(text, str)
        else (),
        origins=tuple(origins.table),
        address=to.address,
        lacks_model=MODEL in to.address or (not plan.model and sent != pretty),
        curl=curl(to, sent),
        python=python(to, sent),
        javascript=javascript(to, sent),
    )


_NO_TEXTS: Final = ("/role", "/type")
"""Ends of the pointers to words of a protocol, which came from nobody's text."""


class _Text(NamedTuple):
    """A string in the pretty text; ``starts`` are the offsets of its characters, where some are escaped."""

    begin: int
    length: int
    starts: list[int] | None

    def at(self, index: int) -> int:
        """Where a character begins, or the string ends."""
        return self.begin + index if self.starts is None else self.starts[index]


def _pretty(value: Any) -> tuple[str, dict[str, _Text]]:
    """A value as indented JSON, and where each of its strings is in it, by JSON Pointer."""
    parts: list[str] = []
    texts: dict[str, _Text] = {}
    _write(value, "", 0, parts, texts, 0)
    return "".join(parts), texts


def _write(value: Any, pointer: str, level: int, parts: list[str], texts: dict[str, _Text], at: int) -> int:
    """Write a value at the offset ``at``, and return the offset of its end."""

    def put(text: str) -> None:
        nonlocal at
        parts.append(text)
        at += len(text)

    if isinstance(value, str):
        written = _quoted(value)
        plain = len(written) == len(value) + 2
        starts = None if plain else list(accumulate((len(_escaped(char)) for char in value), initial=at + 1))
        texts[pointer] = _Text(at + 1, len(value), starts)
        put(written)
    elif isinstance(value, (Mapping, list, tuple)) and value:
        is_object = isinstance(value, Mapping)
        put("{" if is_object else "[")
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for index, (key, item) in enumerate(items):
            put(("," if index else "") + "\n" + " " * (INDENT * (level + 1)))
            if is_object:
                put(_quoted(str(key)) + ": ")
            child = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            at = _write(item, child, level + 1, parts, texts, at)
        put("\n" + " " * (INDENT * level) + ("}" if is_object else "]"))
    else:
        put(json.dumps(value, ensure_ascii=False, default=str))
    return at


def _quoted(text: str) -> str:
    """A text as JSON; lone surrogates, which no UTF-8 has, by their numbers."""
    return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


_LONE: Final = re.compile("[\ud800-\udfff]")


def _escaped(char: str) -> str:
    """A character as it stands within a string of JSON."""
    return _quoted(char)[1:-1]


def _ranges(mapped: tuple[SourceRange, ...], texts: dict[str, _Text], origins: Origins) -> Iterator[WireRange]:
    """The ranges over the pretty text; neighbours of one origin in one string are one."""
    last: WireRange | None = None
    for each in mapped:
        number = origins.number(each.origin)
        text = texts.get(each.pointer)
        if number is None or text is None or each.end > text.length or each.pointer.endswith(_NO_TEXTS):
            continue
        start, end = text.at(each.start), text.at(each.end)
        if last is not None and last.origin == number and last.end == start:
            last = WireRange(last.start, end, number)
            continue
        if last is not None:
            yield last
        last = WireRange(start, end, number)
    if last is not None:
        yield last
