"""Numeric ages: those told by how they are written, not by words: ``Anna (15)``, ``f15``, ``10+5 years old``, ``<18``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from innkeeper.gate.ages.age import BARE, KINDS, TAGGED, Age, has_figures
from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.tables import tables
from innkeeper.text.confusables import fold_word

_NAMED: Final = re.compile(
    r"(?:[(（\[]|, ?|(?<= )[-–—|/] )(?P<age>[1-9]\d?)(?: ?(?:f|m|w|yo))?(?:[)）\]]|[,;]| [-–—|/] |[.!?](?!\d)|$)"
)
_NAME: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,24} ?\Z")
_GLUED: Final = re.compile(r"[fmuFMUwжЖ](?P<age>1[0-7])(?:s\b|(?![^\W_]))")
_HALVES: Final = re.compile(r"(?<!\d)(?P<age>[1-9]\d?) ?[½¼¾](?=\s*(?:[.,;!?)]|$|y))")
_AS_LETTERS: Final = re.compile(r"(?P<age>1[sSobgB]|[lI][0-9])(?= ?(?:y\.?o|y/o|yrs?|years?|f|m)\b)")
_NAME_LENGTH: Final = 26
_FIGURE_OF: Final = str.maketrans("sSobgBlI", "55069811")
_SUM: Final = re.compile(
    r"(?P<one>\d{1,3}) ?(?P<sign>[+*x×/÷−]|plus|minus|times|divided by) ?(?P<other>\d{1,3})"
    r"(?= ?(?:y\.?/?o\b|yrs?\b|years?[ -]old|years? of age|[.!?]))"
)
_MARKED: Final = re.compile(r"(?P<sign>女|男|여|남|Ж|М|[fmwFMW])[,、，/|] ?(?P<age>[1-9]\d?)(?!\d|[.,]\d)")
_BIRTH: Final = re.compile(
    r"\b(?:born|d\.?o\.?b|birth ?da(?:y|te)|date of birth|birth ?year)\b[^.;!?\n]{0,28}?"
    r"(?:(?<!\d)(?P<year>20\d\d)(?!\d)|['’](?P<short>[1-3]\d)\b)",
    re.IGNORECASE,
)
_CODED: Final = re.compile(
    r"\b(?:(?P<based>0x[0-9a-f]{1,2}|0b[01]{3,6})|(?P<binary>[01]{4,5})(?= (?:in )?binary))\b", re.IGNORECASE
)
_DECADES: Final = re.compile(
    r"\b(?:lived|alive|living|existed|aged?|is|been around)\b[^.!?\n]{0,16}?(?<![\d.])(?P<lived>[01](?:[.,]\d)?) decades\b"
    r"|(?<![\d.])(?P<old>[01](?:[.,]\d)?) decades? (?:old|young|of (?:life|age))\b",
    re.IGNORECASE,
)
_LESS: Final = re.compile(r"(?<![\w<=])[<＜] ?(?P<age>1\d)(?=\s*(?:[.,;)!?]|$))")
_CALCULATED: Final[Mapping[str, Callable[[int, int], float]]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / (other or 1),
}
_SAME_SIGN: Final = {"plus": "+", "minus": "-", "−": "-", "times": "*", "x": "*", "×": "*", "÷": "/", "divided by": "/"}


def _sums(text: str) -> Iterator[Age]:
    """Ages that have to be worked out: ``10+5 years old``."""
    for match in _SUM.finditer(text):
        sign = match["sign"]
        value = _CALCULATED[_SAME_SIGN.get(sign, sign)](int(match["one"]), int(match["other"]))
        if BARE[0] <= value < BARE[1]:
            yield Age(match.start(), match.end(), value, value, 0.6, "years")


_SIGNS_IN_WORDS: Final = (b" plus ", b" minus ", b" times ", b" divided by ")
_WORDS: Final = re.compile(
    r"(?<![a-z])([a-z]+(?:[ -][a-z]+)?) (plus|minus|times|divided by) ([a-z]+(?:[ -][a-z]+)?)", re.IGNORECASE
)


def _sums_in_words(text: str) -> Iterator[Age]:
    """Ages that have to be worked out, of English words: ``she is ten plus five``."""
    values = tables().numbers
    for match in _WORDS.finditer(text):
        one, other = (_value(values, match[at].lower().replace("-", " ").split(), last=at == 1) for at in (1, 3))
        if one is not None and other is not None:
            value = _CALCULATED[_SAME_SIGN[match[2].lower()]](one, other)
            if BARE[0] <= value < BARE[1]:
                yield Age(match.start(), match.end(), value, value, 0.6, "years")


def _value(values: Mapping[str, int], words: list[str], *, last: bool) -> int | None:
    return values.get(" ".join(words), values.get(words[-1] if last else words[0]))


def _limits(text: str) -> Iterator[Age]:
    """Years of birth some words away from their cue, and ages that a sign says are not reached: ``born on 3/4/2012``, ``<18``."""
    for match in _BIRTH.finditer(text):
        if (meaning := KINDS["born"](int(match["year"] or f"20{match['short']}"))) is not None and meaning[
            0
        ] < ADULT_AGE:
            yield Age(*match.span("year" if match["year"] else "short"), *meaning, "born")
    for match in _CODED.finditer(text):
        value = int(match["based"], 0) if match["based"] else int(match["binary"], 2)
        if BARE[0] <= value < BARE[1]:
            yield Age(*match.span(), value, value, 0.5, "years")
    for match in _DECADES.finditer(text):
        years = 10 * float((match["lived"] or match["old"]).replace(",", "."))
        if BARE[0] <= years < ADULT_AGE:
            yield Age(*match.span(), years, years, 0.6, "years")
    for match in _LESS.finditer(text):
        if (meaning := KINDS["under"](int(match["age"]))) is not None:
            yield Age(*match.span(), *meaning, "under")


def read_numeric_ages(text: str) -> Iterator[Age]:
    """The ages that only signs tell, places in the text as given: ``Anna (15)``, ``Anna, 15,``, ``f15``, ``1S years old``."""
    if any(map(text.encode("utf-8", "surrogatepass").lower().__contains__, _SIGNS_IN_WORDS)):
        yield from _sums_in_words(text)
    if not has_figures(text):
        return
    for match in _NAMED.finditer(text):
        value, start = int(match["age"]), match.start()
        name = _NAME.search(text[max(0, start - _NAME_LENGTH) : start])
        if name is None or not (match[0][0] in "(（" or name[0][0].isupper()):
            continue
        if TAGGED[0] <= value < TAGGED[1] and fold_word(name[0]) not in tables().lists["labels"]:
            yield Age(match.start("age"), match.end("age"), value, value, 0.6, "named", name[0].strip())
    yield from _sums(text)
    yield from _limits(text)
    for pattern, kind, certainty in _SIGNED:
        for match in pattern.finditer(text):
            if not text[match.start() - 1 : match.start()].isalnum():
                value = int(match["age"].translate(_FIGURE_OF))
                yield Age(match.start(), match.end(), value, value, certainty, kind)


_SIGNED: Final = ((_GLUED, "tag", 0.5), (_MARKED, "tag", 0.6), (_HALVES, "bare", 0.7), (_AS_LETTERS, "years", 0.7))
