"""The steps of the risu tavern, in their order (`docs/taverns/risu.md` says what each does)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import count_texts
from innkeeper.budget.settings import CountingConfig, model_for
from innkeeper.macros.cbs import unescaped
from innkeeper.prompt import NoConfig, NoteKind, Pipeline, ScratchKey, State, Step, StepConfig
from innkeeper.prompt.block import Block, BudgetGroup, Origin, OriginAsset, Piece
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.payload.dialect import reply_limit
from innkeeper.prompt.plan import Plan
from innkeeper.taverns.risu import sections
from innkeeper.taverns.risu.cards import Template, ordered_lines
from innkeeper.taverns.risu.history import (
    TriggeredChat,
    example_lines,
    expanded_messages,
    greeting_lines,
    marker_lines,
    message_lines,
    triggered,
    typed_messages,
)
from innkeeper.taverns.risu.inlays import with_inlays
from innkeeper.taverns.risu.inputs import RisuInputs, read_inputs
from innkeeper.taverns.risu.line import TYPED, PromptLine, line, trimmed
from innkeeper.taverns.risu.lore.activation import LoreOutcome, LoreQuery, scan
from innkeeper.taverns.risu.lore.compiled import compile_lore
from innkeeper.taverns.risu.lore.ranking import ActiveLore
from innkeeper.taverns.risu.passages import passages_of
from innkeeper.taverns.risu.request_flags import flagged, logit_biases, model_of
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs
from innkeeper.taverns.risu.window import (
    MARGIN,
    AssembledLines,
    FittedChat,
    LineCounter,
    fitted,
    placed,
    report_of,
    summarised,
    without_oldest,
)
from innkeeper.tokens import default_counter

INPUTS: Final = ScratchKey[RisuInputs]("prepare")
SECTIONS: Final = ScratchKey[dict[str, list[PromptLine]]]("sections")
HISTORY: Final = ScratchKey[tuple[list[PromptLine], TriggeredChat]]("history")
MEMORY: Final = ScratchKey[FittedChat]("memory")
ASSEMBLY: Final = ScratchKey[AssembledLines]("assembly")
FLAGGED: Final = ScratchKey[tuple[PromptLine, ...]]("request_flags")
LORE: Final = ScratchKey[LoreOutcome]("lore")
"""What each step leaves."""


def _prepare(state: State, _config: NoConfig) -> None:
    inputs = read_inputs(state)
    stored, count = {message.id: message.data for message in inputs.all_messages}, len(inputs.messages)
    typed = typed_messages(inputs, _counter(state))
    inputs = replace(inputs, all_messages=typed)
    messages = expanded_messages(inputs)
    _store(state, {each.id: each.data for each in messages if each.id in stored and each.data != stored[each.id]})
    state.scratch[INPUTS] = replace(inputs, all_messages=messages, messages=messages[-count:] if count else [])


def _store(state: State, changed: Mapping[Any, str]) -> None:
    """Keep what the chat is to have: texts of messages by their index, and the user's new one."""
    texts = {id_: text for id_, text in changed.items() if id_}
    own = {id_.removeprefix("history-"): text for id_, text in texts.items() if id_.startswith("history-")}
    stored = state.result.stored or {}
    if texts:
        stored["messages"] = {**stored.get("messages", {}), **own}
        state.result.stored = {**stored, **({"message": texts[TYPED]} if TYPED in texts else {})}


def _lore(state: State, _config: NoConfig) -> None:
    inputs = state.scratch[INPUTS]
    owner, costing = inputs.group or inputs.character, CountingConfig().costing(state)
    settings, compat = owner.lore_settings, inputs.compat
    words = bool(settings.get("fullWordMatching"))
    lore = compile_lore(inputs.entries, full_words=words, keep_slash=not compat.lore_patterns)
    reports: list[str] = []  # not the state itself: a plan keeps its verdicts, and these their scan
    outcome = scan(
        lore,
        LoreQuery(
            messages=[(message.role, message.data) for message in inputs.all_messages],
            budget=settings.get("tokenBudget", inputs.db.lore_book_token),
            depth=settings.get("scanDepth", inputs.db.lore_book_depth),
            recursive=settings.get("recursiveScanning", True),
            greeting=inputs.chat.fm_index + 1,
            variables=inputs.variables,
            random=inputs.expand.scope.random,
            count=lambda texts: count_texts(costing.counter, texts, costing.model),
            counted_by="" if state.inputs.ports.token_counter else f"model {model_for(state)}",
            report=lambda what, why: reports.append(f"{what} is not searched for: {why}"),
            first_text_only=not compat.lore_patterns,
            leak=not compat.entry_flags,
        ),
    )
    for report in reports:
        state.warn(report, kind=NoteKind.LORE)
    state.scratch[LORE] = state.result.lore = outcome


