"""Fit: a finished plan in its window, by exact counts of the messages as they are sent: used + reserved <= window.

Neighbouring in-chat blocks are sent as one message, which costs something else than its blocks do. So the strategy chooses
blocks by their own costs, and what is left is measured as messages; where that is still too much, more goes. Each block is
counted once, however many go; only messages that are joined anew are counted again. A dialect that makes one text of them is
counted by that text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from operator import attrgetter
from typing import Any, Final

import msgspec

from innkeeper.budget.accounting import RenderGuard, counted_blocks, marks_of, window_of
from innkeeper.budget.costing import COUNTED, Costing, CountedBlocks, option_texts
from innkeeper.budget.report import EvictionRecord, TrimReport, TrimResult, tell_report
from innkeeper.budget.settings import CountingConfig, counter_for, left_choice, note_unknown_window, tokens_setting
from innkeeper.budget.strategies import STRATEGIES, Fill, GroupOrder, Strategy
from innkeeper.budget.trim import Counted, TokenRoom, overflow, trim_counted
from innkeeper.prompt import (
    Block,
    BudgetGroup,
    FrozenDict,
    MaxTokensExceededError,
    Note,
    NoteKind,
    Plan,
    State,
    Step,
    TokenCounter,
)
from innkeeper.prompt.data import freeze
from innkeeper.prompt.payload.dialect import REPLY_LIMITS, reply_limit
from innkeeper.prompt.text import shorten
from innkeeper.tokens.framing import Framing
from innkeeper.tokens.media import kind_of


class FitConfig(CountingConfig, frozen=True, kw_only=True):
    """Options of *fit*: those of `CountingConfig`; window and reserve are those that the plan was trimmed for, if it was.

    ``recount``: whether a plan that its tavern has filled by counts of its own (strategy ``fill``) is counted again; by default
    only where these options or the counter's own ``framing`` say how to count. ``keep_user``: whether a prompt that none of
    the user's messages fits into is refused, unless the step ``trimming`` was told to warn (``on_overflow``).
    """

    recount: bool | None = None
    keep_user: bool = True

    def recounts(self, state: State, plan: Plan, costing: Costing) -> bool:
        """Whether a plan that was filled is counted again."""
        if self.recount is not None:
            return self.recount
        options = (self.framing, self.token_estimator, self.model_hint, self.max_tokens, self.reserve_tokens)
        counter = counter_for(state, self.token_estimator)
        rules = (*options, getattr(counter, "framing", None))
        if any(rule is not None for rule in rules) or _holds_more(plan, costing):
            return True
        # Its tavern keeps room free for tools by a count of its own, which is less than what other providers take.
        return bool(plan.tools) and plan.dialect not in {None, _COUNTED_BY_ITS_TAVERN} and not _only_warns(state)


def fit(
    plan: Plan,
    counter: TokenCounter | None = None,
    framing: Framing | None = None,
    *,
    strategy: Strategy | str | None = None,
    attachment_tokens: int = 0,
) -> Plan:
    """The plan with blocks disabled until it fits the window it was built for; the plan itself where it fits already.

    It is counted as `innkeeper.budget.accounting` counts it: ``counter`` is the built-in one where none is given, ``framing``
    the counter's own or that of the plan's dialect. ``strategy`` says what goes: by default the one that trimmed the plan, else
    ``group_order``. What went is in the plan's ``trim_report`` and notes. A plan without a window stays as it is, and so does
    one whose own report says that it does not fit: a step was told to leave it so.

    Raises:
        MaxTokensExceededError: what may not be evicted does not fit, or none of the user's messages does.
    """
    costing = Costing.of_dialect(
        plan.dialect,
        plan.dialects,
        plan.options,
        counter=counter,
        framing=framing,
        model=plan.model,
        attachment_tokens=attachment_tokens,
    )
    room = _room(plan, *window_of(plan))
    if room is None:
        return plan
    chosen = STRATEGIES.make(strategy or _strategy_of(plan.trim_report))
    result = _fitted(plan, chosen, room.besides(costing, plan.tools, plan.options), counted_blocks(plan, costing))
    if result is None:
        return plan
    return plan.with_(
        blocks=result.blocks,
        trim_report=_joined(plan.trim_report, result.report),
        notes=(*plan.notes, *_new_notes(result, costing, None, plan.notes)),
    )


def fit_state(state: State, config: FitConfig | None = None) -> None:
    """`fit` for the plan of a build that is under way; call it again after something else has added blocks.

    The answer may then be as long as the reserve: that is the option ``max_tokens`` of the plan.
    """
    config, made = config or FitConfig(), state.result.plan
    if made is None:
        return
    plan, costing = _as_rendered(state, made), config.costing(state)
    window, reserve = config.window(state), config.reserve(state)
    if isinstance(plan.trim_report, TrimReport) and tokens_setting("max_tokens", config.max_tokens, state) is None:
        window, reserve = window_of(plan)
    _limit_answer(state, reserve)
    room = _room(plan, window, reserve)
    strategy = _strategy_in(state)
    is_open = plan.dialect is None and strategy.name == Fill.name
    if room is None:
        if state.request.model and state.request.context_window is None:
            note_unknown_window(state, "nothing is left out of the prompt")
        guard = RenderGuard(costing)
    elif strategy.name == Fill.name and not config.recounts(state, plan, costing):
        _check_filling(state, config, plan, strategy, room)
        used = plan.trim_report.final_tokens + _besides(state, plan, costing, room)
        guard = RenderGuard(costing, room, used, by_tavern=is_open)
    else:
        _check_filling(state, config, plan, strategy, room)
        guard = RenderGuard(costing, room, _evicted(state, plan, strategy, costing, room), by_tavern=is_open)
    blocks = made.blocks if state.result.plan is None else state.result.plan.blocks
    if room is not None and (strategy.name == Fill.name or _is_counted_apart(plan, state.result.trim_report)):
        filled = plan.with_(blocks=blocks)
        shown, state.scratch[COUNTED] = _as_shown(state.result.trim_report, filled, costing, room)
        state.result.trim_report = shown
        tell_report(state, shown)
        if all(note.kind is not NoteKind.EVICTED for note in state.result.notes):
            state.result.notes.extend(evicted_notes(shown, state.step))
    counted = msgspec.structs.replace(guard, counted=state.scratch.get(COUNTED))
    state.result.plan = made.with_(blocks=blocks, guard=counted)
    state.result.notes.extend(_unknown_notes(state.result.plan, costing, state.step, state.result.notes))


def _is_counted_apart(plan: Plan, report: Any) -> bool:
    """Whether a report is still its tavern's own, in the figures of a count of its own."""
    return isinstance(report, TrimReport) and report is plan.trim_report and report.filled_tokens is not None


