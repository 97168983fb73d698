"""Timeline: a chat turn by turn: which entries were in and why, tokens by group, what was left out, what a cache would keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.budget import TrimReport, accounting, cache_plan, prefix_report
from innkeeper.lore import LoreResult, Verdict
from innkeeper.lore.verdict import is_near
from innkeeper.prompt import BuildRequest, LimitError, Message, Plan, Ports, UsageError
from innkeeper.prompt.report import TextTable, sparkline, svg_stack
from innkeeper.prompt.text import shorten
from innkeeper.taverns.session import Session

MAX_TIMELINE_TURNS: Final = 2_000
"""Turns of a chat that are built one after the other (`LimitError`)."""

CACHE: Final = "anthropic"
"""Whose cache is asked where nobody says."""

_SHOWN: Final = 60
"""The last turns of a line of text."""

_LONGEST: Final = 80


class TurnEntry(msgspec.Struct, frozen=True):
    """An entry at one turn: whether it is in, its reason, the decision as a sentence, and the facts that the sentence names."""

    book: str
    uid: int | str
    title: str
    fired: bool
    reason: str
    text: str
    parameters: Mapping[str, str] = {}


class TimelineTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn: the index of the user's message, and the prompt's tokens, in all and by budget group.

    ``entries`` are those that are in or came near it. ``left_out`` are tokens of what did not fit. ``shared`` are the tokens that
    the prompt before began with, too; ``read`` those of them that the provider's cache serves. ``why`` says why not more,
    ``mend`` how more.
    """

    message: int
    tokens: int
    window: int | None
    groups: dict[str, int]
    left_out: int
    entries: tuple[TurnEntry, ...]
    shared: int = 0
    read: int = 0
    why: str | None = None
    mend: str | None = None


class TimelineRow(msgspec.Struct, frozen=True):
    """An entry through all turns: what it was at each by the turn's number from 0; out where there is none."""

    book: str
    uid: int | str
    title: str
    turns: dict[int, TurnEntry]

    def line(self, count: int) -> str:
        """The last turns of so many as marks: in, near, out."""
        moments = [self.turns.get(number) for number in range(max(count - _SHOWN, 0), count)]
        return "".join("·" if one is None else "█" if one.fired else "▒" for one in moments)


class Timeline(msgspec.Struct, frozen=True):
    """The turns of a chat, with one provider's cache."""

    provider: str
    turns: tuple[TimelineTurn, ...]

    @property
    def rows(self) -> tuple[TimelineRow, ...]:
        """The entries that were ever in or near, in the order in which they came."""
        rows: dict[tuple[str, int | str], TimelineRow] = {}
        for number, turn in enumerate(self.turns):
            for entry in turn.entries:
                key = entry.book, entry.uid
                rows.setdefault(key, TimelineRow(*key, entry.title, {})).turns[number] = entry
        return tuple(rows.values())

    @property
    def groups(self) -> dict[str, list[int]]:
        """The tokens of each budget group, turn after turn."""
        names = dict.fromkeys(name for turn in self.turns for name in turn.groups)
        return {name: [turn.groups.get(name, 0) for turn in self.turns] for name in names}

    def tables(self) -> tuple[TextTable, ...]:
        """Entries by turns, and tokens by group."""
        return self._entry_table(), self._token_table()

    def _entry_table(self) -> TextTable:
        names = ("entry", "book", "turns", "█ in, ▒ near, · out", "last time")
        count, rows = len(self.turns), []
        for row in self.rows:
            last = max(row.turns)
            fired = sum(entry.fired for entry in row.turns.values())
            latest = f"{last + 1}: {shorten(row.turns[last].text, _LONGEST)}"
            rows.append((row.title or str(row.uid), row.book, fired, row.line(count), latest))
        return TextTable(f"entries in {count} turns", names, tuple(rows))

    def _token_table(self) -> TextTable:
        lines = {**self.groups, "all": [turn.tokens for turn in self.turns]}
        lines |= (
            {"left out": [turn.left_out for turn in self.turns]} if any(turn.left_out for turn in self.turns) else {}
        )
        lines |= {f"read by {self.provider}": [turn.read for turn in self.turns]}
        most = max((turn.window or turn.tokens for turn in self.turns), default=0) or 1
        rows = tuple(
            (name, line[0], max(line), line[-1], sparkline([tokens / most for tokens in line]))
            for name, line in lines.items()
        )
        return TextTable("tokens by group", ("group", "first", "most", "last", "turn after turn"), rows)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return facts

    def to_svg(self) -> str:
        """The tokens of each turn by group as a plot."""
        return svg_stack("tokens by group, turn after turn", self.groups)


