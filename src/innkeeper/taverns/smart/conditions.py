"""Conditions: whether entries whose mode is ``conditional`` may go in, judged by their macro expressions.

Each condition works on its own copy of the variables, so none sees what another set, and their order decides nothing.
`KeywordSearch` finds which of many keywords the history contains, in one pass over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt.text import scalar_text
from innkeeper.taverns.smart.values import (
    MAX_AUTOMATON_TOKEN,
    MAX_SEGMENT,
    MIN_AUTOMATON_TOKENS,
    REBUILD_AFTER,
    ShapeError,
)

if TYPE_CHECKING:
    from innkeeper.macros.smart import MacroOptions

__all__ = ["CONDITIONAL", "HISTORY_TEXT", "Conditions", "KeywordSearch", "is_conditional"]

CONDITIONAL: Final = "conditional"
"""The mode of an entry whose condition counts; every other mode is *always*."""

HISTORY_TEXT: Final = "chat_history_text"
"""The variable that holds the text of the history; a caller's own value of it is kept."""

_KEYWORDS: Final = re.compile(r"(?:\{\{|<<)\s*keywords\s*:([^{}<>]*)(?:\}\}|>>)", re.IGNORECASE)
"""A keywords macro with no other macro in it."""


def is_conditional(entry: Mapping[str, Any]) -> bool:
    """Whether the entry's condition counts."""
    return entry.get("mode") == CONDITIONAL


class Conditions:
    """Judges conditions against one history and one table of variables. The conditions that will be judged are told at once.

    Raises `ShapeError` for variables that are no object.
    """

    __slots__ = ("_env",)

    def __init__(self, conditions: Iterable[Any], text: str, variables: Any, options: MacroOptions) -> None:
        from innkeeper.macros.smart import MacroEnvironment

        if variables is not None and not isinstance(variables, Mapping):
            raise ShapeError("variables", "an object", variables)
        own = {} if variables is None else variables
        table = own if HISTORY_TEXT in own else {**own, HISTORY_TEXT: text}
        searched = table[HISTORY_TEXT]
        search = KeywordSearch(searched, _tokens(conditions)) if isinstance(searched, str) else None
        self._env = MacroEnvironment.of(table, None, options, None if search is None else search.contains)

    def hold(self, condition: Any) -> bool:
        """Whether a condition's text comes to ``true``, in any case, blanks around it aside."""
        from innkeeper.macros.smart import condition_holds

        return condition_holds(condition, self._env)

    def value(self, condition: Any) -> str:
        """What a condition's text comes to, for an explanation."""
        from innkeeper.macros.smart import condition_value

        found: str = condition_value(condition, self._env)
        return found


def _tokens(conditions: Iterable[Any]) -> list[str]:
    """The keywords of all keywords macros in the conditions."""
    from innkeeper.macros.smart import keywords

    found: list[str] = []
    for condition in conditions:
        if isinstance(condition, str):
            for params in _KEYWORDS.findall(condition):
                found += keywords.parse(params).tokens
    return found


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