def _as_shown(report: TrimReport, plan: Plan, costing: Costing, room: TokenRoom) -> tuple[TrimReport, CountedBlocks]:
    """The report of a tavern that fills its prompts by a count of its own, in the figures of `innkeeper.budget.accounting`."""
    sent, absent = plan.sent_blocks(), [block for block in plan.blocks if not block.enabled]
    totals = costing.totals([*sent, *absent])
    used, tokens = sum(totals[: len(sent)]), {block.id: n for block, n in zip(absent, totals[len(sent) :], strict=True)}
    evictions = tuple(
        [
            msgspec.structs.replace(record, token_count=tokens.get(record.block_id, record.token_count))
            for record in report.evictions
        ]
    )
    fixed = room.besides(costing, plan.tools, plan.options).fixed_tokens
    counted = CountedBlocks(costing, sent, used + marks_of(plan, costing, used))
    final = counted.tokens + fixed
    shown = msgspec.structs.replace(
        report,
        initial_tokens=final + sum(record.token_count for record in evictions),
        final_tokens=final,
        fixed_tokens=fixed,
        sent_tokens=None,
        evictions=evictions,
    )
    return shown, counted


def _check_filling(state: State, config: FitConfig, plan: Plan, strategy: Strategy, room: TokenRoom) -> None:
    if config.keep_user and strategy.keeps_latest_user and not _only_warns(state):
        _check_user(plan, room, state.step)