def timeline(request: BuildRequest, provider: str = CACHE, ports: Ports | None = None) -> Timeline:
    """Build each turn of a request's chat, and say what was in its prompt, and why.

    Raises:
        UsageError: the chat has no message of the user.
        UnknownNameError: no rule is known for the provider's cache.
        LimitError: more than `MAX_TIMELINE_TURNS` turns.
        InnkeeperError: what building raises.
    """
    turns: list[TimelineTurn] = []
    before: Plan | None = None
    for message, plan in built_turns(request, ports):
        turns.append(timeline_turn(message, plan, before, provider))
        before = plan
    return Timeline(provider, tuple(turns))


def built_turns(
    request: BuildRequest, ports: Ports | None = None, inputs: Mapping[str, Any] | None = None
) -> Iterator[tuple[int, Plan]]:
    """Build each turn of a request's chat with what the one before left; yield the index of the user's message, and the plan.

    The last is that of the request's ``message``, where there is one. ``inputs`` are over the request. Raises as `timeline`.
    """
    if request.message:
        question = Message("user", request.message)
        request = request.with_(history=(*request.history, question), message="")
    ends = [index for index, message in enumerate(request.history) if message.role == "user"]
    if not ends:
        raise UsageError("the chat has no message of the user", hint="name a chat with --chat")
    if len(ends) > MAX_TIMELINE_TURNS:
        raise LimitError(
            "the turns of the chat", limit="MAX_TIMELINE_TURNS", allowed=MAX_TIMELINE_TURNS, found=len(ends)
        )
    session = Session(request, ports, **(inputs or {}))
    for end in ends:
        plan = session.set(history=request.history[: end + 1]).plan()
        session.carry(plan)
        yield end, plan


def timeline_turn(message: int, plan: Plan, before: Plan | None, provider: str = CACHE) -> TimelineTurn:
    """Return what there is to say of one turn, after ``before`` was sent. Raises `UnknownNameError` for the provider."""
    figures, cached = accounting(plan), cache_plan(plan, provider, before)
    report = plan.trim_report
    return TimelineTurn(
        message=message,
        tokens=figures.total,
        window=figures.window,
        groups=figures.groups,
        left_out=sum(one.token_count for one in report.evictions) if isinstance(report, TrimReport) else 0,
        entries=tuple(_entry(verdict) for verdict in near_verdicts(plan)),
        shared=0 if before is None else prefix_report(before, plan).shared_tokens,
        read=cached.read,
        why=None if cached.cause is None else cached.cause.why,
        mend=None if cached.cause is None else cached.cause.mend,
    )


def near_verdicts(plan: Plan) -> tuple[Verdict, ...]:
    """The verdicts of the entries that are in a prompt, or came near it."""
    if isinstance(plan.lore, LoreResult):
        return plan.lore.near
    return tuple(verdict for verdict in getattr(plan.lore, "verdicts", ()) if is_near(verdict))


def _entry(verdict: Verdict) -> TurnEntry:
    facts, reason = verdict.reason.parameters(verdict.facts), verdict.reason.value
    return TurnEntry(verdict.book, verdict.uid, verdict.title, verdict.fired, reason, str(verdict), facts)
