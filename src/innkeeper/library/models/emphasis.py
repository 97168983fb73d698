"""Emphasis: the groups of a prompt for an image model, which are never cut, and what of their signs such a model reads.

``(word:1.2)`` weighs a word, ``<lora:name:0.8>`` names a further model, ``{a|b}`` and ``{{name}}`` are filled in later, as
programs around image models write them. A weight and a reference are taken out before the model reads the text; parentheses
without a weight are counted as they stand, since some runtimes leave them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_SIGN: Final = re.compile(r"\\.|[()\[\]{}]|<[A-Za-z]\w*:[^<>\n]*>", re.DOTALL)
_OPENS: Final = {")": "(", "]": "[", "}": "{"}
_WEIGHT: Final = re.compile(r":\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*\Z")
_LONGEST_WEIGHT: Final = 24

Span = tuple[int, int]


def _pairs(text: str) -> Iterator[tuple[str, Span]]:
    """Brackets with their partners, and references, as each ends; what has no partner, a smile say, is ordinary text."""
    waiting: dict[str, list[int]] = {"(": [], "[": [], "{": []}
    for match in _SIGN.finditer(text):
        sign, start = match[0], match.start()
        if sign in waiting:
            waiting[sign].append(start)
        elif sign[0] == "<":
            yield "<", match.span()
        elif sign in _OPENS and waiting[_OPENS[sign]]:
            opened = waiting[_OPENS[sign]].pop()
            for others in waiting.values():  # what was opened inside and not closed closes nothing further
                while others and others[-1] > opened:
                    others.pop()
            yield _OPENS[sign], (opened, match.end())


def groups(text: str) -> tuple[Span, ...]:
    """The outermost groups of a text from left to right, as places from the first sign up to after the last.

    >>> groups("a (long, golden:1.2) b")
    ((2, 20),)
    """
    outermost: list[Span] = []
    for _, (start, end) in _pairs(text):
        while outermost and outermost[-1][0] > start:
            outermost.pop()
        outermost.append((start, end))
    return tuple(outermost)


def outside(positions: Iterable[int], spans: tuple[Span, ...]) -> list[int]:
    """Those of some ascending places that are inside of no group."""
    if not spans:
        return list(positions)
    left, at = [], 0
    for position in positions:
        while at < len(spans) and spans[at][1] <= position:
            at += 1
        if at == len(spans) or position <= spans[at][0]:
            left.append(position)
    return left


def unweighted(text: str) -> str:
    """A text without its weights, with their parentheses, and without references to further models.

    >>> unweighted("a ((red:1.1) fox:1.3), <lora:style:0.8>")
    'a red fox, '
    """
    if "(" not in text and "<" not in text:
        return text
    gone: list[Span] = []
    for sign, (start, end) in _pairs(text):
        weight = _WEIGHT.search(text[max(start, end - 1 - _LONGEST_WEIGHT) : end - 1]) if sign == "(" else None
        if sign == "<":
            gone.append((start, end))
        elif weight is not None:
            gone += [(start, start + 1), (end - 1 - len(weight[0]), end)]
    left, at = [], 0
    for start, end in sorted(gone):
        left.append(text[at:start])
        at = max(at, end)
    return "".join([*left, text[at:]])
