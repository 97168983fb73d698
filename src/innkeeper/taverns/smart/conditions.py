"""Conditions: whether entries whose mode is ``conditional`` may go in, judged by their macro expressions.

Each condition works on its own copy of the variables, so none sees what another set, and their order decides nothing.
`KeywordSearch` finds which of many keywords the history contains, in one pass over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.json.values import wrong_type
from innkeeper.text.automaton import Automaton

if TYPE_CHECKING:
    from innkeeper.macros.smart import MacroOptions

__all__ = ["CONDITIONAL", "HISTORY_TEXT", "Conditions", "KeywordSearch", "is_conditional"]

MIN_AUTOMATON_TOKENS: Final = 9
"""From so many keywords on, one pass with an automaton is faster than looking for each."""

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

    Raises `ShapeError` for variables that are not an object.
    """

    __slots__ = ("_env",)

    def __init__(self, conditions: Iterable[Any], text: str, variables: Any, options: MacroOptions) -> None:
        from innkeeper.macros.smart import SmartEnvironment

        if variables is not None and not isinstance(variables, Mapping):
            raise wrong_type("variables", "an object", variables)
        own = {} if variables is None else variables
        table = own if HISTORY_TEXT in own else {**own, HISTORY_TEXT: text}
        searched = table[HISTORY_TEXT]
        search = KeywordSearch(searched, _tokens(conditions)) if isinstance(searched, str) else None
        self._env = SmartEnvironment.of(table, None, options, None if search is None else search.contains)

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


class KeywordSearch:
    """A text to search. ``tokens`` are the keywords that will be asked for; nothing is searched before the first question."""

    __slots__ = ("_found", "_text", "_tokens")

    def __init__(self, text: str, tokens: Iterable[str] = ()) -> None:
        self._text = text
        self._tokens = tokens
        self._found: Mapping[str, bool] | None = None

    def contains(self, token: str) -> bool:
        """Whether ``token`` is in the text."""
        if self._found is None:
            self._found = self._search()
        answer = self._found.get(token)
        return token in self._text if answer is None else answer

    def _search(self) -> dict[str, bool]:
        """For each keyword told, whether it is in the text. Few of them are looked for when they are asked for."""
        tokens = sorted(set(self._tokens))
        if len(tokens) < MIN_AUTOMATON_TOKENS:
            return {}
        numbers = Automaton(tokens).contained(self._text)
        return {token: number in numbers for number, token in enumerate(tokens)}
