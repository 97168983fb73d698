"""trim: blocks disabled until the prompt fits (2-wave4-contracts, *Trimmer Contract*)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.budget.costing import Costing, whole
from innkeeper.budget.report import EvictionReason, EvictionRecord, GroupTotal, TrimReport, TrimResult
from innkeeper.budget.strategies import STRATEGIES, Strategy, evictions
from innkeeper.budget.units import Unit, pass_of
from innkeeper.prompt import Block, MaxTokensExceededError, Plan, TokenCounter, UnknownNameError
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError
from innkeeper.tokens.estimators import counter_of
from innkeeper.tokens.framing import NO_FRAMING, Framing

ON_OVERFLOW: Final = ("error", "return")
"""The reaction when the fixed blocks do not fit: raise, or return the best effort."""

_LARGEST_NAMED: Final = 3


class TokenRoom(msgspec.Struct, frozen=True, kw_only=True):
    """The room for a prompt: ``budget_tokens`` of a window ``max_tokens`` of which ``reserve_tokens`` are the reply's.

    ``fixed_tokens`` are in the prompt besides the blocks: tools, the start of the reply.
    """

    budget_tokens: int
    max_tokens: int | None = None
    reserve_tokens: int = 0
    fixed_tokens: int = 0

    @classmethod
    def of(cls, max_tokens: int | None, reserve_tokens: int = 0, budget_tokens: int | None = None) -> TokenRoom:
        """The budget if it is given, else window minus reserve and never below 0.

        Raises `UsageError` when there is neither, and for numbers that are negative or not whole.
        """
        whole("reserve_tokens", reserve_tokens)
        for name, value in (("max_tokens", max_tokens), ("budget_tokens", budget_tokens)):
            if value is not None:
                whole(name, value)
        if budget_tokens is None and max_tokens is None:
            raise UsageError("no token budget", hint="give max_tokens (the context window) or budget_tokens")
        rest = max((max_tokens or 0) - reserve_tokens, 0)
        budget = rest if budget_tokens is None else budget_tokens
        return cls(budget_tokens=budget, max_tokens=max_tokens, reserve_tokens=reserve_tokens)

    def besides(self, costing: Costing, tools: Iterable[Any], options: Mapping[str, Any] = EMPTY) -> TokenRoom:
        """Return the room less what is in every prompt: tools, the schema of the answer, the start of the reply."""
        tokens = costing.tool_tokens(tools) + costing.option_tokens(options)
        return msgspec.structs.replace(self, fixed_tokens=costing.framing.reply + tokens)


def trim(  # noqa: PLR0913 - the parameters of the document
    blocks: Sequence[Block],
    *,
    counter: TokenCounter | Callable[[str], int],
    strategy: str | Strategy = "group_order",
    model: str | None = None,
    max_tokens: int | None = None,
    reserve_tokens: int = 0,
    budget_tokens: int | None = None,
    framing: Framing = NO_FRAMING,
    message_overhead_tokens: int = 0,
    attachment_tokens: int = 0,
    other_tokens: int = 0,
    include_message_metadata_tokens: bool = False,
    on_overflow: str = "error",
    step: str | None = "trimming",
) -> TrimResult:
    """Disable blocks until the enabled ones fit. Pure: the arguments are not changed; blocks without an id get one.

    ``counter`` is a counter or a function of a text, as a build takes them. The budget is ``budget_tokens``, else
    ``max_tokens - reserve_tokens``. ``other_tokens`` are in the prompt besides the blocks (tools). For the rest see
    `Costing` and `innkeeper.budget.strategies`.

    Raises:
        UsageError: no budget, or numbers that make no sense.
        UnknownNameError: an unknown strategy or ``on_overflow``.
        MaxTokensExceededError: what may not be evicted does not fit, unless ``on_overflow`` is ``return``.
    """
    costing = Costing(
        counter=counter_of(counter),
        model=model,
        framing=framing,
        message_overhead_tokens=message_overhead_tokens,
        attachment_tokens=attachment_tokens,
        include_message_metadata_tokens=include_message_metadata_tokens,
    )
    fixed = whole("other_tokens", other_tokens) + framing.reply
    room = msgspec.structs.replace(TokenRoom.of(max_tokens, reserve_tokens, budget_tokens), fixed_tokens=fixed)
    counted = Counted.of(blocks, costing)
    return trim_counted(counted, STRATEGIES.make(strategy), costing, room, on_overflow=on_overflow, step=step)


class Counted(NamedTuple):
    """Blocks of a plan, those that are enabled, and what each of these costs as a message of its own, in tokens."""

    blocks: Sequence[Block]
    enabled: Sequence[Block]
    tokens: Sequence[int]

    @classmethod
    def of(cls, blocks: Sequence[Block], costing: Costing) -> Counted:
        """Count all blocks in one batch; blocks without an id get the one that a plan gives them."""
        if not all(block.id for block in blocks):
            blocks = Plan(blocks=tuple(blocks)).blocks
        enabled = [block for block in blocks if block.enabled]
        return cls(blocks, enabled, costing.totals(enabled))


def trim_counted(
    counted: Counted,
    strategy: Strategy,
    costing: Costing,
    room: TokenRoom,
    *,
    on_overflow: str = "error",
    step: str | None = None,
) -> TrimResult:
    """`trim` with its parameters put together, for blocks that are counted already."""
    if on_overflow not in ON_OVERFLOW:
        raise UnknownNameError("on_overflow", str(on_overflow), ON_OVERFLOW)
    blocks, enabled, tokens = counted
    total = sum(tokens) + room.fixed_tokens
    gone = evictions(enabled, tokens, strategy, total, room.budget_tokens)
    evicted = {index: _reason(unit, strategy) for unit in gone for index in unit.members}
    report = _report(enabled, tokens, evicted, strategy, room)
    if on_overflow == "error" and report.final_tokens > room.budget_tokens:
        remaining = [(enabled[index], tokens[index]) for index in range(len(enabled)) if index not in evicted]
        raise overflow(remaining, report, step)
    return _result(blocks, enabled, evicted, _described(report, costing))


def _reason(unit: Unit, strategy: Strategy) -> str:
    if unit.bundled:
        return EvictionReason.GROUP_OVERFLOW
    return EvictionReason.TOOL_PAIR if len(unit.members) > 1 else strategy.reason


def _result(
    blocks: Sequence[Block], enabled: Sequence[Block], evicted: Mapping[int, str], report: TrimReport
) -> TrimResult:
    if not evicted:
        return TrimResult(tuple(enabled), (), tuple(blocks), report)
    gone = sorted(evicted)
    off = dict(zip(gone, switched_off([enabled[index] for index in gone]), strict=True))
    # `enabled` are those of `blocks` that are on, in the same order: one iterator puts them back among the others
    after = iter([off.get(index, block) for index, block in enumerate(enabled)])
    return TrimResult(
        tuple(block for index, block in enumerate(enabled) if index not in off),
        tuple(off.values()),
        tuple(next(after) if block.enabled else block for block in blocks),
        report,
    )


def switched_off(blocks: Sequence[Block]) -> list[Block]:
    """The blocks as they are when they are left out: the same ones each time."""
    return _OFF.of_each(blocks, lambda new: [one.with_(enabled=False) for one in new], lambda one: len(one.content))


_OFF: Final[BoundedCache[int, Block]] = BoundedCache(items=128 * 1024)


def _report(
    enabled: Sequence[Block], tokens: Sequence[int], evicted: Mapping[int, str], strategy: Strategy, room: TokenRoom
) -> TrimReport:
    initial = sum(tokens) + room.fixed_tokens
    return TrimReport(
        strategy=strategy.name,
        budget_tokens=room.budget_tokens,
        max_tokens=room.max_tokens,
        reserve_tokens=room.reserve_tokens,
        initial_tokens=initial,
        final_tokens=initial - sum(tokens[index] for index in evicted),
        fixed_tokens=room.fixed_tokens,
        evictions=tuple(
            [_record(enabled[i], tokens[i], reason, by_priority=strategy.by_priority) for i, reason in evicted.items()]
        ),
        groups=_groups(enabled, tokens, evicted),
    )


def _record(block: Block, tokens: int, reason: str, *, by_priority: bool) -> EvictionRecord:
    source, bundle = block.metadata.get("source"), block.metadata.get("eviction_bundle")
    return EvictionRecord(
        block.id,
        block.slot,
        tokens,
        reason,
        pass_of(block),
        block.priority if by_priority else None,
        None if source is None else str(source),
        None if bundle is None else str(bundle),
    )


def _groups(enabled: Sequence[Block], tokens: Sequence[int], evicted: Mapping[int, str]) -> tuple[GroupTotal, ...]:
    sums: dict[str, list[int]] = {}
    for index, block in enumerate(enabled):
        entry = sums.get(block.group)
        if entry is None:
            entry = sums[block.group] = [0, 0, 0, 0]
        count = tokens[index]
        entry[0] += count
        if index in evicted:
            entry[3] += 1
        else:
            entry[1] += count
            entry[2] += 1
    return tuple(GroupTotal(str(group), *numbers) for group, numbers in sums.items())


def _described(report: TrimReport, costing: Costing) -> TrimReport:
    facts = costing.counter.describe(costing.model)
    name = facts.get("tokenizer") or facts.get("backend")
    return msgspec.structs.replace(
        report, tokenizer=None if name is None else str(name), exact=facts.get("exact") is True
    )


def overflow(remaining: Iterable[tuple[Block, int]], report: TrimReport, step: str | None) -> MaxTokensExceededError:
    """The error for what does not fit: its numbers as the document maps them, and the largest blocks that had to stay."""
    by_size = sorted(remaining, key=lambda item: -item[1])
    largest = [(block.slot or block.role, count) for block, count in by_size[:_LARGEST_NAMED]]
    named = ", ".join(f"{name} ({count:,})" for name, count in largest)
    window = report.budget_tokens + report.reserve_tokens if report.max_tokens is None else report.max_tokens
    return MaxTokensExceededError(
        estimated_tokens=report.final_tokens if report.sent_tokens is None else report.sent_tokens,
        max_tokens=window,
        reserve_tokens=report.reserve_tokens,
        step=step,
        hint=f"shorten what may not be dropped, raise the context window or lower the reserve; largest: {named or 'nothing'}",
        largest=[{"slot": name, "tokens": count} for name, count in largest],
        eviction_count=report.eviction_count,
    )
