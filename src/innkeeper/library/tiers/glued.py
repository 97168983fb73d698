"""Glued: innocent words that no grammar ties to what they stand beside: ``museum a drawing of``, ``… of a girl museum``.

They tell nothing of it. A verb, a preposition or a colon would tie them (``police found a``, ``in a museum``); what is judged
here is only whether there is none, at the edges of a sentence, where such words are put to get past a gate.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Final, NamedTuple

_LOOKED_AT: Final = 48
"""So many characters before a run of innocent words and behind it are looked at."""

_ARTICLE: Final = (
    r"(?:an?|the|une?|les?|la|el|los|las|una?|unos|unas|uma?|os?|as?|il|lo|gli|ein|eine|einen|einem|einer|der|die|das)"
)
_OPENING: Final = r"(?:^|[.!?。！？…\n])[\s\"'“„«*]*"
_FIRST: Final = re.compile(
    rf"{_OPENING}(?:(?:in|at|for|from|inside|near|im|am|en|em|no|na|nel|al|au|dans|pour|para|per|в|на) )?(?:[^\W_]+ )?\Z",
    re.IGNORECASE,
)
"""The beginning of a sentence, with two small words at most: a preposition, and an article or an adjective."""

_LAST: Final = re.compile(r"(?: [^\W_]+)?[\s\"'”“»*]*(?:$|[.!?。！？…\n])")
"""The end of one, with one word at most."""

_ENDING: Final = re.compile(r"[a-z\u00c0-\u024f\u0400-\u04ff]{0,24}", re.IGNORECASE)
"""What is left of a word whose ending is not in the lists."""

_GAP: Final = re.compile(r"[ \t]+")
_BLANKS: Final = frozenset(" \t")
_BEFORE: Final = re.compile(rf"(?:[ \t]+{_ARTICLE})?[ \t]+\Z", re.IGNORECASE)
_NEW_PHRASE: Final = re.compile(
    rf"(?:{_ARTICLE}|s?he|they|it|her|his|my|your|our|their|this|these|those|ella?|él|lui|elle|ils?|sie|er|ela|ele|lei"
    r"|она|он|они|её|его)\b(?=[ \t])",
    re.IGNORECASE,
)

_VERDICT: Final = 0.9
"""Words of this weight are of verdicts and reports: they have an object, but for those that ``_NAMED`` knows."""

_NAMED: Final = re.compile(r"(?:nurse|scolaire|schwester|prosecutors?|age|limits?|checks?|law)\Z", re.IGNORECASE)

_TIED: Final = re.compile(
    r"(?:(?<!allow)(?<!permitt)(?<!prohibit)ed|[еа]ние|\b(?:for|after|over|of|to|by|on|in|at|with|from|about|says?|said"
    r"|raises?|debates?|warns?|bans?|explains?|learns?|teach(?:es)?|protects?|prevents?|discuss(?:es)?|seeks?|seen?s?|denies|resigns|quits|settles|punish(?:es)?|prosecutes"
    r"|criminali[sz]es?|diagnoses?|operate|label|de|da|di|por|para|per|pour|par|sur|a|wegen|für|über|von|explican?"
    r"|advierten?|alerta[mn]?|avertit|avverte|explique(?:nt)?|spiega(?:no)?|erklär(?:t|en)|warnt|warnen|lern(?:t|en)"
    r"|bericht(?:et|en)|protege[mn]?|detienen|detêm|detuvieron|condenan|condenam|arrestan|apprend|investigam?"
    r"|учит|объясняет|предупреждает|сообщил|за|о|в|на))\Z",
    re.IGNORECASE,
)
"""The end of words that an object follows: verbs and prepositions."""

_VERB: Final = re.compile(r"(?!(?:nak|undress)ed\b)[^\W_]+(?:ed|te|(?:ss|ch|sh|it)es)\b")
"""What has the word before it for its subject."""


class _GluedRun(NamedTuple):
    """Innocent words with nothing between them: where the first begins, where the last ends, and where each begins."""

    start: int
    end: int
    starts: list[int]
    verdict: bool


def glued_in(text: str, words: Iterable[tuple[int, int, float]], others: Iterable[tuple[int, int]]) -> set[int]:
    """Where those innocent words begin that are glued to something, of places and weights.

    ``others`` are the places of the ages, contexts and cues of the text.
    """
    spans = list(others)
    begins, ends = {start for start, _ in spans}, {end for _, end in spans}
    glued: set[int] = set()
    for run in _runs(text, words):
        if run.verdict:
            continue
        if _leads(text, run, begins) or _trails(text, run, ends):
            glued.update(run.starts)
    return glued


def _leads(text: str, run: _GluedRun, begins: Container[int]) -> bool:
    """Whether a run begins a sentence, and a new phrase begins right behind it."""
    if text[run.end : run.end + 1] not in _BLANKS or (gap := _GAP.match(text, run.end)) is None:
        return False
    at = gap.end()
    is_other = at in begins and _VERB.match(text, at) is None
    is_sentence = text[run.start].islower() and text[at : at + 1].isupper()
    if not (is_other or is_sentence or _NEW_PHRASE.match(text, at)):
        return False
    if _TIED.search(text, max(run.start, run.end - _LOOKED_AT), run.end):
        return False
    return _FIRST.search(text[max(0, run.start - _LOOKED_AT) : run.start]) is not None


def _trails(text: str, run: _GluedRun, ends: Container[int]) -> bool:
    """Whether a run ends a sentence, right behind one of the others."""
    if _LAST.match(text, run.end) is None:
        return False
    before = _BEFORE.search(text, max(0, run.start - _LOOKED_AT), run.start)
    return before is not None and before.start() in ends


def _runs(text: str, words: Iterable[tuple[int, int, float]]) -> Iterator[_GluedRun]:
    run: _GluedRun | None = None
    for start, stop, weight in sorted(words):
        end = _ending(text, stop)
        verdict = weight >= _VERDICT and _NAMED.search(text, start, end) is None
        if run is not None and (start < run.end or _GAP.fullmatch(text, run.end, start)):
            run.starts.append(start)
            run = run._replace(end=max(run.end, end), verdict=verdict or run.verdict)
            continue
        if run is not None:
            yield run
        run = _GluedRun(start, end, [start], verdict)
    if run is not None:
        yield run


def _ending(text: str, at: int) -> int:
    """Where the word ends that a place is in."""
    if not text[at : at + 1].isalpha():
        return at
    match = _ENDING.match(text, at)
    return match.end() if match else at
