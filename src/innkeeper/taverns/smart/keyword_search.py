"""KeywordSearch: which of many keywords a long text contains, found in one pass over it.

The answer to `KeywordSearch.contains` is always that of ``token in text``. Keywords that were told beforehand are looked for
together, by an automaton; others one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from innkeeper.prompt.text import scalar_text
from innkeeper.taverns.smart.limits import MAX_AUTOMATON_TOKEN, MAX_SEGMENT, MIN_AUTOMATON_TOKENS, REBUILD_AFTER

__all__ = ["KeywordSearch"]

_REPLACED: Final = "\ufffd"
"""What stands for a lone surrogate where text is searched; keywords with one in them are looked for in the text itself."""


class KeywordSearch:
    """A text to search. ``tokens`` are the keywords that will be asked for; nothing is searched before the first question."""

    __slots__ = ("_found", "_known", "_text", "_tokens")

    def __init__(self, text: str, tokens: Iterable[str] = ()) -> None:
        self._text = text
        self._tokens = tokens
        self._known: frozenset[str] | None = None
        self._found: set[str] = set()

    def contains(self, token: str) -> bool:
        """Whether ``token`` is in the text."""
        known = self._search() if self._known is None else self._known
        if token in known:
            return token in self._found
        return token in self._text

    def _search(self) -> frozenset[str]:
        """Search for all told keywords, where there are so many that it pays."""
        known = frozenset(filter(_fits, self._tokens))
        if len(known) < MIN_AUTOMATON_TOKENS:
            known = frozenset()
        self._known = known
        self._found = _found(scalar_text(self._text), known)
        return known


def _fits(token: str) -> bool:
    return 0 < len(token) <= MAX_AUTOMATON_TOKEN and _REPLACED not in token and scalar_text(token) == token


def _found(text: str, tokens: frozenset[str]) -> set[str]:
    """The tokens in ``text``, segment by segment; segments overlap so that nothing is cut."""
    found: set[str] = set()
    open_tokens = sorted(tokens)
    overlap = max(map(len, open_tokens), default=1) - 1
    automaton = _automaton(open_tokens)
    for start in range(0, len(text), MAX_SEGMENT):
        if automaton is None:
            break
        finds = automaton.find_matches_as_indexes(text[start : start + MAX_SEGMENT + overlap], overlapping=True)
        found.update([open_tokens[find[0]] for find in finds])
        if len(finds) > REBUILD_AFTER:
            open_tokens = [token for token in open_tokens if token not in found]
            automaton = _automaton(open_tokens)
    return found


def _automaton(tokens: list[str]) -> Any:
    if not tokens:
        return None
    from ahocorasick_rs import AhoCorasick

    return AhoCorasick(tokens, store_patterns=False)
