"""Endearments: words of age by which adults call one another, such as ``nena`` said by a husband to his wife.

Such a word says nothing of an age where somebody is called by it, somebody says it, adults are told of near by, and nothing else
in the text speaks of a minor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from innkeeper.gate.evidence import Mention
from innkeeper.gate.words.tables import tables
from innkeeper.prompt.typed.once import once
from innkeeper.text.confusables import fold_word

ENDEARMENT: Final = "age_fond"
"""The category of words of age by which adults call one another; each is one of ``age`` too."""

_NEAR: Final = 120
"""So many characters around such a word say who speaks and to whom."""

_SPOUSE: Final = 0.6
_BEFORE: Final = re.compile(r"(?:^|[,;:.!?¡¿\"“„«»「『（(—–，、。：！？-])\s*\Z")
_AFTER: Final = re.compile(r"\s*(?:$|[,;:.!?\"”“»」』）)—–，、。：！？-])")
_MINOR: Final = frozenset({"age", "age_kin", "age_family", "age_setting", "age_hint"})


def without_endearments(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions without words of age that only call an adult something."""
    endearments = {(each.start, each.end) for each in mentions if each.category == ENDEARMENT}
    if not endearments:
        return list(mentions)
    remaining = [each for each in mentions if each.category != ENDEARMENT]
    others = [each for each in remaining if (each.start, each.end) not in endearments]
    if any(each.category in _MINOR for each in others):
        return remaining
    adults = [
        each for each in others if each.category == "age_adult" or (each.category == "adult" and each.weight >= _SPOUSE)
    ]
    called = {
        span for span in endearments if _is_called(text, span) and _is_near(span, adults) and _is_spoken(text, span)
    }
    return [each for each in remaining if each.category not in _MINOR or (each.start, each.end) not in called]


def _is_called(text: str, span: tuple[int, int]) -> bool:
    """Whether a word stands apart, as one does by which somebody is called."""
    start, end = span
    return _BEFORE.search(text, max(0, start - 2), start) is not None and _AFTER.match(text, end) is not None


def _is_spoken(text: str, span: tuple[int, int]) -> bool:
    """Whether a word for saying something stands around a place."""
    around = fold_word(text[max(0, span[0] - _NEAR) : span[1] + _NEAR])
    return _speech().search(around) is not None


@once
def _speech() -> re.Pattern[str]:
    return re.compile(tables().speech)


def _is_near(span: tuple[int, int], mentions: Iterable[Mention]) -> bool:
    start, end = span
    return any(each.start < end + _NEAR and each.end > start - _NEAR for each in mentions)
