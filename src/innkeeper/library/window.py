"""Window: the part of a chat that fits, with the newest turns, and the report of what does not.

Old turns go first, one by one; then scene texts, then examples of a voice. The system's safety block, pinned turns and the
current message stay (dynamic-prompting reference 3.6 and 4.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import MaxTokensExceededError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.ports import TokenCounter
from innkeeper.tokens import default_counter

__all__ = ["Evicted", "Part", "Summariser", "Turn", "Window", "fit_chat"]


class Part(StrEnum):
    """What a message of a chat is for. Plain system messages count as ``safety``, all others as ``turn``."""

    SAFETY = "safety"
    SCENE = "scene"
    VOICE = "voice"
    TURN = "turn"


class Turn(msgspec.Struct, frozen=True):
    """A message with what the window needs to know of it. ``id`` is its client's id, where it has one."""

    message: Message
    part: Part = Part.TURN
    pinned: bool = False
    id: str = ""

    @classmethod
    def of(cls, value: Turn | Message) -> Turn:
        """A turn from itself or from a plain message."""
        if isinstance(value, Turn):
            return value
        return cls(value, Part.SAFETY if value.role == "system" else Part.TURN, id=_id_of(value))


class Evicted(msgspec.Struct, frozen=True):
    """A message that is left out: its place in what was given, why (``oldest``, ``scene``, ``voice``, ``current``), its size.

    ``current`` is a stored copy of the current message, which is sent once.
    """

    place: int
    reason: str
    tokens: int


class Window(msgspec.Struct, frozen=True):
    """What is sent, in its order, and the report: ``used`` of ``limit``, and what is left out."""

    messages: tuple[Message, ...]
    evicted: tuple[Evicted, ...]
    used: int
    limit: int
    summarised: bool = False


@dataclass(frozen=True, slots=True)
class Summariser:
    """Who sums up what is left out: ``ask`` gets those turns, and ``room`` tokens are kept for its answer."""

    ask: Callable[[tuple[Message, ...]], Message | None]
    room: int


MESSAGE_OVERHEAD: Final = 4
"""Tokens a message costs beside its text: its role and its borders."""

_GOING: Final = ((Part.TURN, "oldest"), (Part.SCENE, "scene"), (Part.VOICE, "voice"))


def fit_chat(
    messages: Sequence[Turn | Message],
    current: Turn | Message,
    budget: int,
    counter: TokenCounter | None = None,
    *,
    model: str | None = None,
    overhead: int = MESSAGE_OVERHEAD,
    summarise: Summariser | None = None,
) -> Window:
    """The chat within ``budget`` tokens: what stays, then the newest turns, then the current message, once.

    A stored copy of the current message is known by its client's id and left out; the same words said before are a turn of
    their own and stay. ``summarise`` is asked only where turns are left out; it may answer with a message that stands for
    them, in any role but ``system``, which is taken where it fits.

    Raises:
        MaxTokensExceededError: what must stay does not fit.
        UsageError: ``summarise`` answered with a system message.
    """
    last = Turn.of(current)
    turns = [Turn.of(message) for message in messages]
    sizes = _Sizes(counter or default_counter(), model, overhead)
    costs = sizes.of([*(turn.message for turn in turns), last.message])
    copies = [place for place, turn in enumerate(turns) if last.id and turn.id == last.id]
    evicted = _left_out(turns, costs, copies, budget)
    if summarise is not None and any(each.reason == "oldest" for each in evicted):
        evicted = _left_out(turns, costs, copies, budget - summarise.room)
    gone = {each.place for each in evicted}
    used = sum(costs) - sum(costs[place] for place in gone)
    if used > budget:
        raise MaxTokensExceededError(estimated_tokens=used, max_tokens=budget)
    kept = [turn.message for place, turn in enumerate(turns) if place not in gone]
    summary = _summary(summarise, turns, evicted)
    cost = sizes.of([summary])[0] if summary is not None else 0
    if summary is None or used + cost > budget:
        return Window((*kept, last.message), tuple(evicted), used, budget)
    first = min(each.place for each in evicted if each.reason == "oldest")
    head = sum(place not in gone for place in range(first))
    messages_sent = (*kept[:head], summary, *kept[head:], last.message)
    return Window(messages_sent, tuple(evicted), used + cost, budget, summarised=True)


def _left_out(turns: Sequence[Turn], costs: Sequence[int], copies: Sequence[int], budget: int) -> list[Evicted]:
    """Copies of the current message, and what goes to make room."""
    spare = sum(costs[place] for place in copies)
    going = _evictions(turns, costs, budget + spare, frozenset(copies))
    return [*(Evicted(place, "current", costs[place]) for place in copies), *going]


class _Sizes:
    """What messages cost, each different text counted once."""

    def __init__(self, counter: TokenCounter, model: str | None, overhead: int) -> None:
        self._count: Callable[[str], int] = lambda text: counter.count(text, model)
        self._overhead = overhead

    def of(self, messages: Iterable[Message]) -> list[int]:
        known: dict[str, int] = {}
        return [self._cost(_text_of(message), known) for message in messages]

    def _cost(self, text: str, known: dict[str, int]) -> int:
        if text not in known:
            known[text] = self._count(text) + self._overhead
        return known[text]


def _evictions(turns: Sequence[Turn], costs: Sequence[int], budget: int, skip: frozenset[int]) -> Iterator[Evicted]:
    """What goes, oldest first of each part, until the rest fits."""
    used = sum(costs)
    for part, reason in _GOING:
        for place, turn in enumerate(turns):
            if used <= budget:
                return
            if turn.part is part and not turn.pinned and place not in skip:
                used -= costs[place]
                yield Evicted(place, reason, costs[place])


def _summary(summarise: Summariser | None, turns: Sequence[Turn], evicted: Iterable[Evicted]) -> Message | None:
    old = tuple(turns[each.place].message for each in evicted if each.reason == "oldest")
    summary = summarise.ask(old) if summarise is not None and old else None
    if summary is not None and summary.role == "system":
        raise UsageError(
            "a summary of what users and models said cannot be a system message", hint="give it another role"
        )
    return summary


def _text_of(message: Message) -> str:
    return message.content if message.name is None else f"{message.name}: {message.content}"


def _id_of(message: Message) -> str:
    found: Any = message.metadata.get("client_msg_id", "")
    return found if isinstance(found, str) else ""
