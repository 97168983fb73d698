"""The steps of the smart tavern after ``prepare``, in their order, and the tavern as the registry has it.

- ``in_chat``: the chat with in-chat prompts and book entries in it; keeps the verdicts.
- ``framing``: the preset's relative prompts around the chat, with lore and descriptions in their places.
- ``regex_before``, ``macros``, ``regex_after``: the model's regex rules before and after the macros of every message.
- ``plan_assembly``: each message a block that says where it came from.
- ``trimming``: the plan cut to the window of the request, or of the preset.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.budget import TrimmingConfig, trim_state
from innkeeper.content.json.values import text_of
from innkeeper.lore.verdict import Verdict
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.prompt import Pipeline
from innkeeper.prompt.block import Block, BudgetGroup, Origin, Piece
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import ScratchKey, State
from innkeeper.prompt.text import scalar_text
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.inputs import note_unread
from innkeeper.taverns.locator import TextLocator
from innkeeper.taverns.smart.asset_conversion import smart_macros
from innkeeper.taverns.smart.compat import PROFILES
from innkeeper.taverns.smart.conditions import ConditionRule, KeywordSearch, SmartLore, shown
from innkeeper.taverns.smart.construction import construct_explained
from innkeeper.taverns.smart.framing import LORE_POSITIONS, assemble, in_chat_prompts, relative_prompts, screen_framed
from innkeeper.taverns.smart.messages import shown_number, whole_number
from innkeeper.taverns.smart.prepare import (
    BOOK_NAME,
    INPUTS,
    PREPARE,
    RESULT_ROLES,
    SmartInputs,
    inputs_of,
    window_of,
    with_books,
)
from innkeeper.taverns.smart.regex_rules import apply_messages
from innkeeper.taverns.tavern import Tavern

if TYPE_CHECKING:
    from innkeeper.macros.smart import SmartEnvironment


_Key = ScratchKey[list[dict[str, Any]]]

IN_CHAT: Final = _Key("in_chat")
FRAMED: Final = _Key("framing")
SCREENED: Final = _Key("regex_before")
EXPANDED: Final = _Key("macros")
FINISHED: Final = _Key("regex_after")
"""The messages, as each of the steps leaves them to the next."""


def _run_in_chat(state: State, _config: NoConfig) -> None:
    """Construct, and keep the verdicts."""
    inputs = inputs_of(state)
    made = construct_explained(
        inputs.history,
        in_chat_prompts(inputs.preset),
        with_books(inputs),
        inputs.table,
        options=inputs.options,
        names=inputs.books,
    )
    state.scratch[IN_CHAT] = made.messages
    state.result.lore = SmartLore(made.verdicts)
    state.instrument("stat", lambda: {"key": "in_chat_entries", "value": len(made.messages) - len(inputs.history)})


IN_CHAT_STEP: Final = Step("in_chat", _run_in_chat, NoConfig)
"""Inserts into the chat."""


def _run_framing(state: State, _config: NoConfig) -> None:
    """Assemble, and finish the verdicts of the entries around the character."""
    inputs = inputs_of(state)
    chat = state.scratch[IN_CHAT]
    made = assemble(
        chat, with_books(inputs), None, inputs.preset, inputs.character, inputs.persona, options=inputs.options
    )
    state.scratch[FRAMED] = made["messages"]
    lore: SmartLore = state.result.lore
    state.result.lore = SmartLore(tuple(_finished(lore.verdicts, inputs, chat)))
    if chat and not any(message["source"].get("type", "").startswith("history.") for message in made["messages"]):
        state.warn("the preset has no enabled chatHistory prompt: the chat is not in the prompt")
    _note_unplaced(state, inputs, [message["content"] for message in made["messages"]])


def _note_unplaced(state: State, inputs: SmartInputs, texts: list[str]) -> None:
    """Note the texts of the people of a chat that no prompt has, neither by a placeholder nor by a macro."""
    together = "\n".join(texts)
    called = {name.lower() for name in _MACRO_NAME.findall(together)}
    unplaced: dict[str, list[str]] = {}
    overriding = assets_of(state).metadata
    for asset, field, text in _people_texts(inputs):
        macro = "persona" if asset == "user" else field
        if text.strip() and text not in together and macro not in called:
            unplaced.setdefault("chat_metadata" if overriding.get(field) == text else asset, []).append(field)
    for asset, fields in unplaced.items():
        note_unread(state, asset, fields, "no prompt of the preset has a place for it")


_MACRO_NAME: Final = re.compile(r"(?:\{\{|<<)\s*(\w+)\s*(?:\}\}|>>)")
_CARD_TEXTS: Final = ("personality", "scenario", "system_prompt", "mes_example", "post_history_instructions")


def _people_texts(inputs: SmartInputs) -> Iterator[tuple[str, str, str]]:
    """The asset, the field and the text of everything that is said of the people of a chat."""
    card, character, persona = inputs.card, inputs.character or {}, inputs.persona or {}
    yield "character", "description", str(character.get("description") or "")
    yield "user", "description", str(persona.get("description") or "")
    for field in _CARD_TEXTS:
        text = character.get(field) if card is None else getattr(card, field)
        yield "character", field, smart_macros(text) if isinstance(text, str) else ""
    if card is not None and card.depth_prompt is not None:
        yield "character", "extensions.depth_prompt", smart_macros(card.depth_prompt.prompt)


def _finished(verdicts: tuple[Verdict, ...], inputs: SmartInputs, chat: list[dict[str, Any]]) -> list[Verdict]:
    contains = KeywordSearch("\n".join([message["content"] for message in chat])).contains
    names = [prompt.get("identifier") for prompt in relative_prompts(None, inputs.preset)]
    positions = {LORE_POSITIONS[name] for name in names if isinstance(name, str) and name in LORE_POSITIONS}
    return [_framed(verdict, inputs, contains, positions) for verdict in verdicts]


def _framed(verdict: Verdict, inputs: SmartInputs, contains: Any, positions: set[str]) -> Verdict:
    """The verdict of an entry around the character, instead of the one that it does not belong into the chat."""
    if verdict.facts["asset"] != "world_books" or verdict.reason is not ConditionRule.POSITION:
        return verdict
    entry = inputs.entries[verdict.facts["index"]]
    position = text_of(entry.get("position"), "world_books")
    rule = screen_framed(entry, contains)
    if rule is None and position not in positions:
        rule = ConditionRule.NO_POSITION
    value = position if rule is None else shown(entry.get(_ASKED.get(rule, "position")))
    return msgspec.structs.replace(
        verdict, reason=rule or ConditionRule.FRAMED, facts={**verdict.facts, "found": value}
    )


_ASKED: Final = {ConditionRule.KEYS: "keys", ConditionRule.DISABLED: "enabled"}
"""The field that a rule asks for, where it is not the position."""


FRAMING: Final = Step("framing", _run_framing, NoConfig)


VIEW: Final = "assistant_view"
"""Whose view a prompt is: the model's."""


