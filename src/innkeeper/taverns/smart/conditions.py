"""Conditions: whether entries of the mode ``conditional`` go in, judged by their macro expressions, with the reason.

Each condition works on its own copy of the variables, so none sees what another set, and their order decides nothing.
`KeywordSearch` finds which of many keywords the history contains, in one pass over it.

A `ConditionRule` decides about an entry of this tavern, in the words of `innkeeper.lore.Verdict`. The facts of a verdict are
``asset`` (``presets_in_chat`` or ``world_books``) and ``index`` (its place among the asset's entries, flattened, from 0); of a
condition its text as ``condition`` and what it came to as ``value``; the value that a rule refused as ``found``, by `shown`; of
an entry in the chat its ``role``, ``depth``, ``order`` and its ``place`` among the messages that construct made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.json.values import wrong_type
from innkeeper.lore.verdict import BaseReason, Verdict
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.automaton import Automaton

if TYPE_CHECKING:
    from innkeeper.macros.smart import MacroOptions


class ConditionRule(BaseReason):
    """The rules in the order in which they are asked; the first that stops an entry is its verdict."""

    INCLUDED = "kept", "at depth {depth}, order {order}, as {role}{judged}", True
    FRAMED = "framed", "at {found}", True
    """Around the character."""
    NOT_AN_OBJECT = "not_an_object", "it is not an object"
    POSITION = "position", "its position {found} is not in the chat"
    DISABLED = "disabled", "it is not enabled ({found})"
    BLANK = "blank", "it has no text"
    CONDITION = "condition", "its condition does not hold: {condition} came to {value}"
    BAD_DEPTH = "bad_depth", "its depth {found} is not a whole number"
    BAD_ORDER = "bad_order", "its order {found} is not a whole number"
    KEYS = "keys", "around the character an entry is triggered by keys, and none of {found} is in the history"
    """Around the character: conditional, and none of its keys is in the history."""
    NO_POSITION = "no_place", "the preset has no enabled prompt in whose place {found} could stand"

    def complete(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The facts, with the condition that held."""
        shown_facts = {name: shown(facts[name]) for name in ("condition", "value") if name in facts}
        judged = "; its condition holds: {condition} came to {value}".format_map(shown_facts) if shown_facts else ""
        return {**facts, **shown_facts, "judged": judged}


class SmartLore(msgspec.Struct, frozen=True):
    """A plan's record of its entries: a verdict for each, prompts in the chat first, then those of books."""

    verdicts: tuple[Verdict, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {"verdicts": [verdict.to_dict() for verdict in self.verdicts]}


_LONGEST: Final = 80


def shown(value: Any) -> str:
    """A value as Python writes it, shortened; of what cannot be written, its type."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


MIN_AUTOMATON_TOKENS: Final = 9
"""From so many keywords on, one pass with an automaton is faster than looking for each."""

_LONG: Final = 1000

_SEARCH_SHIFT: Final = 7
"""A step looks for a keyword in so many characters, as a power of two."""

CONDITIONAL: Final = "conditional"
"""The mode of an entry whose condition counts; every other mode is *always*."""

HISTORY_TEXT: Final = "chat_history_text"
"""The variable with the text of the history; a caller's own value of it stays."""

_KEYWORDS: Final = re.compile(r"(?:\{\{|<<)\s*keywords\s*:([^{}<>]*)(?:\}\}|>>)", re.IGNORECASE)
"""A keywords macro with no other macro in it."""


def is_conditional(entry: Mapping[str, Any]) -> bool:
    """Whether the entry's condition counts."""
    return entry.get("mode") == CONDITIONAL


class Conditions:
    """Judges conditions against one history and one table of variables. All conditions are passed at once.

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
        """The value of a condition's text, for an explanation."""
        from innkeeper.macros.smart import condition_value

        result: str = condition_value(condition, self._env)
        return result


def _tokens(conditions: Iterable[Any]) -> list[str]:
    """The keywords of all keywords macros in the conditions."""
    from innkeeper.macros.smart.keywords import tokens_of

    texts = (condition for condition in conditions if isinstance(condition, str))
    return tokens_of([params for text in texts for params in _KEYWORDS.findall(text)])


class KeywordSearch:
    """A text to search. ``tokens`` are the keywords that will be asked for; nothing is searched before the first question."""

    __slots__ = ("_matches", "_text", "_tokens")

    def __init__(self, text: str, tokens: Iterable[str] = ()) -> None:
        self._text = text
        self._tokens = tokens
        self._matches: Mapping[str, bool] | None = None

    def contains(self, token: str) -> bool:
        """Whether ``token`` is in the text."""
        if self._matches is None:
            self._matches = self._search()
        answer = self._matches.get(token)
        if answer is not None:
            return answer
        if len(self._text) > _LONG:
            charge("keywords", len(self._text) >> _SEARCH_SHIFT)
        return token in self._text

    def _search(self) -> dict[str, bool]:
        """Whether each keyword occurs in the text. If there are few, they are looked for on demand."""
        tokens = tuple(sorted(set(self._tokens)))
        if len(tokens) < MIN_AUTOMATON_TOKENS:
            return {}
        numbers = _automaton(tokens).contained(self._text)
        return {token: number in numbers for number, token in enumerate(tokens)}


_AUTOMATA: Final[BoundedCache[tuple[str, ...], Automaton]] = BoundedCache(items=256, size=32 * 1024 * 1024)


def _automaton(tokens: tuple[str, ...]) -> Automaton:
    """The automaton of these keywords, cached by them and charged to each build alike."""
    known = _AUTOMATA.get(tokens)
    if known is None:
        made = Automaton(tokens)
        return _AUTOMATA.put(tokens, made, made.size)
    charge("automata", known.work)
    return known
