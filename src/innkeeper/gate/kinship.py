"""Kinship phrases: those in which a word of age only tells of a family, of a child beside spouses, or of who is grown since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from innkeeper.gate.words.patterns import gate_pattern
from innkeeper.text.views import TextView

_PRONOUN: Final = re.compile(r"(?i)\b(?:i|you|he|she|they|we)\b")


def kinship_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a folded plain text tells of a family; asked only where an age word was found."""
    if gate_pattern("kinship_words").search(text):
        yield from (match.span() for match in gate_pattern("kinship").finditer(text) if not match["courted"])


def beside_spouses(plain: TextView, contexts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where children are told of, if all ``contexts``, places of the text, are of spouses with one another."""
    couples = [plain.source_span(*match.span()) for match in gate_pattern("spouses").finditer(plain.text)]
    if couples and all(any(first <= start and end <= last for first, last in couples) for start, end in contexts):
        yield from (match.span() for match in gate_pattern("beside_spouses").finditer(plain.text))


def grown_since(text: str, contexts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where somebody tells of an age that is past and of the own one today, before any of the ``contexts``."""
    for match in gate_pattern("then_and_now").finditer(text):
        others = {word.lower() for word in _PRONOUN.findall(match["between"])} - {match["who"].lower()}
        if not others and all(start >= match.end() for start, _ in contexts):
            yield match.span()