def _counter(state: State) -> Callable[[str], int]:
    costing = CountingConfig().costing(state)
    return lambda text: costing.counter.count(text, costing.model) if text else 0


def _sections(state: State, _config: NoConfig) -> None:
    inputs, lore = state.scratch[INPUTS], state.scratch[LORE].active
    if inputs.generation == "continue" and not sections.merges(inputs.model):
        message = "generation has no effect: RisuAI asks GPT and Claude alone to go on"
        state.note(NoteKind.IGNORED, message, data={"input": "generation"})
    own = {"main": sections.main_prompt, "jailbreak": sections.jailbreak, "globalNote": sections.global_note}
    # in RisuAI's order, in which macros draw their numbers
    parts = {} if inputs.template else {name: section(inputs) for name, section in own.items()}
    state.scratch[SECTIONS] = parts | {
        "authornote": sections.authors_note(inputs),
        "description": sections.description(inputs, lore, passages_of(state, inputs)),
        "lorebook": sections.lorebook(inputs, lore),
        "persona": sections.persona(inputs),
        "postEverything": sections.post_everything(inputs, lore),
    }


def _history(state: State, _config: NoConfig) -> None:
    inputs = state.scratch[INPUTS]
    greeting = greeting_lines(inputs)
    if greeting and state.request.greeting is not None:
        state.result.greeting, state.result.greeting_index = greeting[0].content, inputs.chat.fm_index + 1
    started = triggered(inputs, "start", inputs.messages, _counter(state))
    chat = message_lines(inputs, with_inlays(state, started.messages, inputs.model))
    state.scratch[HISTORY] = [*example_lines(inputs), *marker_lines(inputs), *greeting, *chat], started
    if started.stops:
        state.warn("a trigger of the card asks that nothing is sent now")
    lost = [name for name in ("start", "historyend") if started.prompts.get(name) and inputs.template]
    if lost:
        state.warn(f"texts of triggers for {', '.join(lost)} are lost: a template has no place for them")
    _store(state, inputs.rewrites)
    for note in (*inputs.notes, *started.notes):
        state.warn(note.message, kind=note.kind)


def _depth_lore(lore: Sequence[ActiveLore]) -> list[ActiveLore]:
    return [each for each in lore if each.position == "reverse_depth" or (each.position == "depth" and each.depth > 0)]


class MemoryConfig(StepConfig, frozen=True, kw_only=True):
    """``shorten`` is the application's memory: it gets the lines, the tokens of the prompt and the window, and gives the lines.

    A summary among them has the memo ``hypaMemory``. A note says where the step leaves out the oldest after it.
    """

    shorten: Any = None


def _memory(state: State, config: MemoryConfig) -> None:
    inputs, lore, parts = state.scratch[INPUTS], state.scratch[LORE].active, state.scratch[SECTIONS]
    (history, started), window = state.scratch[HISTORY], inputs.db.max_context
    counting = LineCounter(_counter(state), model_for(state) or inputs.model)
    counted = Template(inputs=inputs, lore=lore, sections=parts).lines(merging=False)
    cards = counted if inputs.template else [each for section in parts.values() for each in section]
    depths = [sections.lore_line(inputs, each, lore) for each in _depth_lore(lore)]
    total = inputs.db.max_response + MARGIN + started.tokens
    shorten, summary = config.shorten, inputs.chat.supa_memory_data
    total += counting.lines([*cards, *depths]) + counting.history(history) if window or shorten else 0
    if shorten is not None:
        total -= counting.history(history)
        history = [*shorten(tuple(history), total + counting.history(history), window)]
        total += counting.history(history)
    elif inputs.character.supa_memory and summary and 0 < window < total:
        history, total = summarised(
            history, total, summary, counting, without_punctuation=inputs.db.remove_punctuation_hypa
        )
    remaining, oldest = without_oldest(history, total, window, counting)
    if left_out := [each for each in oldest if not each.is_blank]:
        message = f"{len(left_out)} of the oldest messages are left out: the prompt would be too long"
        state.note(NoteKind.EVICTED, message, data={"messages": len(left_out)})
    has_card = any(card.type == "memory" for card in inputs.template)
    state.scratch[MEMORY] = FittedChat(*placed(remaining, has_card=has_card), left_out, counting)