def _only_warns(state: State) -> bool:
    """Whether the step ``trimming`` was told to leave a plan that is too large."""
    left = left_choice(state)
    return left is not None and left.on_overflow == "warn"


def _evicted(state: State, plan: Plan, strategy: Strategy, costing: Costing, room: TokenRoom) -> int:
    """Take out of the state's plan what does not fit; return the tokens of what is left."""
    counted = state.scratch[COUNTED] = counted_blocks(
        plan, costing, in_parts=state.inputs.ports.instrumenter is not None
    )
    room = room.besides(costing, plan.tools, plan.options)
    result = _fitted(plan, strategy, room, counted, step=state.step)
    if result is None:
        return counted.tokens + room.fixed_tokens
    before = state.result.trim_report
    state.result.plan = plan.with_(blocks=result.blocks)
    state.result.trim_report = _joined(before, result.report)
    state.result.notes.extend(_new_notes(result, costing, state.step, state.result.notes))
    return max(result.report.final_tokens, result.report.sent_tokens or 0)


def _limit_answer(state: State, reserve: int) -> None:
    """Set the option that limits the answer, unless the request's own options do: the reserve, or none where there is none."""
    options, asked = state.result.options, state.request.options
    for name in REPLY_LIMITS:
        if asked.get(name) is not None and not reply_limit({name: asked[name]}):
            options.pop(name, None)
            message = f"option {name!r} is not sent: {shorten(repr(asked[name]), 40)} is no number of tokens"
            state.note(NoteKind.LOSS, message, data={"input": f"options.{name}"})
    if reply_limit(asked):
        return
    of_preset = reply_limit(options) if state.request.reserved_tokens is None else 0
    is_stated = bool(
        state.request.reserved_tokens or of_preset or reserve > 1
    )  # one token may be the dialect's own need
    if is_stated and options.get("max_tokens") == reserve:
        return
    for name in REPLY_LIMITS:
        options.pop(name, None)
    if is_stated:
        options["max_tokens"] = reserve


def _holds_more(plan: Plan, costing: Costing) -> bool:
    """Whether a filled plan has what its tavern does not count: a schema of the answer, thoughts that are sent back."""
    if plan.dialect == _COUNTED_BY_ITS_TAVERN:
        return False
    thoughts = (costing.sends | {"parts"}) - {"signature"} if plan.dialect is not None else frozenset()
    blocks = plan.enabled_blocks if any(map(_METADATA, plan.blocks)) else ()
    return bool(option_texts(plan.options)) or any(not thoughts.isdisjoint(one.message_metadata) for one in blocks)


def _besides(state: State, plan: Plan, costing: Costing, room: TokenRoom) -> int:
    """The tokens of what a filled plan has beside its messages, for which its tavern keeps room free by a count of its own."""
    if plan.dialect == _COUNTED_BY_ITS_TAVERN or _only_warns(state):
        return 0
    return room.besides(costing, plan.tools, plan.options).fixed_tokens


_METADATA: Final = attrgetter("message_metadata")
_ATTACHMENTS: Final = attrgetter("attachments")

_COUNTED_BY_ITS_TAVERN: Final = "sillytavern"
"""The dialect whose bodies are SillyTavern's own, cut where it cuts."""


def _unknown_notes(plan: Plan, costing: Costing, step: str | None, notes: Sequence[Note]) -> list[Note]:
    """Return notes on attachments whose cost is a guess, one for each kind and cost."""
    guesses: dict[tuple[str, str, int], int] = {}
    blocks = plan.enabled_blocks if any(map(_ATTACHMENTS, plan.blocks)) else ()
    for block in blocks:
        for item in block.attachments:
            cost = costing.media_cost(item)
            if cost is not None and cost.guess:
                key = (kind_of(item), cost.guess, cost.tokens)
                guesses[key] = guesses.get(key, 0) + 1
    made = [
        Note(
            NoteKind.ESTIMATE,
            f"{guess} cannot be read of {number} {kind} attachment{'s' if number > 1 else ''}: counted as {tokens:,} tokens",
            step,
            hint="say what it costs in its `tokens`",
            data=FrozenDict(kind=kind, attachments=number, tokens=tokens),
        )
        for (kind, guess, tokens), number in guesses.items()
    ]
    messages = {note.message for note in notes}
    return [note for note in made if note.message not in messages]


