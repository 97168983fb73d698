"""Texts whose only macros are ``{{user}}`` and ``{{char}}``, as those of most cards and books are: filled without the engine.

What comes out, what it costs of the build's limits and which ranges are recorded is what the engine would give.
"""

from __future__ import annotations

import re
from typing import Final

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import CACHED_CHARS, MAX_EXPANSIONS, MAX_OUTPUT
from innkeeper.macros.engine.evaluate import look
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.memo import Memo

__all__ = ["filled", "name_parts"]

_NAME: Final = re.compile(r"\{\{(user|char)\}\}")
_BRACES: Final = re.compile(r"[{}\\]")
_PARTS: Final[Memo[str, tuple[str, ...]]] = Memo(items=4_096)
_PART_BYTES: Final = 64
"""What a part stands for in memory beside its text."""


def name_parts(text: str) -> tuple[str, ...]:
    """The text, a macro's name, text, and so on; nothing where it has other macros, braces or escapes, or is long."""
    if len(text) > CACHED_CHARS:
        return ()
    parts = _PARTS.get(text)
    if parts is None:
        split = _NAME.split(text)
        parts = () if any(_BRACES.search(part) for part in split[::2]) else tuple(split)
        _PARTS.put(text, parts, 2 * len(text) + _PART_BYTES * len(parts))
    return parts


def filled(parts: tuple[str, ...], env: MacroEnvironment, ranges: list[MacroRange] | None) -> str | None:
    """The text with the names; ``None`` where the build has had its share of macros."""
    values, spent = {"user": env.user, "char": env.char}, env.spent
    if spent.expansions >= spent.look:
        try:
            look(spent)
        except LimitError:
            return None  # the engine will say why
    texts, names = parts[::2], parts[1::2]
    pieces = list(parts)
    pieces[1::2] = given = [values[name] for name in names]
    made = sum(map(len, given))
    if spent.expansions + len(parts) > MAX_EXPANSIONS or spent.output + made > MAX_OUTPUT:
        return None
    spent.expansions += len(parts) // 2
    spent.output += made
    if ranges is not None:
        place = 0
        for text, value, name in zip(texts, given, names, strict=False):
            place += len(text)
            if value:
                ranges.append(MacroRange(place, place + len(value), name))
            place += len(value)
    return "".join(pieces)