def _assembly(state: State, _config: NoConfig) -> None:
    inputs, lore, parts = state.scratch[INPUTS], state.scratch[LORE].active, state.scratch[SECTIONS]
    chat, memory, left_out, counting = state.scratch[MEMORY]
    texts = state.scratch[HISTORY][1].prompts
    parts = {**parts, "postEverything": sections.with_prompt_end(parts["postEverything"], texts.get("promptend", ""))}
    chat = list(chat)
    last = [] if inputs.template else chat[-1:]
    chat = [each for each in chat[: len(chat) - len(last)] if not each.is_blank]
    for each in _depth_lore(lore):
        index = each.depth if each.position == "depth" else len(chat) - each.depth
        # below 0 it counts from the end once more, as JavaScript does
        chat.insert(index if index >= 0 else max(len(chat) + index, 0), sections.lore_line(inputs, each, lore))
    if inputs.template:
        lines = Template(inputs=inputs, lore=lore, sections=parts, chat=chat, memory=memory).lines()
    else:
        lines = ordered_lines(inputs, parts, chat, last, texts)
    lines = [trimmed(each) for each in lines]
    _add_depth_prompt(inputs, lines)
    lines, more = fitted(_with_system(state, lines), inputs.db.max_context, counting)
    state.scratch[ASSEMBLY] = AssembledLines(lines, [*left_out, *more])
    state.result.options |= inputs.db.options
    _add_biases(state, inputs)
    if inputs.limits_reply:
        asked, window = inputs.db.max_response, inputs.db.max_context
        state.result.options["max_tokens"] = (
            max(min(asked, window - counting.lines(lines) - MARGIN), 1) if window else asked
        )


def _with_system(state: State, lines: list[PromptLine]) -> list[PromptLine]:
    """The lines with the application's own text before the chat."""
    text = state.request.system
    if not text.strip():
        return lines
    at = next((index for index, each in enumerate(lines) if each.kind in _OF_CHAT), len(lines))
    return [*lines[:at], line("system", text, Origin(OriginAsset.REQUEST, "system"), "system"), *lines[at:]]


_OF_CHAT: Final = frozenset({"chat", "greeting", "examples"})


def _add_depth_prompt(inputs: RisuInputs, lines: list[PromptLine]) -> None:
    note = inputs.character.depth_prompt
    text, depth = note.get("prompt"), note.get("depth")
    if not isinstance(text, str) or not text or not isinstance(depth, int):
        return
    at = len(lines) - max(min(depth, 2 * len(lines)), 0)  # counted as JavaScript does, from the end once more
    origin = Origin(OriginAsset.CHARACTER, "depth_prompt")
    lines.insert(max(at + len(lines), 0) if at < 0 else at, line("system", inputs.expand(text), origin, "depth_prompt"))


def _add_biases(state: State, inputs: RisuInputs) -> None:
    known = model_of(inputs.model)
    model = known.internal if known else inputs.model
    pairs = (*inputs.db.bias, *inputs.character.bias)
    biases, unknown = logit_biases(pairs, inputs.expand, lambda text: default_counter().tokenize(text, model).ids)
    if biases:
        state.result.options["logit_bias"] = biases
    if unknown:
        message = f"bias: {', '.join(unknown)[:80]!r} have no effect: the tokens of {model} are not known"
        state.note(NoteKind.IGNORED, message, data={"input": "bias"})


class RequestFlagsConfig(StepConfig, frozen=True, kw_only=True):
    """``flags`` are those of a model that the table does not know; ``None`` leaves its messages as they are."""

    flags: tuple[str, ...] | None = None


def _request_flags(state: State, config: RequestFlagsConfig) -> None:
    inputs = state.scratch[INPUTS]
    lines = [
        each
        if each.content.isascii()
        else msgspec.structs.replace(
            each, pieces=tuple(Piece(unescaped(piece.text), piece.origin) for piece in each.pieces)
        )
        for each in state.scratch[ASSEMBLY].lines
    ]
    lines = _of_request_triggers(state, inputs, lines)
    model = model_of(inputs.model)
    flags = config.flags if model is None else model.flags
    if flags is None:
        if inputs.model:
            state.note(NoteKind.FALLBACK, f"RisuAI knows no model {inputs.model!r}: its messages stay as they are")
        state.scratch[FLAGGED] = tuple(lines)
        return
    db = inputs.db
    changed = flagged(lines, flags, replacement=db.system_content_replacement, role=db.system_role_replacement)
    before, after = ([each.role for each in each_list] for each_list in (lines, changed))
    if before != after:
        message = f"{len(before)} messages are {len(after)} for the model {inputs.model}, as its flags say"
        state.note(NoteKind.REPAIR, message, data={"flags": sorted(flags), "before": before, "after": after})
    state.scratch[FLAGGED] = changed