def _as_rendered(state: State, plan: Plan) -> Plan:
    """The plan with what the build knows of how it will be rendered."""
    result, request = state.result, state.request
    return plan.with_(
        trim_report=result.trim_report,
        tools=state.tools,
        model=request.model,
        dialect=request.dialect,
        dialects=state.inputs.dialects,
        options=freeze(result.options),
        dialect_options=freeze(result.dialect_options),
        stop=result.stop,
    )


def _room(plan: Plan, window: int | None, reserve: int) -> TokenRoom | None:
    """Return the room of a plan; ``None`` without a window, or where a step is configured to leave the plan too large."""
    report = plan.trim_report
    if not window or (isinstance(report, TrimReport) and not report.fits):
        return None
    return TokenRoom.of(window, reserve)


def _fitted(
    plan: Plan, strategy: Strategy, room: TokenRoom, counted: CountedBlocks, *, step: str | None = None
) -> TrimResult | None:
    """Trim the plan; ``None`` where all of it fits. ``room`` is less than the whole by what is in every prompt."""
    used = counted.tokens + room.fixed_tokens
    if room.max_tokens is not None and room.reserve_tokens > room.max_tokens:  # no prompt fits, not even an empty one
        hint = "reserve fewer tokens for the answer, or raise the context window"
        raise MaxTokensExceededError(
            estimated_tokens=used, max_tokens=room.max_tokens, reserve_tokens=room.reserve_tokens, step=step, hint=hint
        )
    return fit_blocks(plan, strategy, counted.costing, room, step=step) if used > room.budget_tokens else None


def _strategy_of(report: Any) -> str:
    return report.strategy if isinstance(report, TrimReport) and report.strategy in STRATEGIES else GroupOrder.name


def _strategy_in(state: State) -> Strategy:
    """The strategy that trimmed, with its options, where the step ``trimming`` has left its configuration; else by its name."""
    name, config = _strategy_of(state.result.trim_report), left_choice(state)
    # A tavern that fills its prompts itself may have options for other strategies beside that name.
    chosen = config.chosen(state) if config is not None and name != Fill.name else None
    return chosen if chosen is not None and chosen.name == name else STRATEGIES.make(name)


def _joined(before: Any, after: TrimReport) -> TrimReport:
    """Merge the reports of two trimmings: blocks evicted in the first keep the tokens counted then."""
    if not isinstance(before, TrimReport):
        return after
    evicted = sum(record.token_count for record in before.evictions)
    return msgspec.structs.replace(
        after,
        initial_tokens=after.initial_tokens + evicted,
        filled_tokens=before.filled_tokens,
        evictions=(*before.evictions, *after.evictions),
    )


def _new_notes(result: TrimResult, costing: Costing, step: str | None, notes: Sequence[Note]) -> list[Note]:
    """Of `notes_of`, those that no earlier step has added."""
    messages = {note.message for note in notes}
    return [note for note in notes_of(result, costing, step) if note.message not in messages]


def _check_user(plan: Plan, room: TokenRoom, step: str | None) -> None:
    """Refuse a plan whose filling left out each message of the user: it would ask the model for something else."""
    report = plan.trim_report
    if not isinstance(report, TrimReport) or not report.evictions:
        return
    if any(block.enabled and _is_spoken(block) for block in reversed(plan.blocks)):
        return
    tokens = {record.block_id: record.token_count for record in report.evictions}
    spoken = (tokens[block.id] for block in plan.blocks if block.id in tokens and _is_spoken(block))
    smallest = min(spoken, default=None)
    if smallest is None:
        return
    used = report.final_tokens + smallest  # without what a filling keeps free besides, so at least more than the budget
    raise MaxTokensExceededError(
        estimated_tokens=max(used, room.budget_tokens + 1),
        max_tokens=room.max_tokens or room.budget_tokens + room.reserve_tokens,
        reserve_tokens=room.reserve_tokens,
        step=step,
        hint="there is no room for the user's message: shorten what may not be dropped, or raise the context window",
    )


def _is_spoken(block: Block) -> bool:
    return block.role == "user" and block.group == BudgetGroup.HISTORY


