"""From a model's text to the JSON object in it: bare, fenced, in ``<directives>`` or ``<json>`` tags, or among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from innkeeper.inference.errors import DirectivesError
from innkeeper.inference.limits import MAX_DIRECTIVE_BYTES, SAMPLE_CHARACTERS
from innkeeper.inference.tools.arguments import unfenced

__all__ = ["parse_object"]

_WRAPPER: Final = re.compile(r"<(/?)(directives|json)>", re.IGNORECASE)
_MARK: Final = re.compile(r'["{}\\]')
_OBJECT: Final = re.compile(r'\{\s*+"')
_MAX_STARTS: Final = 8
"""Opening braces that are tried before the text counts as holding no object."""


def parse_object(content: Any, max_bytes: int = MAX_DIRECTIVE_BYTES) -> dict[str, Any]:
    """The object in ``content`` (text, or a mapping already).

    Raises `DirectivesError` with code ``EMPTY``, ``TOO_LARGE``, ``NOT_OBJECT`` or ``INVALID_JSON`` (with a sample).
    """
    if isinstance(content, Mapping):
        return dict(content)
    text = content.strip() if isinstance(content, str) else ""
    if not text:
        _refuse("EMPTY", "the answer is empty")
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        _refuse("TOO_LARGE", f"the answer is larger than {max_bytes:,} bytes")
    value = next(_values(text), text)
    if value is text:
        _refuse("INVALID_JSON", "the answer holds no JSON object", sample=text[:SAMPLE_CHARACTERS])
    if not isinstance(value, dict):
        _refuse("NOT_OBJECT", f"the answer is a JSON {type(value).__name__}, not an object")
    return value


def _values(text: str) -> Iterator[Any]:
    """What the text can be read as, the likeliest first."""
    for candidate in (text, unfenced(text), _unwrapped(text)):
        yield from _read(candidate)
    for candidate in _balanced(text):
        yield from (value for value in _read(candidate) if isinstance(value, dict))


def _read(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


def _unwrapped(text: str) -> str:
    """What stands between the first opening wrapper and the last closing one of its name."""
    tags = list(_WRAPPER.finditer(text))
    first = next((tag for tag in tags if not tag[1]), None)
    if first is None:
        return ""
    ends = [tag.start() for tag in tags if tag[1] and tag[2].lower() == first[2].lower() and tag.start() >= first.end()]
    return unfenced(text[first.end() : ends[-1]]) if ends else ""


def _balanced(text: str) -> Iterator[str]:
    """Stretches from a brace to the one that closes it, from the first braces on; linear for each of them.

    A brace that begins an object and is never closed ends the search: the answer was cut, and what is inside is not it.
    """
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        end = _end(text, start) if start >= 0 else None
        if start < 0 or (end is None and _OBJECT.match(text, start)):
            return
        if end is not None:
            yield text[start:end]
        start = text.find("{", start + 1 if end is None else end)


def _end(text: str, start: int) -> int | None:
    """Where the object that begins at ``start`` ends; braces in strings do not count."""
    depth, quoted, skip = 0, False, -1
    for found in _MARK.finditer(text, start):
        mark, place = found[0], found.start()
        if place == skip:
            continue
        if mark == "\\":
            skip = place + 1
        elif mark == '"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return place + 1
    return None


def _refuse(code: str, message: str, **details: Any) -> NoReturn:
    raise DirectivesError(message, code=code, **details)
