"""Ages: years of life below adulthood, written in figures or words, and age words that speak of somebody's family.

A word of family ("they raised two children") is ``age_family`` instead of ``age``: beside romantic words alone it asks for a
review in the general tier, where any other age word is a block. Beside sexual words, and in the adult tier, it blocks like all
others (`TierPolicy.judge`). The phrases of family are few on purpose; anything else stays a block. English only; other
languages come as entries of detection lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from innkeeper.library.limits import ADULT_AGE

__all__ = ["ages_in", "kin_in"]

_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_NUMBERS: Final = {word: number for number, word in enumerate(_WORDS.split(" "))}
_A_YEAR: Final = {"y": 1, "m": 12, "w": 52, "d": 366}
"""How many of a unit make a year, by the unit's first letter."""

_UNIT: Final = r"(?P<unit>y|m|w|d)(?:(?:ea)?rs?|onths?|eeks?|ays?)"
_HALF: Final = r"(?: and (?:a )?(?:half|quarter|three quarters))?"
_OLD: Final = re.compile(rf"\b(?P<number>\w{{1,9}}){_HALF} {_UNIT} old\b")
_FIGURES: Final = re.compile(rf"\b(?P<number>\d{{1,4}}) ?(?:{_UNIT} ?(?:old|of age)|y ?o)\b")
_AGED: Final = re.compile(r"\b(?:age (?:of|is|was|about|around|only)|aged?|ages) (?P<number>\w{1,9})\b(?P<unit>)")
_THINGS: Final = (
    "seconds|minutes|hours|days|weeks|months|percent|degrees|dollars|euros|pounds|miles|met|feet|inch|points|kilo"
)
_UNDER: Final = re.compile(
    rf"\b(?:under|below|younger than) (?:the age of )?(?P<number>1[0-8]|eighteen)\b(?P<unit>)(?! (?:{_THINGS}))"
)
_TURNED: Final = re.compile(
    rf"\bturn(?:s|ed|ing)? (?P<number>1[0-7]|\w{{3,9}}teen|ten|eleven|twelve)\b(?P<unit>)(?! (?:{_THINGS}|pages|times|of))"
)
_NEARLY: Final = re.compile(rf"\b(?:not yet|almost|nearly|soon) (?:18|eighteen)\b(?! (?:{_THINGS}))")
_ORDINAL: Final = (
    r"(?:1?\d(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven)teenth)"
)
_BIRTHDAY: Final = re.compile(rf"\b{_ORDINAL}(?<!18th)(?<!19th) birthday\b")
_GRADE: Final = re.compile(rf"\b{_ORDINAL} grade(?:rs?)?\b")
_GATES: Final = (
    (_OLD, " old"),
    (_FIGURES, "y"),
    (_AGED, "age"),
    (_UNDER, "under"),
    (_UNDER, "below"),
    (_UNDER, "younger"),
    (_TURNED, "turn"),
    (_NEARLY, "18"),
    (_NEARLY, "eighteen"),
    (_BIRTHDAY, " birthday"),
    (_GRADE, " grade"),
)
"""Each expression with a text without which it finds nothing: asking for that first is much cheaper."""

_ALWAYS: Final = frozenset({_UNDER, _NEARLY, _BIRTHDAY, _GRADE})
"""Expressions whose matches are all below adulthood."""


def ages_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded plain text gives an age below adulthood, or speaks of being under a limit up to it."""
    for pattern, gate in _GATES:
        if gate in text:
            yield from (match.span() for match in pattern.finditer(text) if pattern in _ALWAYS or _is_young(match))


def _is_young(match: re.Match[str]) -> bool:
    number = match["number"]
    age = int(number) if number.isdecimal() else _NUMBERS.get(number)
    return age is not None and age < ADULT_AGE * _A_YEAR[match["unit"] or "y"]


_NUMBER: Final = r"no|an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|many|several|some|any|more"
_OTHER: Final = "other|young|small|grown|healthy|own|their|his|her|our|my|your"
_FEW: Final = rf"(?:(?:{_NUMBER}|{_OTHER}) ){{0,3}}"
_KIN: Final = (
    r"(?:child|children|kids?|infants?|toddlers?)\b"
    r"(?! (?:s )?(?:lovers?|brides?|grooms?|girlfriends?|boyfriends?|wi(?:fe|ves)|husbands?|dates?|partners?|sweethearts?"
    r"|romantic|romance|flirt|sedu|kiss))"
)
_PARENT: Final = r"(?:grand)?(?:fathers?|mothers?|parents?|ma|pa|mum|mom|dad)"
_SITTER: Final = rf"(?:(?:baby ?)?sitter|nanny|aunt|uncle|{_PARENT})"
_PHRASES: Final = (
    rf"(?:had|has|have|having|bore|bears?|bearing|expecting) (?:(?:him|her|them|us) )?{_FEW}{_KIN}",
    rf"(?:rais|adopt|babysit|father)(?:es?|s|ed|ing|ting|t)? (?:the )?{_FEW}{_KIN}",
    rf"(?:look|looks|looked|looking) after (?:the )?{_FEW}{_KIN}",
    rf"{_PARENT} (?:of|to) (?:the )?{_FEW}{_KIN}",
    rf"(?:widow|widower|couple|family|single {_PARENT}) with {_FEW}{_KIN}",
    rf"{_SITTER} (?:watch|mind|keep|kept|take|took|ha)(?:s|es|ed|d|ing)? (?:the )?{_FEW}{_KIN}",
    r"(?:the )?(?:children|kids) (?:fell|are|were|got|get) (?:ill|sick|asleep|away|home|hungry|grown)\b",
    r"(?:the )?(?:child|children) of (?:the |these |two )?(?:lovers|couple|parents)\b",
    r"for (?:children|kids) and (?:adults|parents|grown ups)\b",
    r"(?:high |middle |old )?school (?:reunions?|boards?|fees)\b",
)
_ALL: Final = re.compile(rf"\b(?:{'|'.join(_PHRASES)})")
_GATE: Final = re.compile("child|kid|infant|toddler|school")


def kin_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded plain text tells of a family; asked only where an age word was found."""
    if _GATE.search(text):
        yield from (match.span() for match in _ALL.finditer(text))
