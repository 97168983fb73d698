"""Findings: what a detector saw in one text, without the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = ["Findings", "Span", "combined"]


class Span(msgspec.Struct, frozen=True):
    """One find: ``start`` and ``end`` count characters of the text as it was given; ``entry`` is the id in its list.

    ``weight`` is the entry's, from 0 to 1. The text itself is never part of a find.
    """

    start: int
    end: int
    category: str
    entry: str
    weight: float
    source: str = ""
    """Which of several texts it is in, where they were judged together."""


class Findings(msgspec.Struct, frozen=True):
    """What was found in one text: a score from 0 to 1 for each category, and where.

    ``text_sha256`` names the text without telling it. ``failed`` says why the text could not be looked at in full
    (``classifier_timeout``, ``regex_timeout`` …), and is empty where it could. ``whole`` says that the words of the lists were
    looked for in all of it.
    """

    scores: Mapping[str, float] = EMPTY
    spans: tuple[Span, ...] = ()
    detector_version: str = ""
    lexicon_version: str = ""
    text_sha256: str = ""
    failed: str = ""
    whole: bool = True

    def score(self, category: str) -> float:
        """The score of a category, 0 where nothing was found."""
        return self.scores.get(category, 0.0)


def combined(findings: Iterable[tuple[str, Findings]]) -> Findings:
    """The findings of several texts of one request, by name, as one: what none of them says alone, they may say together."""
    named = list(findings)
    spans = tuple(msgspec.structs.replace(span, source=name) for name, found in named for span in found.spans)
    return Findings(
        scores=FrozenDict(_together(found for _, found in named)),
        spans=spans,
        detector_version=_all_of(found.detector_version for _, found in named),
        lexicon_version=_all_of(found.lexicon_version for _, found in named),
        text_sha256=",".join(found.text_sha256 for _, found in named),
        failed=_all_of(found.failed for _, found in named),
        whole=all(found.whole for _, found in named),
    )


def _together(findings: Iterable[Findings]) -> dict[str, float]:
    """The scores of all entries that were found in any text, each once: the same words in two places say no more than in one."""
    left: dict[str, float] = {}
    most: dict[str, float] = {}
    entries: set[tuple[str, str, float]] = set()
    for found in findings:
        entries.update((span.category, span.entry, span.weight) for span in found.spans)
        for category, score in found.scores.items():
            most[category] = max(score, most.get(category, 0.0))
    for category, _, weight in sorted(entries):
        left[category] = left.get(category, 1.0) * (1 - weight)
    return {category: round(max(score, 1 - left.get(category, 1.0)), 6) for category, score in sorted(most.items())}


def _all_of(values: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(value for value in values if value))
