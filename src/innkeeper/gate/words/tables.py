"""Tables: what the data of all languages comes to, folded and in the order in which it is looked up.

To fold it took half a second of every process. So the tables are made beforehand (`innkeeper.gate.words.packing`) and lie beside
the data, in ``gate/data/tables``; ``scripts/gate.py --write`` makes them again, and a test compares them with the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from innkeeper.gate.words.languages import DATA
from innkeeper.prompt.typed.once import decode, once

T = TypeVar("T")

PACKAGED: Final = "detection-general"
"""The name of the packaged lists in decisions."""


class Number(NamedTuple):
    """A number in words; ``language`` is empty for figures."""

    value: int
    language: str = ""
    ordinal: bool = False


class Form(NamedTuple):
    """A form of an age: what stands left and right of its number, and what it means."""

    kind: str
    left: str
    right: str
    language: str
    ordinal: bool = False


Owners: TypeAlias = tuple[tuple[int, Any], ...]
"""What a word stands for: roles, each with its term, number, form or language."""


class WordRole:
    """What a word may stand for. Plain numbers, which are compared for each word of a text."""

    TERM, NUMBER, CLOSED, LEFT, KIN, BLOCKER, DURATION, HARMLESS, ASK = range(9)


class WordTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words that have borders, of all languages, and the lists that ages are read by. All is folded.

    ``words`` and ``stems`` hold lines of words that begin alike: words and the numbers of their ``meanings``, with tabulators
    between. ``words`` has them by the first word and `AHEAD` letters of the next one, ``stems``, whose words may go on, by `STEM`
    letters. A word with a space at its end is whole. ``rights`` are the right sides of forms, with the number of the list of
    ``lefts`` that they have.
    """

    version: str
    meanings: tuple[Owners, ...]
    words: dict[str, str]
    stems: dict[str, str]
    turned: dict[str, str]
    """Words by which a text is known that was written in another way, by the way."""
    rights: tuple[tuple[str, str, str, bool, int], ...]
    lefts: tuple[tuple[str, ...], ...]
    indices: dict[str, tuple[str, ...]]
    """Words that are looked for at a place: ``measures``, ``objects``, ``pictures``, ``followers``."""
    lists: dict[str, frozenset[str]]
    """Words that are asked for alone: ``connectors``, ``leads`` and so on."""
    numbers: dict[str, int]
    """English numbers in words, unfolded."""
    speech: str
    """A pattern of words for saying something."""
    patterns: dict[str, str]
    weighty: tuple[str, ...]
    """Words that are looked for with a slip of the hand."""


class Unspaced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words without borders, by their meanings, and the numbers in words, of languages without spaces."""

    words: tuple[tuple[Owners, tuple[str, ...]], ...]
    numbers: dict[str, int]


AHEAD: Final = 2
BEGIN: Final = 2
STEM: Final = 3
"""The letters that a word which may go on has at least."""


@once
def tables() -> WordTables:
    """The packaged tables but those of languages without spaces."""
    return _read("tables", WordTables)


@once
def unspaced() -> Unspaced:
    """The packaged tables of languages without spaces."""
    return _read("unspaced", Unspaced)


@once
def slips() -> dict[str, dict[str, str]]:
    """The slips of words, parted by spaces, by how they begin."""
    return _read("slips", dict[str, dict[str, str]])


def _read(name: str, kind: type[T]) -> T:
    return decode((DATA / "tables" / f"{name}.json").read_bytes(), kind)


def merged_lines(lines: Mapping[str, str], between: str) -> dict[str, str]:
    """Lines by how they begin with ``l`` written ``i``; those that begin alike are joined."""
    merged: dict[str, str] = {}
    for name, line in lines.items():
        begin = name.replace("l", "i")
        merged[begin] = f"{merged[begin]}{between}{line}" if begin in merged else line
    return merged
