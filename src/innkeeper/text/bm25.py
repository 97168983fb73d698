"""BM25: which of some texts are nearest to a query by the words they share, without a model and without a network.

Okapi BM25 (Robertson and others, TREC-3, 1994) with the inverse document frequency that is never negative. It knows words, not
meanings: who wants meanings gives a search over embeddings in its place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache

_WORD: Final = re.compile(r"[\w'’]+")
_WORDS: Final[BoundedCache[str, tuple[str, ...]]] = BoundedCache(items=32_768, size=32 * 1024 * 1024)
_BYTES_A_WORD: Final = 64


class Bm25(msgspec.Struct, frozen=True):
    """A search of texts. ``k1`` says how much a word counts that comes again, ``b`` how much the length of a text matters.

    Scores are shares of the best that the query could have in any text, from 0 to 1, so that they can be compared with a
    threshold.

    >>> [place for place, _ in Bm25().search(["The inn has two rooms.", "Rain fell."], "Is there a room at the inn?")]
    [0]
    """

    k1: float = 1.2
    b: float = 0.75
    name: str = "BM25, not embeddings"

    def search(self, texts: Sequence[str], query: str) -> list[tuple[int, float]]:
        """The texts that share a word with the query, by their places, each with its score; the nearest first."""
        terms = set(_words(query))
        charge("search", sum(map(len, texts)))
        counts, lengths = [], []
        for text in texts:
            words = _words(text)
            counts.append(Counter(word for word in words if word in terms))
            lengths.append(len(words))
        mean = sum(lengths) / len(texts) if any(lengths) else 1.0
        spread = Counter(word for count in counts for word in count)
        weights = {word: math.log1p((len(texts) - n + 0.5) / (n + 0.5)) for word, n in spread.items()}
        best = sum(weights.values()) * (self.k1 + 1)
        hits = []
        for index, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            damped = self.k1 * (1 - self.b + self.b * length / mean)
            score = sum(weights[word] * times * (self.k1 + 1) / (times + damped) for word, times in count.items())
            if score:
                hits.append((index, score / best))
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def _words(text: str) -> tuple[str, ...]:
    """The words of a text, without regard to case."""
    words = _WORDS.get(text)
    if words is None:
        words = tuple(_WORD.findall(text.casefold()))
        _WORDS.put(text, words, len(text) + _BYTES_A_WORD * len(words))
    return words
