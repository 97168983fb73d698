"""Unattached words: innocent ones that no grammar ties to their neighbours: ``museum a drawing of``, ``… of a girl museum``.

They tell nothing of it. A verb, a preposition or a colon would tie them (``police found a``, ``in a museum``); what is judged
here is only whether there is none, at the edges of a sentence, where such words are put to get past a gate.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Final, NamedTuple

from innkeeper.gate.words.patterns import gate_pattern

_LOOKED_AT: Final = 48
"""So many characters before a run of innocent words and behind it are looked at."""

_ENDING: Final = re.compile(r"[a-z\u00c0-\u024f\u0400-\u04ff]{0,24}", re.IGNORECASE)
"""What is left of a word whose ending is not in the lists."""

_GAP: Final = re.compile(r"[ \t]+")
_BLANKS: Final = frozenset(" \t")
_VERDICT: Final = 0.9
"""Words of this weight are of verdicts and reports: they have an object, but for those of the pattern ``verdict_name``."""


class _Run(NamedTuple):
    """Innocent words with nothing between them: where the first begins, where the last ends, and where each begins."""

    start: int
    end: int
    starts: list[int]
    verdict: bool


def unattached_words(text: str, words: Iterable[tuple[int, int, float]], others: Iterable[tuple[int, int]]) -> set[int]:
    """Return the starts of those innocent words that are not attached; ``words`` are places and weights.

    ``others`` are the places of the ages, contexts and cues of the text.
    """
    spans = list(others)
    begins, ends = {start for start, _ in spans}, {end for _, end in spans}
    unattached: set[int] = set()
    for run in _runs(text, words):
        if run.verdict:
            continue
        if _leads(text, run, begins) or _trails(text, run, ends):
            unattached.update(run.starts)
    return unattached


def _leads(text: str, run: _Run, begins: Container[int]) -> bool:
    """Whether a run begins a sentence, and a new phrase begins right behind it."""
    if text[run.end : run.end + 1] not in _BLANKS or (gap := _GAP.match(text, run.end)) is None:
        return False
    at = gap.end()
    is_other = at in begins and gate_pattern("verb").match(text, at) is None
    is_sentence = text[run.start].islower() and text[at : at + 1].isupper()
    if not (is_other or is_sentence or gate_pattern("phrase_start").match(text, at)):
        return False
    if gate_pattern("transitive").search(text, max(run.start, run.end - _LOOKED_AT), run.end):
        return False
    return gate_pattern("sentence_start").search(text[max(0, run.start - _LOOKED_AT) : run.start]) is not None


def _trails(text: str, run: _Run, ends: Container[int]) -> bool:
    """Whether a run ends a sentence, right behind one of the others."""
    if gate_pattern("sentence_end").match(text, run.end) is None:
        return False
    before = gate_pattern("article_before").search(text, max(0, run.start - _LOOKED_AT), run.start)
    return before is not None and before.start() in ends


def _runs(text: str, words: Iterable[tuple[int, int, float]]) -> Iterator[_Run]:
    run: _Run | None = None
    for start, stop, weight in sorted(words):
        end = _ending(text, stop)
        verdict = weight >= _VERDICT and gate_pattern("verdict_name").search(text, start, end) is None
        if run is not None and (start < run.end or _GAP.fullmatch(text, run.end, start)):
            run.starts.append(start)
            run = run._replace(end=max(run.end, end), verdict=verdict or run.verdict)
            continue
        if run is not None:
            yield run
        run = _Run(start, end, [start], verdict)
    if run is not None:
        yield run


def _ending(text: str, at: int) -> int:
    """Where the word ends that a place is in."""
    if not text[at : at + 1].isalpha():
        return at
    match = _ENDING.match(text, at)
    return match.end() if match else at