def fit_blocks(
    plan: Plan,
    strategy: Strategy,
    costing: Costing,
    room: TokenRoom,
    *,
    on_overflow: str = "error",
    step: str | None = None,
) -> TrimResult:
    """`trim_counted` by the messages that are sent. Raises `MaxTokensExceededError`."""
    counted = Counted.of(plan.blocks, costing)
    if len(plan.sent_blocks()) == len(counted.enabled) and not marks_of(plan, costing, sum(counted.tokens)):
        return trim_counted(counted, strategy, costing, room, on_overflow=on_overflow, step=step)
    known = {id(block): tokens for block, tokens in zip(counted.enabled, counted.tokens, strict=True)}
    aim = room
    for attempt in count():
        result = trim_counted(counted, strategy, costing, aim, on_overflow="return", step=step)
        sent = _sent_tokens(plan.with_(blocks=result.blocks), known, costing) + room.fixed_tokens
        over = sent - room.budget_tokens
        if over <= 0 or not aim.budget_tokens:
            break
        # Twice as much less each time, so that it ends; but no less than the share that the marks of one text leave.
        last = min(aim.budget_tokens, result.report.final_tokens)
        share = min(last * room.budget_tokens // sent, last - 2**attempt)
        aim = msgspec.structs.replace(aim, budget_tokens=max(last - over * 2**attempt, share, 0))
    report = msgspec.structs.replace(result.report, budget_tokens=room.budget_tokens, sent_tokens=sent)
    if over > 0 and on_overflow == "error":
        raise overflow([(block, known[id(block)]) for block in result.kept], report, step)
    return msgspec.structs.replace(result, report=report)


def _sent_tokens(plan: Plan, known: Mapping[int, int], costing: Costing) -> int:
    """Return the tokens of what is sent; messages that are one block each are known already."""
    sent = plan.sent_blocks()
    tokens = sum(known.get(id(block), 0) for block in sent) + sum(
        costing.totals([block for block in sent if id(block) not in known])
    )
    return tokens + marks_of(plan, costing, tokens)


def notes_of(result: TrimResult, costing: Costing, step: str | None) -> list[Note]:
    """Return the notes on a trimming: evictions by group; that tokens are estimated, or attachments not counted."""
    notes = evicted_notes(result.report, step)
    facts = costing.counter.describe(costing.model)
    if facts.get("exact") is not True:
        known = {key: facts.get(key) for key in ("tokenizer", "error_percent")}
        margin = "" if known["error_percent"] is None else f", ± {known['error_percent']:g} %"
        message = f"tokens are estimated ({known['tokenizer'] or 'unknown tokenizer'}{margin})"
        notes.append(Note(NoteKind.ESTIMATE, message, step, data=FrozenDict(known)))
    media = sum(costing.media_cost(item) is None for block in result.kept for item in block.attachments)
    if media:
        message = (
            f"{media} attachments of an unknown kind are not counted: set attachment_tokens to what the provider takes"
        )
        notes.append(Note(NoteKind.ESTIMATE, message, step, data=FrozenDict(attachments=media)))
    return notes


def evicted_notes(report: TrimReport, step: str | None) -> list[Note]:
    """Return a note on what was left out of each group."""
    return [
        Note(
            NoteKind.EVICTED,
            f"{len(records)} of {group} ({tokens:,} tokens) left out: {report.initial_tokens:,} tokens did not fit into "
            f"{report.budget_tokens:,}",
            step,
            data=FrozenDict(group=group, blocks=len(records), tokens=tokens, strategy=report.strategy),
        )
        for group, records, tokens in _by_group(report.evictions)
    ]


def _by_group(records: tuple[EvictionRecord, ...]) -> list[tuple[str, list[EvictionRecord], int]]:
    groups: dict[str, list[EvictionRecord]] = {}
    for record in records:
        groups.setdefault(str(record.budget_group), []).append(record)
    return [(group, items, sum(record.token_count for record in items)) for group, items in groups.items()]


FIT: Final = Step("fit", fit_state, FitConfig)
"""Makes the plan fit its window. Taverns run it after their own steps."""
