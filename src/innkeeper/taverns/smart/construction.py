"""Construction: the history with in-chat prompts and book entries in it (3-smarttavern-in-chat-constructor).

Entries are screened, their conditions judged; what is left is a `EntryCandidate`, sorted by order, role and place, and
inserted group by group of one depth (*filter rules*, *sorting and insertion*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple

from innkeeper.content.json.values import text_of, wrong_type
from innkeeper.lore.verdict import Verdict
from innkeeper.prompt.allowance import allowed, charge
from innkeeper.taverns.smart.assets_normalizer import entries_of
from innkeeper.taverns.smart.compat import Compat, SmartOptions
from innkeeper.taverns.smart.conditions import ConditionRule, Conditions, is_conditional, shown
from innkeeper.taverns.smart.messages import (
    RANK,
    entry_source,
    history_text,
    items_of,
    normalised_history,
    preset_source,
    role_or,
    shown_number,
    whole_number,
)

PRESETS = "presets_in_chat"
BOOKS = "world_books"


class Construction(NamedTuple):
    """The result of construct: the messages, and a verdict for each entry, presets first, in their order."""

    messages: list[dict[str, Any]]
    verdicts: tuple[Verdict, ...]


def construct(
    history: Any, presets_in_chat: Any, world_books: Any, variables: Any = None, *, options: SmartOptions | None = None
) -> dict[str, Any]:
    """The history with in-chat prompts and entries inserted by depth and order, each message with its source.

    Args:
        history: messages ``{role, content}``, oldest first.
        presets_in_chat: prompts; those whose position is ``in-chat`` count.
        world_books: entries, in any of the containers of `entries_of`; those before or after the character do not count.
        variables: what conditions see; ``chat_history_text`` is added.
        options: compatibility and macros.

    Returns:
        ``{"messages": [{"role", "content", "source"}]}``. Nothing in it is shared with the arguments, none of which is changed.

    Raises:
        ShapeError: a role of the history is not one of the four.
        ShapeError: an argument is of the wrong type, or a message of the history is not an object.
        LimitError: data beyond a limit.
        AllowanceError: more than one build may take.
    """
    return {"messages": _construct(history, presets_in_chat, world_books, variables, options or SmartOptions(), None)}


def construct_explained(
    history: Any,
    presets_in_chat: Any,
    world_books: Any,
    variables: Any = None,
    *,
    options: SmartOptions | None = None,
    names: Sequence[str] = (),
) -> Construction:
    """`construct`, with what became of every entry and why. Takes the same arguments and raises the same.

    ``names`` are those of the books that the entries are from, one for each.
    """
    rows: list[_Row] = []
    messages = _construct(history, presets_in_chat, world_books, variables, options or SmartOptions(), rows)
    indices = {id(message["source"]): index for index, message in enumerate(messages)}
    in_order = sorted(rows, key=lambda row: row.entry.index)
    return Construction(messages, tuple(_verdict(row, indices, names) for row in in_order))


@dataclass(slots=True)
class _PendingEntry:
    """One entry on its way. ``index`` counts all entries, ``own`` those of its asset."""

    asset: str
    own: int
    index: int
    item: Any


@dataclass(slots=True)
class _Row:
    """The facts about an entry for its verdict."""

    entry: _PendingEntry
    rule: ConditionRule
    value: str | None = None
    candidate: EntryCandidate | None = None
    made: dict[str, Any] | None = None


@allowed()
def _construct(
    history: Any, presets: Any, books: Any, variables: Any, options: SmartOptions, rows: list[_Row] | None
) -> list[dict[str, Any]]:
    compat = options.compat
    messages = normalised_history(history, compat)
    screened = list(_screened(presets, books, compat, rows))
    conditional = [entry for entry in screened if _counts(entry, compat)]
    judge = None
    if conditional:
        text = history_text(items_of(history))
        judge = Conditions([e.item.get("condition") for e in conditional], text, variables, options.macros)
    candidates = list(_candidates(screened, judge, compat, rows))
    # By order, then role, then place (3-smarttavern, *sorting and insertion*).
    return inserted(messages, sorted(candidates, key=attrgetter("order", "rank", "index")), compat)


def _screened(presets: Any, books: Any, compat: Compat, rows: list[_Row] | None) -> Iterator[_PendingEntry]:
    """The entries that pass all rules but their conditions, presets first."""
    prompts = _prompts(presets)
    entries = entries_of(books, compat)
    for asset, items, first, screen in (
        (PRESETS, prompts, 0, screen_preset),
        (BOOKS, entries, len(prompts), screen_entry),
    ):
        yield from _passing(asset, items, first, screen, rows)


def _passing(asset: str, items: Any, first: int, screen: Screen, rows: list[_Row] | None) -> Iterator[_PendingEntry]:
    for own, item in enumerate(items):
        rule = screen(item)
        if rule is None:
            yield _PendingEntry(asset, own, first + own, item)
        elif rows is not None:
            rows.append(_Row(_PendingEntry(asset, own, first + own, item), rule))


def _prompts(presets: Any) -> Any:
    """The prompts; an object or text instead of them holds none, as in the original."""
    if presets is None:
        return ()
    if isinstance(presets, (list, tuple, dict, str)):
        return presets
    raise wrong_type(PRESETS, "an array of prompts", presets)


def _counts(entry: _PendingEntry, compat: Compat) -> bool:
    return is_conditional(entry.item) and (entry.asset == BOOKS or compat.conditional_presets)


def _candidates(
    entries: list[_PendingEntry], judge: Conditions | None, compat: Compat, rows: list[_Row] | None
) -> Iterator[EntryCandidate]:
    """The candidates among the screened entries, in their order."""
    for entry in entries:
        row = None
        if rows is not None:
            row = _Row(entry, ConditionRule.INCLUDED)
            rows.append(row)
        candidate = _candidate(entry, judge, compat, row)
        if isinstance(candidate, EntryCandidate):
            if row is not None:
                _follow(row, candidate)
            yield candidate
        elif row is not None:
            row.rule = candidate


def _candidate(
    entry: _PendingEntry, judge: Conditions | None, compat: Compat, row: _Row | None
) -> EntryCandidate | ConditionRule:
    if judge is not None and _counts(entry, compat) and not _holds(judge, entry.item.get("condition"), row):
        return ConditionRule.CONDITION
    if entry.asset == PRESETS:
        role = role_or(entry.item, "user", f"{PRESETS}[{entry.own}].role")
        source = partial(preset_source, entry.item, entry.index, emit_source_id=compat.emit_source_id)
    else:
        role = _BOOK_ROLES.get(text_of(entry.item.get("position"), BOOKS), "system")
        source = partial(entry_source, entry.item, entry.index, role, emit_source_id=compat.emit_source_id)
    return candidate_of(entry.item, entry.index, role, source, compat)


_BOOK_ROLES = {"assistant": "assistant", "user": "user"}
"""The role that a book entry's position stands for; every other is system."""