def _run_regex(state: State, _config: NoConfig, *, placement: str, takes: _Key, leaves: _Key) -> None:
    """Apply the rules of a placement to what another step has left. Conditions of rules see the variables as they came in."""
    inputs = inputs_of(state)
    messages = state.scratch[takes]
    if inputs.rules["regex_rules"]:
        notes: list[Note] = []
        messages = apply_messages(
            inputs.rules, placement, VIEW, messages, inputs.table, options=inputs.options, notes=notes
        )["message"]
        for note in notes:
            state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint)
    state.scratch[leaves] = messages


REGEX_BEFORE: Final = Step(
    "regex_before", partial(_run_regex, placement="before_macro", takes=FRAMED, leaves=SCREENED), NoConfig
)
"""Rules that see texts as they were written."""

REGEX_AFTER: Final = Step(
    "regex_after", partial(_run_regex, placement="after_macro", takes=EXPANDED, leaves=FINISHED), NoConfig
)
"""Rules that see the output of macros."""


def _run_macros(state: State, _config: NoConfig) -> None:
    """Expand all messages, then stage the variables that macros set."""
    from innkeeper.macros.smart import SmartEnvironment

    inputs = inputs_of(state)
    env = SmartEnvironment.of(inputs.table, inputs.settings.policy, inputs.options.macros)
    chat_env = env
    if not inputs.options.compat.chat_python:
        chat_env = dataclasses.replace(env, options=msgspec.structs.replace(env.options, python=False))
    before = SmartEnvironment.of(inputs.table, None, inputs.options.macros).table
    expanded, locator = [], TextLocator(state)
    for message in state.scratch[SCREENED]:
        origin = locator.near = _origin_of(message["source"], len(state.request.history))
        own = chat_env if message["source"]["type"].startswith("history.") else env
        ranges: list[MacroRange] = []
        text = _expanded(message["content"], own, state, locator, ranges)
        expanded.append({**message, "content": text, _MADE: made_pieces(text, ranges, origin) if ranges else ()})
    if state.result.greeting:
        locator.near = None
        state.result.greeting = _expanded(state.result.greeting, env, state, locator, [])
    state.scratch[EXPANDED] = expanded
    _stage(state, before, env.table)


