"""Window: the part of a conversation that fits, as messages, with the report of what does not.

The rule is that of the strategy ``chat_window``; a summary may stand for the turns that go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import Costing
from innkeeper.budget.report import TrimReport
from innkeeper.budget.strategies import ChatWindow
from innkeeper.budget.trim import Counted, TokenRoom, trim_counted
from innkeeper.prompt import Block, BudgetGroup, Message, TokenCounter, UsageError
from innkeeper.tokens.counter import default_counter
from innkeeper.tokens.framing import OPENAI, Framing


class Part(StrEnum):
    """The part a message plays in a chat. Plain system messages count as ``safety``, all others as ``turn``."""

    SAFETY = "safety"
    SCENE = "scene"
    VOICE = "voice"
    TURN = "turn"


_GROUPS: Final = {
    Part.SAFETY: BudgetGroup.SYSTEM,
    Part.SCENE: BudgetGroup.LORE,
    Part.VOICE: BudgetGroup.EXAMPLES,
    Part.TURN: BudgetGroup.HISTORY,
}
_REASONS: Final = {"history": "oldest", "lore": "scene", "examples": "voice"}
"""Why a message went, by the pass in which it did."""


class ChatTurn(msgspec.Struct, frozen=True):
    """A message with the facts the window needs. ``id`` is its client's id, where it has one."""

    message: Message
    part: Part = Part.TURN
    pinned: bool = False
    id: str = ""

    @classmethod
    def of(cls, value: ChatTurn | Message) -> ChatTurn:
        """A turn from itself or from a plain message."""
        if isinstance(value, ChatTurn):
            return value
        return cls(value, Part.SAFETY if value.role == "system" else Part.TURN, id=client_id(value))

    def block(self, index: int) -> Block:
        """The block of this turn, the ``index``-th of its chat."""
        return Block.of_message(self.message, id=str(index), group=_GROUPS[self.part], removable=not self.pinned)


class Evicted(msgspec.Struct, frozen=True):
    """A message that is left out: its index in the input, the reason (``oldest``, ``scene``, ``voice``, ``current``), its size.

    ``current`` is a stored copy of the current message, which is sent once.
    """

    place: int
    reason: str
    tokens: int


class Window(msgspec.Struct, frozen=True):
    """The messages to send, in order, and the report: ``used`` of ``limit``, and the messages left out."""

    messages: tuple[Message, ...]
    evicted: tuple[Evicted, ...]
    used: int
    limit: int
    summarised: bool = False


@dataclass(frozen=True, slots=True)
class Summariser:
    """Summarises the turns that are left out: ``ask`` gets those turns, and ``room`` tokens are set aside for its answer."""

    ask: Callable[[tuple[Message, ...]], Message | None]
    room: int


def fit_chat(
    messages: Sequence[ChatTurn | Message],
    current: ChatTurn | Message,
    budget: int,
    counter: TokenCounter | None = None,
    *,
    model: str | None = None,
    framing: Framing = OPENAI,
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
    last = ChatTurn.of(current)
    turns = [ChatTurn.of(message) for message in messages]
    costing = Costing(counter=counter or default_counter(), model=model, framing=framing)
    copies = copies_of(last.id, [turn.id for turn in turns])
    blocks = [turn.block(index) for index, turn in enumerate(turns) if index not in copies]
    blocks.append(Block.of_message(last.message, id="current", group=BudgetGroup.HISTORY, removable=False))
    report = _trimmed(blocks, costing, budget)
    if summarise is not None and "oldest" in {each.reason for each in evicted_of(report, int)}:
        report = _trimmed(blocks, costing, budget - summarise.room, on_overflow="return")
    evicted = evicted_of(report, int)
    gone = {each.place for each in evicted}
    sent = {index: turn.message for index, turn in enumerate(turns) if index not in gone and index not in copies}
    sizes = costing.totals([turns[index].message for index in copies])
    evicted = (*(Evicted(index, "current", size) for index, size in zip(copies, sizes, strict=True)), *evicted)
    used, summary = report.final_tokens, _summary(summarise, turns, evicted)
    cost = costing.totals([summary])[0] if summary is not None else 0
    if summary is None or used + cost > budget:
        return Window((*sent.values(), last.message), evicted, used, budget)
    first = min(each.place for each in evicted if each.reason == "oldest")
    head = [message for index, message in sent.items() if index < first]
    tail = [message for index, message in sent.items() if index > first]
    return Window((*head, summary, *tail, last.message), evicted, used + cost, budget, summarised=True)


def copies_of(current: str, ids: Iterable[str]) -> tuple[int, ...]:
    """The places of stored copies of the current message, which have its client's id."""
    return tuple([index for index, each in enumerate(ids) if current and each == current])


def evicted_of(report: TrimReport, index_of: Callable[[str], int]) -> tuple[Evicted, ...]:
    """Return what the strategy's report left out; ``index_of`` gives the index of a block by its id."""
    return tuple(
        Evicted(index_of(each.block_id), _REASONS[each.budget_group], each.token_count) for each in report.evictions
    )


def client_id(message: Message) -> str:
    """Return the id under which a client sent a message: its ``client_msg_id``; empty without one."""
    value: Any = message.metadata.get("client_msg_id", "")
    return value if isinstance(value, str) else ""


def _trimmed(blocks: Sequence[Block], costing: Costing, budget: int, on_overflow: str = "error") -> TrimReport:
    room = TokenRoom(budget_tokens=budget, max_tokens=budget, fixed_tokens=costing.framing.reply)
    return trim_counted(Counted.of(blocks, costing), ChatWindow(), costing, room, on_overflow=on_overflow).report


def _summary(summarise: Summariser | None, turns: Sequence[ChatTurn], evicted: Iterable[Evicted]) -> Message | None:
    old = tuple(turns[each.place].message for each in evicted if each.reason == "oldest")
    summary = summarise.ask(old) if summarise is not None and old else None
    if summary is not None and summary.role == "system":
        raise UsageError(
            "a summary of what users and models said cannot be a system message", hint="give it another role"
        )
    return summary