def _of_request_triggers(state: State, inputs: RisuInputs, lines: list[PromptLine]) -> list[PromptLine]:
    """The lines as triggers rewrite the request. A line that is changed is the character's."""
    if not any(trigger.type == "request" for trigger in inputs.triggers):
        return lines
    data = json.dumps([{"role": each.role, "content": each.content} for each in lines], ensure_ascii=False)
    outcome = run_triggers(inputs.triggers, "request", TriggerInputs(scope=inputs.expand.scope, display_data=data))
    try:
        messages = json.loads((outcome and outcome.display_data) or data)
        changed = [(str(each["role"]), str(each["content"])) for each in messages]
    except (ValueError, TypeError, KeyError):
        state.warn("triggers leave a request that is no list of messages: it stays as it was")
        return lines
    origin = Origin(OriginAsset.CHARACTER, "triggerscript")
    before = [(each.role, each.content) for each in lines]
    return [
        lines[index] if before[index : index + 1] == [each] else line(*each, origin, "trigger")
        for index, each in enumerate(changed)
    ]


_GROUPS: Final[Mapping[str, BudgetGroup]] = {
    **dict.fromkeys(("chat", "greeting"), BudgetGroup.HISTORY),
    "examples": BudgetGroup.EXAMPLES,
    "lorebook": BudgetGroup.LORE,
    "memory": BudgetGroup.MEMORY,
}


def _plan_assembly(state: State, _config: NoConfig) -> None:
    inputs, request, assembled = state.scratch[INPUTS], state.request, state.scratch[ASSEMBLY]
    lines = state.scratch.get(FLAGGED) or tuple(assembled.lines)
    blocks, absent = _blocks_of(lines), _blocks_of(assembled.left_out, left_out=True)
    at = next((index for index, each in enumerate(lines) if each.kind in _OF_CHAT), len(lines))
    blocks[at:at] = absent
    if window := inputs.db.max_context:
        counting = state.scratch[MEMORY].counting
        reserve = reply_limit(state.result.options) if inputs.db.max_response else 0
        state.result.trim_report = report_of(assembled, absent, counting, window=window, reserve=reserve)
    state.result.model = inputs.model_hint
    for name, value in inputs.variables.items():
        if state.variables.get(name) != value:
            state.variables.set(name, value)
    state.result.plan = Plan(blocks=tuple(blocks), tavern=request.tavern, model=request.model)


def _blocks_of(lines: Sequence[PromptLine], *, left_out: bool = False) -> list[Block]:
    """The blocks of lines; those of the chat are there in the next build again."""
    keys = [(id(each), index, left_out) for index, each in enumerate(lines)]
    blocks = []
    for each, key, known in zip(lines, keys, _BLOCKS.get_all(keys), strict=True):
        block = known or _block(each, key[1], left_out=left_out)
        if known is None and each.kind == "chat":
            _BLOCKS.put(key, block, len(each.content), alive=each)
        blocks.append(block)
    return blocks


_BLOCKS: Final[BoundedCache[tuple[int, int, bool], Block]] = BoundedCache(items=128 * 1024)


def _block(each: PromptLine, index: int, *, left_out: bool) -> Block:
    facts: dict[str, Any] = {"source": each.kind}
    facts |= {"memo": each.memo} if each.memo else {}
    facts |= {"name_added": True} if each.name_added else {}
    metadata: dict[str, Any] = dict(each.metadata)
    if each.thoughts:
        metadata["reasoning"] = [{"text": text} for text in each.thoughts]
    if each.cache_point:
        metadata["cache_control"] = True
    return Block(
        role=each.role,
        content=each.content,
        id=f"{each.kind}-{'out-' if left_out else ''}{index}",
        name=each.name,
        attachments=each.attachments,
        message_metadata=FrozenDict(metadata),
        slot=each.kind,
        removable=each.removable,
        enabled=not left_out,
        group=_GROUPS.get(each.kind, BudgetGroup.SYSTEM),
        metadata=FrozenDict(facts),
        origin=each.pieces[0].origin if len(each.pieces) == 1 else None,
        pieces=each.pieces,
    )


PIPELINE: Final = Pipeline(
    Step("prepare", _prepare, NoConfig),
    Step("lore", _lore, NoConfig),
    Step("sections", _sections, NoConfig),
    Step("history", _history, NoConfig),
    Step("memory", _memory, MemoryConfig),
    Step("assembly", _assembly, NoConfig),
    Step("request_flags", _request_flags, RequestFlagsConfig),
    Step("plan_assembly", _plan_assembly, NoConfig),
)
"""All steps, in their order."""