_MADE: Final = "pieces"
"""The key of a message for its pieces after macros."""


def _expanded(text: str, env: SmartEnvironment, state: State, locator: TextLocator, ranges: list[MacroRange]) -> str:
    """The text with its macros replaced, or as it is, with a warning, where they fail."""
    if "{{" not in text and "<<" not in text:
        return text
    from innkeeper.macros.smart import expand

    reported = len(env.notes)
    env.spent.unknown.clear()  # a name that another text has as well is told of this one, too
    try:
        value = expand(text, env, ranges=ranges)
    except InnkeeperError as error:
        sentence = f"macros are left as they are: {error.message}"
        state.warn(sentence, kind=NoteKind.MACRO, where=locator(text, 0), hint=error.hint)
        value = text
    for note in env.notes[reported:]:
        where = None if note.where is None else locator.whole(text, note.where)
        state.warn(note.message, kind=NoteKind.MACRO, where=where, hint=note.hint)
    return value


def _stage(state: State, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Stage what was set: in the scope where the variable is, else in the chat's."""
    for name, value in after.items():
        if name not in before or before[name] != value:
            is_global = state.variables.has(name, "global") and not state.variables.has(name)
            state.variables.set(name, value, "global" if is_global else "local")


MACROS: Final = Step("macros", _run_macros, NoConfig)
"""Replaces macros by their values."""


def _run_plan_assembly(state: State, _config: NoConfig) -> None:
    """Make the blocks and the plan."""
    inputs = inputs_of(state)
    length = len(inputs.messages) - bool(state.request.message)
    made = state.scratch[FINISHED]
    blocks = tuple(
        _chat_block(message, inputs, length)
        if message["source"]["type"].startswith("history.")
        else _block(message, number)
        for number, message in enumerate(made)
    )
    if state.request.system.strip():
        blocks = _with_system(blocks, state.request.system)
    state.result.blocks = list(blocks)
    state.result.plan = Plan(blocks=blocks, profile=state.request.profile or "fixed")
    state.stat("plan_blocks", len(blocks))


def _with_system(blocks: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The blocks with the application's system text before the first message of the chat, else at the end."""
    block = Block(
        role="system",
        content=text,
        id="request_system",
        slot="system",
        group=BudgetGroup.SYSTEM,
        metadata=FrozenDict({"source": "request_system"}),
        origin=Origin("request", "system"),
    )
    position = next((index for index, other in enumerate(blocks) if other.slot in {"history", "message"}), len(blocks))
    return (*blocks[:position], block, *blocks[position:])


def _chat_block(message: dict[str, Any], inputs: SmartInputs, length: int) -> Block:
    """A message of the chat, with everything that the request's own has beside its text."""
    index = message["source"]["index"]
    own: Message = inputs.messages[index]
    is_new = index >= length
    is_result = own.role in RESULT_ROLES
    content = own.content if is_result else scalar_text(message["content"])
    return Block(
        role=own.role if is_result else message["role"],
        content=content,
        id="message" if is_new else f"history-{index}",
        name=own.name,
        attachments=own.attachments,
        message_metadata=own.metadata,
        slot="message" if is_new else "history",
        group=BudgetGroup.HISTORY,
        metadata=FrozenDict({"source": message["source"]["type"]}),
        origin=_origin_of(message["source"], length),
        pieces=_pieces(message, content),
    )


def _block(message: dict[str, Any], number: int) -> Block:
    source = message["source"]
    kind: str = source["type"]
    asset, _, field = kind.partition(".")
    facts: dict[str, Any] = {"source": kind, "id": text_of(source["id"], "source.id")}
    facts |= {name: text_of(source.get(name), name) for name in ("name", "identifier") if source.get(name)}
    if field == "in-chat":
        depth, order = whole_number(source.get("depth"), 0), whole_number(source.get("order"), 100)
        facts |= {"depth": shown_number(depth), "order": shown_number(order)}
    content = scalar_text(message["content"])
    return Block(
        role=message["role"],
        content=content,
        id=f"{number}:{scalar_text(str(facts['id']))}",
        slot=kind,
        group=BudgetGroup.LORE if asset == "world_book" else BudgetGroup.SYSTEM,
        metadata=FrozenDict(facts),
        origin=_origin_of(source, 0),
        pieces=_pieces(message, content),
    )


def _pieces(message: dict[str, Any], content: str) -> tuple[Piece, ...]:
    """The pieces of a message, where no rule has changed its text after the macros."""
    pieces: tuple[Piece, ...] = message.get(_MADE, ())
    return pieces if pieces and "".join(piece.text for piece in pieces) == content else ()


_ASSETS: Final = {"char": "character", "persona": "persona"}
"""The names of the sources of descriptions in origins."""


def _origin_of(source: dict[str, Any], length: int) -> Origin:
    """The origin of a message with this source, after a history of this length."""
    asset = source["type"].partition(".")[0]
    if asset == "history":
        index = source["index"]
        return Origin("message") if index >= length else Origin("history", entry=str(index))
    if asset in _ASSETS:
        return Origin(_ASSETS[asset], "description")
    named = source.get("name") or source.get("identifier") or source["id"]
    if asset == "world_book":
        name = text_of(source.get(BOOK_NAME), "source") or None
        own = source.get("wb_id")
        return Origin("lorebook", "content", text_of(named if own is None else own, "source"), name=name)
    return Origin("preset", "prompts", text_of(source.get("identifier") or named, "source"))


PLAN_ASSEMBLY: Final = Step("plan_assembly", _run_plan_assembly, NoConfig)


def _run_trimming(state: State, config: TrimmingConfig) -> None:
    """Trim as the house does: lore first, then the oldest of the chat. Raises `MaxTokensExceededError`."""
    request = state.request
    if config.max_tokens is None and config.budget_tokens is None and not request.context_window:
        reply = state.result.options.get("max_tokens")
        reserve = request.reserved_tokens or (reply if type(reply) is int and reply > 0 else 0)
        window = window_of(inputs_of(state))
        if window is not None and config.reserve_tokens is None:
            config = msgspec.structs.replace(config, max_tokens=window, reserve_tokens=reserve)
        elif window is not None:
            config = msgspec.structs.replace(config, max_tokens=window)
    trim_state(state, config)


TRIMMING: Final = Step("trimming", _run_trimming, TrimmingConfig)


PIPELINE: Final = Pipeline(PREPARE, IN_CHAT_STEP, FRAMING, REGEX_BEFORE, MACROS, REGEX_AFTER, PLAN_ASSEMBLY, TRIMMING)

TAVERN: Final = Tavern(
    name="smart",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="SmartTavern's prompts: entries by depth and order, conditions as macros, relative prompts, regex rules.",
    profiles=tuple(PROFILES),
)

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
