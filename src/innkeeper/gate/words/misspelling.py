"""Misspelling: a text with the misspelt words put right that weigh much.

What counts is a slip of the hand (`innkeeper.gate.words.slips`), and signs in the place of letters (``n*ked``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from innkeeper.gate.words.tables import BEGIN, slips, tables
from innkeeper.prompt.typed.once import once
from innkeeper.text.views import TextView, respelled

_VOWELS: Final = "aeiou"
_MASKS: Final = "*#_%+~?^•●×&="
_MASKED: Final = re.compile(rf"(?<![^\W\d_])[^\W\d_]+(?:[{re.escape(_MASKS)}]{{1,4}}[^\W\d_]+)+")
_AS_STARS: Final = str.maketrans(dict.fromkeys(_MASKS, "*"))
_LONGEST: Final = 14
_SHORTEST: Final = 3


@once
def _hidden() -> dict[str, str]:
    """The word for each way to put stars into it: for one or two letters inside it, and for all its vowels."""
    spellings: dict[str, str] = {}
    for word in tables().weighty:
        if _SHORTEST <= len(word) <= _LONGEST and word.isalpha():
            for masked in _masks(word):
                spellings.setdefault(masked, word)
    return spellings


def _masks(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        yield f"{word[:at]}*{word[at + 1 :]}"
        if at < len(word) - 2:
            yield f"{word[:at]}**{word[at + 2 :]}"
    inside = "".join("*" if letter in _VOWELS else letter for letter in word[1:-1])
    yield f"{word[0]}{inside}{word[-1]}"


def unmasked(text: str) -> str | None:
    """A text with the letters in their place that signs stand for, as long as before; None where there are no such words."""
    if not any(map(text.__contains__, _MASKS)):
        return None
    right = _MASKED.sub(_shown, text)
    return None if right == text else right


def _shown(match: re.Match[str]) -> str:
    return _hidden().get(match[0].lower().translate(_AS_STARS), match[0])


def put_right(view: TextView) -> TextView | None:
    """A view with its misspelt words put right, or None where it has none."""
    words, begins = view.words, slips()
    right = {
        word: known
        for word in set(words)
        if (begin := word[:BEGIN]) in begins and (known := _slips_from(begin).get(word)) is not None
    }
    return respelled(view, words, right) if right else None


@cache
def _slips_from(begin: str) -> dict[str, str]:
    return {slip: word for word, each in slips()[begin].items() for slip in each.split(" ")}
