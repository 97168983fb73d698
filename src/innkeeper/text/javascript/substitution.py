"""Substitution: the replacement texts of JavaScript, in which ``$&``, ``$1`` and ``$<name>`` stand for parts of a match."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

Spend: TypeAlias = Callable[[int], None]
"""Is called with a number of characters before they are made; what it raises ends the work."""

_REFERENCE: Final = re.compile(r"\$(?:([$&`'])|([0-9]{1,2})|<([^>]*)>)")


def substituted(
    template: str,
    groups: Sequence[str | None],
    context: Callable[[str], str],
    spend: Spend,
    named: Mapping[str, str | None] | None = None,
) -> str:
    """Return the replacement of a match: ``groups`` (0 the whole); ``context`` is the text on its side of a sign."""

    def resolved(match: re.Match[str]) -> str:
        part = _part(match, groups, context, named)
        spend(len(part))
        return part

    spend(len(template))
    return _REFERENCE.sub(resolved, template) if "$" in template else template


def _part(
    reference: re.Match[str],
    groups: Sequence[str | None],
    context: Callable[[str], str],
    named: Mapping[str, str | None] | None,
) -> str:
    sign, digits, name = reference.groups()
    if sign:
        return "$" if sign == "$" else (groups[0] or "") if sign == "&" else context(sign)
    if name is not None:
        return reference[0] if named is None else named.get(name) or ""
    for count in (len(digits), 1):
        if 0 < int(digits[:count]) < len(groups):
            return (groups[int(digits[:count])] or "") + digits[count:]
    return reference[0]


def replaced(text: str, old: str, new: str, spend: Spend) -> str:
    """``text.replaceAll(old, new)``."""
    if "$" not in new:
        count = text.count(old) if old else len(text) + 1
        spend(len(text) + count * (len(new) - len(old)))
        return text.replace(old, new)
    parts, start, first = [], 0, text.find(old)
    spend(len(text))
    while first >= 0:
        end = first + len(old)
        parts += [text[start:first], substituted(new, (old,), partial(side_of, text, first, end), spend)]
        start = end
        first = text.find(old, end) if old else end + 1 if end < len(text) else -1
    return "".join([*parts, text[start:]])


def side_of(text: str, first: int, end: int, sign: str) -> str:
    """The text before a match (a grave accent), or the one behind it (an apostrophe)."""
    return text[:first] if sign == "`" else text[end:]
