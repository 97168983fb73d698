"""Findings: what a detector saw in one text, without the text."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from innkeeper.prompt.frozen import EMPTY

__all__ = ["Findings", "Span"]


class Span(msgspec.Struct, frozen=True):
    """One find: ``start`` and ``end`` count characters of the text as it was given; ``entry`` is the id in its list.

    ``weight`` is the entry's, from 0 to 1. The text itself is never part of a find.
    """

    start: int
    end: int
    category: str
    entry: str
    weight: float


class Findings(msgspec.Struct, frozen=True):
    """What was found in one text: a score from 0 to 1 for each category, and where.

    ``text_sha256`` names the text without telling it. ``failed`` says why the text could not be looked at in full
    (``classifier_timeout``, ``regex_timeout`` …), and is empty where it could.
    """

    scores: Mapping[str, float] = EMPTY
    spans: tuple[Span, ...] = ()
    detector_version: str = ""
    lexicon_version: str = ""
    text_sha256: str = ""
    failed: str = ""

    def score(self, category: str) -> float:
        """The score of a category, 0 where nothing was found."""
        return self.scores.get(category, 0.0)
