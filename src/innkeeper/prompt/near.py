"""Near misses among names: what a mistyped one was probably meant to be. Every error and note about a name asks here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

LIKENESS: Final = 0.6
"""How alike two names have to be, from 0 to 1, for one to be offered for the other."""

WORD_LIKENESS: Final = 0.75
"""The same for a word of a name of several, such as a chat's title."""

NAME_CHARS: Final = 200
"""Characters of a mistyped name that are compared (no error: nothing is offered for more)."""

NAMES_COMPARED: Final = 5_000
"""Known names that are compared (no error: others are not offered)."""

_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def near_names(name: str, known: Iterable[object], most: int = 1, likeness: float = LIKENESS) -> list[str]:
    """Return up to ``most`` known names that are like ``name``, the likest first. Case makes no difference."""
    from difflib import get_close_matches  # here, since a name is rarely wrong

    names = {text.casefold(): text for text in map(str, islice(known, NAMES_COMPARED))}
    return [names[each] for each in get_close_matches(name[:NAME_CHARS].casefold(), names, most, likeness)]


def nearest(name: str, known: Iterable[object]) -> str | None:
    """Return the known name that is most like ``name``, if one is like it."""
    return next(iter(near_names(name, known)), None)


def did_you_mean(name: str, known: Iterable[object], otherwise: str | None = None) -> str | None:
    """Return the hint that offers the nearest known name, else one with a word that is like ``name``; else ``otherwise``."""
    names = sorted(map(str, islice(known, NAMES_COMPARED)))
    words = {word: text for text in names for word in _BETWEEN_WORDS.split(text[:NAME_CHARS])}
    near = nearest(name, names) or next((words[word] for word in near_names(name, words, 1, WORD_LIKENESS)), None)
    return f"did you mean {near!r}?" if near else otherwise
