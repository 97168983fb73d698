"""Selection: the part of a JSON answer that a dotted path names, such as ``usage.total``, ``models[0]`` or ``models[].name``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from innkeeper.prompt.errors import UnknownNameError, UsageError

EACH: Final = None
"""The part of a path that goes through all items of a list: ``[]``."""

_PART: Final = re.compile(r"\.?([^.\[\]]+)|\[(-?\d*)\]")


def path_parts(path: str) -> list[str | int | None]:
    """Return the keys, numbers and `EACH` of a path; a dot in front is allowed. Raises `UsageError`."""
    parts: list[str | int | None] = []
    position = 1 if path in {".", ""} or path.startswith(".[") else 0
    while position < len(path):
        match = _PART.match(path, position)
        if match is None:
            raise UsageError(f"{path!r:.100} is no path of an answer", hint="write it like models[].name")
        parts.append(match[1] if match[1] is not None else int(match[2]) if match[2] else EACH)
        position = match.end()
    return parts


def select(value: Any, parts: Sequence[str | int | None]) -> Iterator[Any]:
    """Yield what a path leads to in a JSON value. Raises `UnknownNameError` for a key that is not there, `UsageError`."""
    if not parts:
        yield value
        return
    part, rest = parts[0], parts[1:]
    if isinstance(part, str):
        if not isinstance(value, dict) or part not in value:
            raise UnknownNameError("key", part, value if isinstance(value, dict) else ())
        yield from select(value[part], rest)
    elif not isinstance(value, list):
        raise UsageError("a number in a path is for a list", hint="innkeeper COMMAND --json shows the whole answer")
    elif part is EACH:
        for item in value:
            yield from select(item, rest)
    elif -len(value) <= part < len(value):
        yield from select(value[part], rest)
    else:
        raise UsageError(f"the list has {len(value)} items, and none with the number {part}")