def _holds(judge: Conditions, condition: Any, row: _Row | None) -> bool:
    if row is None:
        return judge.hold(condition)
    row.value = judge.value(condition)
    return row.value.strip().lower() == "true"


def _follow(row: _Row, candidate: EntryCandidate) -> None:
    """Record the candidate and its source, by which its message is identified later."""
    make: Callable[[], dict[str, Any]] = candidate.source
    row.candidate = candidate

    def source() -> dict[str, Any]:
        row.made = make()
        return row.made

    candidate.source = source


def _verdict(row: _Row, indices: dict[int, int], names: Sequence[str]) -> Verdict:
    entry, candidate = row.entry, row.candidate
    item = entry.item if isinstance(entry.item, dict) else {}
    facts: dict[str, Any] = {"asset": entry.asset, "index": entry.own}
    if row.value is not None:
        facts |= {"condition": text_of(item.get("condition"), entry.asset), "value": row.value}
    if candidate is not None and row.made is not None:
        depth, order = shown_number(candidate.depth), shown_number(candidate.order)
        facts |= {"role": candidate.role, "depth": depth, "order": order, "place": indices[id(row.made)]}
    elif row.rule in _FIELD:
        facts["found"] = shown(item.get(_FIELD[row.rule]))
    own = item.get("id") if entry.asset == BOOKS else item.get("identifier") or item.get("name")
    book = names[entry.own] if entry.asset == BOOKS and entry.own < len(names) else ""
    return Verdict(
        book="preset" if entry.asset == PRESETS else book,
        uid=text_of(own, entry.asset) or f"{entry.asset}[{entry.own}]",
        title=text_of(item.get("name"), entry.asset),
        reason=row.rule,
        facts=facts,
    )


