"""PatternCost: what a regular expression costs, judged from its text before an engine reads it.

The engine writes repetitions out, what must be there and once more what may be: ``a{20}`` is 21 atoms, ``a+`` two, and
``((a+)+)+`` eight, twice as many at each level. A search remembers each round of a repeated group, to come back to it. So the
size of a compiled pattern, the work of compiling it and the memory of a search follow from atoms, groups and repetitions.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PIECES: Final = r"""(?P<comment>\(\?\#[^)]*\)?%s)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\]?)
    |(?P<open>\((?P<kind>\?(?:P?<\w+>|\(\w+\)|[a-zA-Z-]+:?|[^()])?)?)|(?P<close>\))
    |(?P<repeat>(?:(?P<sign>[*+?])|\{(?!\})(?P<least>\d*)(?P<comma>,(?P<most>\d*))?\})[?+]?)
    |(?P<brace>\{)|(?P<atom>\\N\{[^}]*\}|\\.|.)"""
_PIECE: Final = re.compile(_PIECES % "", re.DOTALL | re.VERBOSE)
_VERBOSE_PIECE: Final = re.compile(_PIECES % r"|\#[^\n]*|\s+", re.DOTALL | re.VERBOSE)
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z]*x[a-zA-Z]*\)")

_WIDE: Final = re.compile(r"[^\x00-\xff]|\\[uUN]")
_STEPS_A_CHARACTER: Final = 60
_STEPS_AN_ATOM: Final = 3
_STEPS_A_WIDE_SET: Final = 10_000
"""A set with characters beyond U+00FF: checking it draws up a table of 65,536."""

_BYTES_A_ROUND: Final = 100
_BYTES_AN_ATOM: Final = 25
_BYTES_A_CAPTURE: Final = 60
_MOST: Final = 1 << 40
"""Above it nothing is counted any more."""


class PatternCost(NamedTuple):
    """The cost of one pattern.

    ``written``: atoms, with repetitions written out. ``depth``: groups inside one another. ``work``: steps of compiling.
    ``held``: bytes that a search may hold for each character of the text it is in; 0 where no group is repeated.
    """

    written: int
    depth: int
    work: int
    held: int


class _Group:
    """A group that is being read: its atoms, and how many of its groups are remembered."""

    __slots__ = ("atoms", "captures")

    def __init__(self, captures: int = 0) -> None:
        self.atoms, self.captures = 0, captures


def pieces_of(text: str) -> list[re.Match[str]]:
    """The pattern in pieces: comments, sets, brackets that open and close, repetitions, single braces and atoms."""
    return list((_VERBOSE_PIECE if _VERBOSE.match(text) else _PIECE).finditer(text))


def cost_of(pieces: list[re.Match[str]]) -> PatternCost:
    """Return the cost of the pattern in these pieces. Never raises; linear in the pieces."""
    groups = [_Group()]
    unit, captures, is_group = 0, 0, False
    deepest = wide = held = 0
    for piece in pieces:
        kind = piece.lastgroup
        if kind == "comment":
            continue
        if kind == "open":
            form = piece["kind"]  # a bare group captures, and one with a name
            captures_text = form is None or (form.startswith(("?P<", "?<")) and form.endswith(">"))
            groups.append(_Group(int(captures_text)))
            deepest = max(deepest, len(groups) - 1)
        elif kind == "close":
            closed = groups.pop() if len(groups) > 1 else _Group()
            unit, captures, is_group = closed.atoms, closed.captures, True
            groups[-1].atoms += unit
            groups[-1].captures += captures
        elif kind == "repeat":
            least, most = _bounds(piece)
            copies = 1 if least == most == 1 else least + 1
            groups[-1].atoms = min(groups[-1].atoms + unit * (copies - 1), _MOST)
            unit = min(unit * copies, _MOST)
            if is_group and most > 1:
                held = max(held, _BYTES_A_ROUND + _BYTES_AN_ATOM * unit + _BYTES_A_CAPTURE * captures)
        else:
            groups[-1].atoms += 1
            unit, captures, is_group = 1, 0, False
            wide += kind == "set" and _WIDE.search(piece.group()) is not None
    written = sum(group.atoms for group in groups)
    length = pieces[-1].end() if pieces else 0
    work = _STEPS_A_CHARACTER * length + _STEPS_AN_ATOM * written + _STEPS_A_WIDE_SET * wide
    return PatternCost(written, deepest, work, held)


def _bounds(piece: re.Match[str]) -> tuple[int, int]:
    """The least and the greatest count; numbers beyond nine digits are cut to nine."""
    sign = piece["sign"]
    if sign is not None:
        return int(sign == "+"), 1 if sign == "?" else _MOST
    least = int(piece["least"][:9] or 0)
    if piece["comma"] is None:
        return least, least
    return least, int(piece["most"][:9] or _MOST)
