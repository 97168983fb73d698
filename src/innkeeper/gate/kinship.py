"""Kinship phrases: those in which a word of age only tells of somebody's family."""

from __future__ import annotations

from collections.abc import Iterator

from innkeeper.gate.words.patterns import gate_pattern


def kinship_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a folded plain text tells of a family; asked only where an age word was found."""
    if gate_pattern("kinship_words").search(text):
        yield from (match.span() for match in gate_pattern("kinship").finditer(text) if not match["courted"])