_FIELD = {
    ConditionRule.POSITION: "position",
    ConditionRule.DISABLED: "enabled",
    ConditionRule.BLANK: "content",
    ConditionRule.BAD_DEPTH: "depth",
    ConditionRule.BAD_ORDER: "order",
}
"""The field that a rule refused."""


_DEFAULT_DEPTH: Final = 0
_DEFAULT_ORDER: Final = 100
_MOVING_SHIFT: Final = 7
"""A step moves so many messages, as a power of two."""


@dataclass(slots=True)
class EntryCandidate:
    """``index`` is the place among all entries, presets first; ``source`` makes the message's annotation."""

    order: int
    rank: int
    index: int
    depth: int
    role: str
    content: str
    source: Callable[[], dict[str, Any]]

    def message(self) -> dict[str, Any]:
        """The message it becomes, with a source of its own."""
        return {"role": self.role, "content": self.content, "source": self.source()}


def candidate_of(
    entry: dict[str, Any], index: int, role: str, source: Callable[[], dict[str, Any]], compat: Compat
) -> EntryCandidate | ConditionRule:
    """The candidate, or the rule that stops an entry whose depth or order is not a number."""
    depth = whole_number(entry.get("depth"), _DEFAULT_DEPTH)
    if depth is None:
        return ConditionRule.BAD_DEPTH
    order = whole_number(entry.get("order"), _DEFAULT_ORDER)
    if order is None:
        return ConditionRule.BAD_ORDER
    if compat.order_zero == "default":
        order = order or _DEFAULT_ORDER
    return EntryCandidate(order, RANK[role], index, depth, role, entry["content"], source)


Screen = Callable[[Any], "ConditionRule | None"]
"""The rule that stops an entry, or ``None``."""

IN_CHAT: Final = "in-chat"
"""The position of a preset's prompt that goes into the chat."""

_FRAMED: Final = frozenset({"before_char", "after_char"})
"""Positions of book entries that framing places, not this."""


def screen_preset(item: Any) -> ConditionRule | None:
    """A preset's prompt: an object, ``in-chat`` exactly, not disabled, with text (3-smarttavern, *filter rules*)."""
    if not isinstance(item, dict):
        return ConditionRule.NOT_AN_OBJECT
    if _position(item, "presets_in_chat") != IN_CHAT:
        return ConditionRule.POSITION
    return _common(item)


def screen_entry(item: Any) -> ConditionRule | None:
    """A book's entry: not ``before_char`` or ``after_char``, not disabled, with text (3-smarttavern, *filter rules*)."""
    if _position(item, "world_books") in _FRAMED:
        return ConditionRule.POSITION
    return _common(item)


def _position(item: dict[str, Any], path: str) -> str:
    position = item.get("position")
    return position if type(position) is str else text_of(position, path)


def _common(item: dict[str, Any]) -> ConditionRule | None:
    """Only the boolean false disables; only text that is not empty is content."""
    if item.get("enabled") is False:
        return ConditionRule.DISABLED
    content = item.get("content")
    return None if isinstance(content, str) and content else ConditionRule.BLANK


def inserted(messages: list[dict[str, Any]], candidates: list[EntryCandidate], compat: Compat) -> list[dict[str, Any]]:
    """``messages`` with the sorted candidates in it, the deepest group first.

    Each group comes ``depth`` messages before the end of the list as it is by then: deeper than the list is at its
    beginning, below zero at its end.
    """
    groups: dict[int, list[dict[str, Any]]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.depth, []).append(candidate.message())
    grown = list(messages)
    for depth in sorted(groups, reverse=True):
        at = max(0, len(grown) - depth)
        charge("construction", (len(grown) - at) >> _MOVING_SHIFT)
        if depth < 0 and compat.negative_depth == "scrambled":
            # beyond the end list.insert appends: from the last to the first, each insertion brings the end nearer
            group = groups[depth]
            for message in reversed(group):
                grown.insert(at, message)
        else:
            grown[at:at] = groups[depth]
    return grown
