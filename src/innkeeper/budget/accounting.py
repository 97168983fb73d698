"""Accounting: what each message of a plan costs, as it is sent, and how much of the window is left."""

from __future__ import annotations

from typing import Any

import msgspec

from innkeeper.budget.costing import Cost, Costing, framing_of
from innkeeper.budget.report import TrimReport
from innkeeper.prompt import Block, Plan, TokenCounter
from innkeeper.prompt.origin import Origin
from innkeeper.tokens.counter import default_counter
from innkeeper.tokens.framing import Framing
from innkeeper.tokens.tools import count_tools

__all__ = ["Accounting", "Line", "accounting"]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. ``tokens`` is all of it: text, metadata where that counts, and ``overhead`` (role, name, framing, media)."""

    block_id: str
    role: str
    slot: str | None
    group: str
    tokens: int
    content: int
    overhead: int
    metadata: int = 0
    attachments: int = 0
    origin: Origin | None = None


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """The sums, in tokens. ``total`` is used, ``reserve`` is kept for the reply, ``free`` is what is left of ``window``.

    ``free`` is negative where the plan does not fit, and ``None`` without a window. ``exact`` is true where every figure is the
    model's own count; otherwise ``error_percent`` says how far the counter may be off (``None``: nobody knows).
    ``uncounted_attachments`` cost tokens that no text counter knows.
    """

    lines: tuple[Line, ...]
    content: int
    metadata: int
    overhead: int
    reply: int
    tools: int
    total: int
    window: int | None
    reserve: int
    free: int | None
    model: str | None
    tokenizer: str | None
    framing: str
    exact: bool
    error_percent: float | None
    uncounted_attachments: int = 0

    @property
    def fits(self) -> bool:
        """Whether used plus reserved is within the window. True without a window."""
        return self.free is None or self.free >= 0

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return {**facts, "fits": self.fits}


def accounting(
    plan: Plan,
    counter: TokenCounter | None = None,
    framing: Framing | None = None,
    *,
    model: str | None = None,
    attachment_tokens: int = 0,
    include_message_metadata_tokens: bool = False,
) -> Accounting:
    """Count a plan as it is sent: neighbouring in-chat blocks are one message.

    ``counter`` is the built-in one where none is given, ``framing`` the counter's own or that of the plan's dialect, ``model``
    the plan's. Window and reserve are those the plan was trimmed for, else those of its request.
    """
    framing = framing or framing_of(plan.dialect, counter)
    costing = Costing(
        counter=counter or default_counter(),
        model=model or plan.model,
        framing=framing,
        attachment_tokens=attachment_tokens,
        include_message_metadata_tokens=include_message_metadata_tokens,
    )
    blocks = plan.sent_blocks()
    costs = costing.costs(blocks)
    tools = count_tools(plan.tools, costing.whole_counter, costing.model, framing.name)
    return _summed(plan, costing, tuple(map(_line, blocks, costs)), tools.tokens)


def _line(block: Block, cost: Cost) -> Line:
    return Line(
        block_id=block.id,
        role=block.role,
        slot=block.slot,
        group=str(block.group),
        tokens=cost.total,
        content=cost.content,
        overhead=cost.overhead,
        metadata=cost.metadata,
        attachments=len(block.attachments),
        origin=block.origin,
    )


def _summed(plan: Plan, costing: Costing, lines: tuple[Line, ...], tools: int) -> Accounting:
    window, reserve = window_of(plan)
    reply = costing.framing.reply
    total = sum(line.tokens for line in lines) + reply + tools
    media = sum(line.attachments for line in lines)
    facts = costing.counter.describe(costing.model)
    name, error = facts.get("tokenizer") or facts.get("backend"), facts.get("error_percent")
    return Accounting(
        lines=lines,
        content=sum(line.content for line in lines),
        metadata=sum(line.metadata for line in lines),
        overhead=sum(line.overhead for line in lines),
        reply=reply,
        tools=tools,
        total=total,
        window=window,
        reserve=reserve,
        free=None if window is None else window - reserve - total,
        model=costing.model,
        tokenizer=None if name is None else str(name),
        framing=costing.framing.name,
        exact=facts.get("exact") is True and not tools and not media,
        error_percent=float(error) if isinstance(error, (int, float)) else None,
        uncounted_attachments=0 if costing.attachment_tokens else media,
    )


def window_of(plan: Plan) -> tuple[int | None, int]:
    """The window and the reserve a plan was trimmed for, else those of its request."""
    report = plan.trim_report
    if isinstance(report, TrimReport):
        window = report.budget_tokens + report.reserve_tokens if report.max_tokens is None else report.max_tokens
        return window, report.reserve_tokens
    request = plan.request
    return (None, 0) if request is None else (request.context_window or None, request.reserved_tokens)
