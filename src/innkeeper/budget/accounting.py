"""Accounting: what each message of a plan costs, as it is sent, and how much of the window it takes.

The `Explanation` is made of it: what is in a plan and why, block by block, with tokens, and what was left out.

A dialect that makes one text of all messages is counted by that text, with its marks and separators. Two rules hold the promise
``used + reserved <= window`` for it. A build whose request names such a dialect is fitted by the text that `Plan.to_request`
gives. A plan that is rendered with options that the build did not know is measured again, by a `RenderGuard`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import Cost, Costing, CountedBlocks, count_texts, sent_metadata, shape_of
from innkeeper.budget.report import EvictionRecord, TrimReport
from innkeeper.budget.trim import TokenRoom
from innkeeper.prompt import Block, InnkeeperError, MaxTokensExceededError, Message, Note, Payload, Plan, TokenCounter
from innkeeper.prompt.block import Origin, source_words
from innkeeper.prompt.payload.dialect import REPLY_LIMITS, reply_limit
from innkeeper.prompt.text import count_of, escaped, shorten
from innkeeper.tokens.framing import Framing
from innkeeper.tokens.table.catalogue import known_window

FRAMING: Final = "framing"
"""The group of what belongs to no message: the start of the reply, tools, marks between messages."""


class AccountLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. ``tokens`` is all of it: text, metadata where that counts, and ``overhead`` (role, name, framing, media).

    ``media`` and ``reasoning`` are the shares of attachments and of thoughts that are sent back in ``overhead``.
    """

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
    media: int = 0
    reasoning: int = 0


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """The sums, in tokens. ``total`` is used, ``reserve`` is set aside for the reply, ``free`` is the rest of ``window``.

    ``free`` is negative where the plan does not fit, and ``None`` without a window. ``exact`` is true where every figure is the
    model's own count; otherwise ``error_percent`` says how far the counter may be off (``None``: nobody knows).
    ``media`` (pictures, sounds, videos, files) and ``reasoning`` (thoughts that are sent back) are shares of ``overhead``;
    ``schema`` is that of the answer, with what else the options put into the prompt. ``uncounted_attachments`` are of a kind that
    no rule knows.
    """

    lines: tuple[AccountLine, ...]
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
    media: int = 0
    reasoning: int = 0
    schema: int = 0

    @property
    def fits(self) -> bool:
        """Whether used plus reserved is within the window. True without a window."""
        return self.free is None or self.free >= 0

    @property
    def groups(self) -> dict[str, int]:
        """The tokens of each budget group, in the order of the prompt, and of what frames the messages; together ``total``."""
        sums: dict[str, int] = {}
        for line in self.lines:
            sums[line.group] = sums.get(line.group, 0) + line.tokens
        rest = self.total - sum(sums.values())
        return {**sums, FRAMING: rest} if rest else sums

    def __repr__(self) -> str:
        """Return the sums, without the lines."""
        sums = f"total={self.total}, reserve={self.reserve}, free={self.free}, window={self.window}"
        return f"Accounting({sums}, tokenizer={self.tokenizer!r}, exact={self.exact})"

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

    It is counted as its build counted it. ``counter`` counts in its place, with ``framing`` (its own, or that of the plan's
    dialect) and for ``model`` (the plan's). Window and reserve are those the plan was trimmed for, else those of its request.
    """
    costing = costing_of(plan, counter, framing)
    if model is not None or attachment_tokens or include_message_metadata_tokens:
        costing = msgspec.structs.replace(
            costing,
            model=model or costing.model,
            attachment_tokens=attachment_tokens or costing.attachment_tokens,
            include_message_metadata_tokens=include_message_metadata_tokens,
        )
    blocks = plan.sent_blocks()
    return _summed(plan, costing, blocks, costing.costs(blocks))


def plan_tokens(plan: Plan) -> int:
    """Return the total of `accounting`, for whoever wants no other figure."""
    costing, blocks = costing_of(plan), plan.sent_blocks()
    known = plan.guard.counted if isinstance(plan.guard, RenderGuard) else None
    if known is None or not known.counts(costing, blocks):
        known = counted_blocks(plan, costing)
    return known.tokens + sum(_fixed(plan, costing))


def counted_blocks(plan: Plan, costing: Costing, *, in_parts: bool = False) -> CountedBlocks:
    """Count a plan as it is sent, but for what is in every prompt; with the cost of each block ``in_parts``."""
    blocks = plan.sent_blocks()
    costs = costing.costs(blocks) if in_parts else None
    tokens = sum(costing.totals(blocks)) if costs is None else sum(cost.total for cost in costs)
    return CountedBlocks(costing, blocks, tokens + marks_of(plan, costing, tokens), costs)


def _fixed(plan: Plan, costing: Costing) -> tuple[int, int, int]:
    """The tokens of what is in a prompt besides its messages: the start of the reply, the tools, the schema of the answer."""
    return costing.framing.reply, costing.tool_tokens(plan.tools), costing.option_tokens(plan.options)


def costing_of(plan: Plan, counter: TokenCounter | None = None, framing: Framing | None = None) -> Costing:
    """How a plan is counted: as its build counted it; by ``counter`` or ``framing`` where one is given."""
    if counter is None and isinstance(plan.guard, RenderGuard):
        costing = plan.guard.costing
        return costing if framing is None else msgspec.structs.replace(costing, framing=framing)
    return Costing.of_dialect(
        plan.dialect, plan.dialects, plan.options, counter=counter, framing=framing, model=plan.model
    )


def _line(block: Block, cost: Cost) -> AccountLine:
    return AccountLine(
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
        media=cost.media,
        reasoning=cost.reasoning,
    )


def _summed(plan: Plan, costing: Costing, blocks: Sequence[Block], costs: Sequence[Cost]) -> Accounting:
    window, reserve = window_of(plan)
    reply, tools, schema = _fixed(plan, costing)
    lines = tuple(map(_line, blocks, costs))
    tokens = sum(line.tokens for line in lines)
    marks = marks_of(plan, costing, tokens)
    total = tokens + marks + reply + tools + schema
    attachments = [item for block in blocks for item in block.attachments]
    facts = costing.counter.describe(costing.model)
    name, error = facts.get("tokenizer") or facts.get("backend"), facts.get("error_percent")
    return Accounting(
        lines=lines,
        content=sum(line.content for line in lines),
        metadata=sum(line.metadata for line in lines),
        overhead=sum(line.overhead for line in lines) + marks,
        reply=reply,
        tools=tools,
        total=total,
        window=window,
        reserve=reserve,
        free=None if window is None else window - reserve - total,
        model=costing.model,
        tokenizer=None if name is None else str(name),
        framing=costing.framing.name,
        exact=facts.get("exact") is True and not tools and not schema and not attachments,
        error_percent=float(error) if isinstance(error, (int, float)) else None,
        uncounted_attachments=sum(costing.media_cost(item) is None for item in attachments),
        media=sum(line.media for line in lines),
        reasoning=sum(line.reasoning for line in lines),
        schema=schema,
    )


def window_of(plan: Plan) -> tuple[int | None, int]:
    """The window and the reserve a plan was trimmed for, else those of its request."""
    report = plan.trim_report
    if isinstance(report, TrimReport):
        window = report.budget_tokens + report.reserve_tokens if report.max_tokens is None else report.max_tokens
        return window, report.reserve_tokens
    request = plan.request
    if request is None:
        return None, 0
    known = known_window(plan.model) if request.context_window is None else request.context_window
    return known or None, max(request.reserved_tokens or 0, reply_limit(plan.options))


SENT: Final = "sent"
EVICTED: Final = "evicted"
DISABLED: Final = "disabled"

_WORDS: Final = 60


class Row(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One block: its speaker, its position, its tokens as a message of its own, the beginning of its text, and its fate.

    ``status`` is ``sent``, ``evicted`` or ``disabled``; ``reason`` says why it was evicted. ``origin`` reads
    ``asset.field[entry]{{macro}}``.
    """

    index: int
    block_id: str
    role: str
    tokens: int
    words: str
    status: str
    reason: str | None = None
    name: str | None = None
    slot: str | None = None
    source: str | None = None
    group: str | None = None
    bundle: str | None = None
    origin: str | None = None
    attachments: int = 0


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A plan explained. ``budget`` counts messages as they are sent; ``trim`` is what trimming did, when it ran."""

    tavern: str
    profile: str | None
    model: str | None
    dialect: str | None
    rows: tuple[Row, ...]
    budget: Accounting
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    trim: TrimReport | None = None

    def __repr__(self) -> str:
        """Return the names and the sums, without the rows: `render` shows all."""
        return f"Explanation(tavern={self.tavern!r}, rows={len(self.rows)}, budget={self.budget!r})"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        return {
            "tavern": self.tavern,
            "profile": self.profile,
            "model": self.model,
            "dialect": self.dialect,
            "rows": msgspec.to_builtins(self.rows),
            "budget": self.budget.to_dict(),
            "warnings": [note.to_dict() for note in self.warnings],
            "notes": [note.to_dict() for note in self.notes],
            "trim": None if self.trim is None else self.trim.to_dict(),
        }

    def render(self) -> str:
        """All of it as lines of text, safe to print."""
        lines = [_table_line(row) for row in self.rows]
        lines += ["", *_budget_lines(self.budget)]
        lines += [f"warning: {escaped(str(note))}" for note in self.warnings]
        lines += [f"{note.kind}: {escaped(str(note))}" for note in self.notes]
        return "\n".join(lines)


def explain(plan: Plan, counter: TokenCounter | None = None, framing: Framing | None = None) -> Explanation:
    """Explain a plan. It is looked at, not rebuilt: nothing changes and nothing is called but the counter.

    It is counted as its build counted it, unless by ``counter``, with ``framing``, its own or that of the plan's dialect.
    """
    report = plan.trim_report if isinstance(plan.trim_report, TrimReport) else None
    records = {record.block_id: record for record in report.evictions} if report else {}
    costs = costing_of(plan, counter, framing).costs(plan.blocks)
    return Explanation(
        tavern=plan.tavern,
        profile=plan.profile,
        model=plan.model,
        dialect=plan.dialect,
        rows=tuple(
            _row(i, block, cost.total, records) for i, (block, cost) in enumerate(zip(plan.blocks, costs, strict=True))
        ),
        budget=accounting(plan, counter, framing),
        warnings=plan.warnings,
        notes=plan.notes,
        trim=report,
    )


def _row(index: int, block: Block, tokens: int, records: Mapping[str, EvictionRecord]) -> Row:
    record = None if block.enabled else records.get(block.id)
    status = SENT if block.enabled else DISABLED if record is None else EVICTED
    source, bundle = block.source, block.bundle
    return Row(
        index=index,
        block_id=block.id,
        role=block.role,
        tokens=tokens,
        words=shorten(escaped(" ".join(block.content[: 4 * _WORDS].split())), _WORDS),
        status=status,
        reason=None if record is None else str(record.reason),
        name=block.name,
        slot=block.slot,
        source=None if source is None else str(source),
        group=str(block.group),
        bundle=None if bundle is None else str(bundle),
        origin=source_words(block) or None,
        attachments=len(block.attachments),
    )


def _table_line(row: Row) -> str:
    state = {SENT: " ", EVICTED: "-", DISABLED: "x"}[row.status]
    path = escaped(row.origin or row.slot or row.source or "")
    reason = f" [{row.reason}]" if row.reason else ""
    return f"{state} {row.index:>4} {row.tokens:>7,} {row.role:<9} {path:<24} {row.words}{reason}".rstrip()


def _budget_lines(budget: Accounting) -> list[str]:
    how = "exact" if budget.exact else "estimated"
    margin = f" ± {budget.error_percent:g} %" if budget.error_percent else ""
    lines = [f"used {budget.total:,} tokens ({how}{margin}, {budget.tokenizer or 'unknown tokenizer'})"]
    if budget.window is not None and budget.free is not None:
        over = "" if budget.fits else " - does not fit"
        lines.append(f"window {budget.window:,}, reserved {budget.reserve:,}, free {budget.free:,}{over}")
    shares = {
        name: getattr(budget, name) for name in ("tools", "schema", "media", "reasoning") if getattr(budget, name)
    }
    if shares:
        lines.append("of these " + ", ".join(f"{name} {tokens:,}" for name, tokens in shares.items()))
    if budget.uncounted_attachments:
        lines.append(f"not counted: {count_of(budget.uncounted_attachments, 'attachment')}")
    return lines


def text_of(plan: Plan) -> str | None:
    """Return the single text that a plan is sent as; ``None`` where its dialect sends messages, or cannot render it."""
    if plan.dialect is None or plan.dialects is None or plan.dialect not in plan.dialects:
        return None
    try:
        return _one_text(plan.to_request())
    except InnkeeperError:
        return None


def marks_of(plan: Plan, costing: Costing, tokens: int) -> int:
    """Return the tokens of a plan's text besides those of its messages: role marks, separators; of messages, the filler."""
    if costing.framing.fields != ("content",):
        return _filler_tokens(plan, costing)
    text = text_of(plan)
    return 0 if text is None else max(count_texts(costing.counter, [text], costing.model)[0] - tokens, 0)


def _filler_tokens(plan: Plan, costing: Costing) -> int:
    """Return the tokens of the user's text that a dialect puts in where nobody but the system speaks."""
    rules = getattr(costing.shape, "rules", None)
    if rules is None or not rules.repair or any(map(_speaks, plan.sent_blocks())):
        return 0
    return sum(costing.totals([Message("user", str(plan.options.get("filler") or "Begin."))]))


def _speaks(block: Block) -> bool:
    return block.role != "system" and bool(block.content.strip() or block.attachments or block.message_metadata)


class RenderGuard(msgspec.Struct, frozen=True):
    """Knows how a build has counted its plan, and refuses a rendering that is larger than the window.

    ``used`` are the tokens of the plan as it was built. What a build does not know is counted here: a dialect that was not named,
    options given at rendering, media of a plan that was filled ``by_tavern``. Without ``room`` there is no window. ``counted``
    are blocks that the build has counted as messages.
    """

    costing: Costing
    room: TokenRoom | None = None
    used: int = 0
    by_tavern: bool = False
    counted: CountedBlocks | None = None

    def free_for_answer(self, most: int) -> int | None:
        """How long an answer may be that nobody reserved tokens for, ``most`` at most; ``None`` without a window."""
        window = None if self.room is None else self.room.max_tokens
        return None if window is None else max(min(most, window - self.used), 1)

    def check(self, payload: Payload, plan: Plan, dialect: str, options: Mapping[str, Any]) -> None:
        """Raise `MaxTokensExceededError` for a payload that is larger than its budget, or asks for too long an answer."""
        if self.room is None:
            return
        text = _one_text(payload)
        if text is None:
            used = self.used + self._more(plan, dialect, options)
        else:
            used = count_texts(self.costing.counter, [text], self.costing.model)[0]
        limit = reply_limit(payload.body)
        window = self.room.max_tokens or self.room.budget_tokens + self.room.reserve_tokens
        if used <= self.room.budget_tokens and used + limit <= window:
            return
        known = [name for name in (*_SHAPING, *REPLY_LIMITS) if name in options]
        raise MaxTokensExceededError(
            estimated_tokens=used,
            max_tokens=window,
            reserve_tokens=max(limit, self.room.reserve_tokens),
            hint=f"give {', '.join(['dialect', *known])} to the build, which then leaves out what does not fit",
        )

    def _more(self, plan: Plan, dialect: str, options: Mapping[str, Any]) -> int:
        """The tokens that this dialect and these options add to what the build has counted."""
        costing = self.costing
        sent, shape = plan.sent_blocks(), shape_of(dialect, plan.dialects)
        rich = [block for block in sent if block.attachments or block.message_metadata]
        if not (options or rich or costing.dialect) and shape is costing.shape:
            return 0  # it is what the build has counted: only media and metadata know the dialect by its name
        more = (
            costing.option_tokens({**plan.options, **options}) - costing.option_tokens(plan.options) if options else 0
        )
        other = msgspec.structs.replace(
            costing, dialect=dialect, sends=sent_metadata(dialect, plan.dialects, options), shape=shape
        )
        if self.by_tavern and any(block.attachments for block in sent):
            fixed = costing.framing.reply + other.tool_tokens(plan.tools) + other.option_tokens(plan.options)
            whole = max(sum(other.totals(sent)), sum(other.totals(list(map(_without_costs, sent)))))
            return max(more, 0) + max(whole + fixed - self.used, 0)
        if other == costing:
            return max(more, 0)
        filler = max(_filler_tokens(plan, other) - _filler_tokens(plan, costing), 0)
        return max(more, 0) + max(sum(other.totals(rich)) - sum(costing.totals(rich)), 0) + filler


def _without_costs(block: Block) -> Block:
    """The block without what its tavern says that its media cost: other providers take other prices."""
    items = tuple([msgspec.structs.replace(item, tokens=None) for item in block.attachments])
    return msgspec.structs.replace(block, attachments=items)


_SHAPING: Final = ("instruct", "chat_template", "separator", "response_format")
"""Options that decide how long the prompt is."""


def _one_text(payload: Payload) -> str | None:
    text = payload.body.get("prompt") if isinstance(payload.body, Mapping) else None
    return text if isinstance(text, str) else None
