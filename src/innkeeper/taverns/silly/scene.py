"""Scene: a build's typed inputs with what every step needs of them.

These are the macro environment (names, card, chat, templates, variables, clock and chance, as macros see them) and
the expander that works in it, the texts of the card (or of a group's cards) after macros, and the chat of this
generation: new input appended, a reply to regenerate or swipe left out (`sillytavern.md` 2, 53), hidden lines not
shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from innkeeper.content.character import Character, DepthPrompt
from innkeeper.macros.engine.environment import CardFields, ChatLine, Field, MacroEnvironment, Voice
from innkeeper.macros.handlebars.syntax import parse
from innkeeper.macros.handlebars.tree import Literal, MustacheStatement
from innkeeper.prompt.block import Origin, OriginAsset
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.note import Note
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.silly.expansion import Expander, Pieces, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.extensions.recall import NOTHING, Recall
from innkeeper.taverns.silly.inputs import Group, SillyInputs
from innkeeper.taverns.silly.line import Line
from innkeeper.taverns.silly.media import MediaRoom
from innkeeper.taverns.silly.order import Order
from innkeeper.taverns.silly.scripts.run import Scripts
from innkeeper.text.javascript.values import text_of as text_of_value

__all__ = [
    "ANY_TEXT",
    "CardTexts",
    "ReasoningFrame",
    "Scene",
    "as_typed",
    "bias_text",
    "card_texts",
    "chat_lines",
    "depth_prompts",
    "environment_of",
    "expanded",
    "member_depth_prompts",
    "reasoned",
    "reasoning_frames",
    "scene_of",
    "separator_of",
    "shown_lines",
    "untagged",
    "without_returns",
]

Count = Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True, slots=True)
class Scene:
    """One build: ``lines`` are the visible lines in order, as they are sent; ``all_lines`` what macros see."""

    inputs: SillyInputs
    expand: Expander
    texts: CardTexts
    lines: tuple[Line, ...]
    all_lines: tuple[Line, ...]
    order: Order
    count: Count
    depth_prompts: Mapping[int, Pieces] = field(default_factory=dict)
    """Those of the members of a joined group, by their places in it."""
    reasoning: Mapping[int, ReasoningFrame] = field(default_factory=dict)
    """What frames the reasoning of the lines whose reasoning is sent, by their indices."""
    separator: str = ""
    """The line that text completion puts before the card's examples."""
    bias: str = ""
    """The beginning of the reply that the user wants."""
    counted_by: str = ""
    """What ``count`` counts by, when that is the same in every build."""
    guidance_tokens: int = 0
    """Tokens that guidance takes from the window."""
    recall: Recall = NOTHING
    """What extensions put in."""
    scripts: Scripts | None = None
    """The regex scripts, where there are any that may run."""
    media: MediaRoom | None = None
    """The media of the chat, where it has any."""

    @property
    def voice(self) -> tuple[Any, ...]:
        """What decides how a line is said, besides the line."""
        return self.inputs.preset.names_behavior, self.inputs.user, self.inputs.group is None

    @property
    def type(self) -> str:
        """The generation type."""
        return self.inputs.type


def scene_of(state: State) -> Scene:
    """The scene that the first step made."""
    scene: Scene = state.made_by("hooks")
    return scene


_NEWLINES: Final = re.compile(r"\n+")


class ReasoningFrame(msgspec.Struct, frozen=True):
    """What stands around a line's reasoning. ``opens`` is a reply that only thought so far: it goes on thinking."""

    prefix: str
    separator: str
    suffix: str
    opens: bool = False

    def around(self, reasoning: str, text: str) -> str:
        """The text with the reasoning in front of it."""
        thought = self.prefix + reasoning
        return thought if self.opens else f"{thought}{self.suffix}{self.separator}{text}"


def reasoning_frames(inputs: SillyInputs, lines: Sequence[Line], expand: Expander) -> dict[int, ReasoningFrame]:
    """The frames of the newest lines that have reasoning, as many as may be added, by the lines' indices.

    In a group only the speaker's counts. The line to go on with keeps its own whatever the settings say.
    """
    rule, frames = inputs.power.reasoning, dict[int, ReasoningFrame]()
    most = rule.max_additions if rule.add_to_prompts else 0
    for place, line in enumerate(reversed(lines)):
        goes_on = inputs.type == "continue" and not place
        if not line.reasoning or not (goes_on or len(frames) < most):
            continue
        if inputs.group is not None and line.name != inputs.char:
            continue
        prefix, separator, suffix = map(expand, (rule.prefix, rule.separator, rule.suffix))
        frames[line.index] = ReasoningFrame(prefix, separator, suffix, goes_on and not line.text)
    return frames


def reasoned(scene: Scene, line: Line) -> str:
    """What a line says, with its reasoning in front where that is sent. What frames it was expanded before the lore."""
    frame = scene.reasoning.get(line.index)
    return line.text if frame is None else frame.around(line.reasoning, line.text)


class CardTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Card texts after macros, and in ``pieces`` where they came from; ``examples`` may be those of several cards."""

    description: str = ""
    personality: str = ""
    persona: str = ""
    scenario: str = ""
    examples: str = ""
    system: str = ""
    jailbreak: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    version: str = ""
    pieces: Mapping[str, Pieces] = EMPTY


def card_texts(inputs: SillyInputs, expand: Expander, order: Sequence[str]) -> CardTexts:
    """The card's texts, expanded once each, in this order; a group's cards are joined where its mode says so."""
    card, chat, power = inputs.character, inputs.metadata, inputs.power
    depth_prompt = card.depth_prompt.prompt if card.depth_prompt else ""
    texts = {
        "description": _from_card("description", card.description),
        "personality": _from_card("personality", card.personality),
        "persona": (inputs.persona.description, Origin(OriginAsset.PERSONA, "description")),
        "scenario": _from_card("scenario", card.scenario, chat),
        "examples": _from_card("mes_example", card.mes_example, chat),
        "system": _from_card("system_prompt", card.system_prompt, chat),
        "jailbreak": _from_card("post_history_instructions", card.post_history_instructions),
        "depth_prompt": _from_card("depth_prompt", depth_prompt),
        "creator_notes": _from_card("creator_notes", card.creator_notes),
    }
    for name, is_used in (("system", power.prefer_character_prompt), ("jailbreak", power.prefer_character_jailbreak)):
        texts[name] = texts[name] if is_used else ("", texts[name][1])
    joined = _joined_fields(inputs)
    pieces: dict[str, Pieces] = {}
    for name in order:
        text, origin = texts[name]
        parts = joined.get(name)
        if parts is None:
            pieces[name] = _clean(inputs, expand, pieces_of(text.strip(), origin))
        else:
            pieces[name] = in_lines(*(_of_voice(inputs, expand, voice, origin) for voice in parts))
    return CardTexts(version=card.character_version, pieces=pieces, **{name: text_of(pieces[name]) for name in texts})


def member_depth_prompts(inputs: SillyInputs, expand: Expander) -> dict[int, Pieces]:
    """The depth prompts of a joined group's members, of those who are not muted and of the speaker."""
    group, prompts = inputs.group, {}
    if group is None or not group.settings.generation_mode:
        return {}
    for index, member in enumerate(group.members):
        own = member.depth_prompt
        if own is not None and (index not in group.settings.disabled or member is inputs.character):
            origin = Origin(OriginAsset.CHARACTER, "depth_prompt", name=member.name)
            prompts[index] = _clean(inputs, expand, pieces_of(own.prompt.strip(), origin), member.name)
    return prompts


def _joined_fields(inputs: SillyInputs) -> Mapping[str, tuple[Voice, ...]]:
    """The texts that the members of a group share, as their parts."""
    if inputs.group is None or not inputs.group.settings.generation_mode:
        return EMPTY
    fields = environment_fields(inputs)
    shared = {
        "description": fields.description,
        "personality": fields.personality,
        "scenario": fields.scenario,
        "examples": fields.mes_examples,
    }
    return {name: parts for name, parts in shared.items() if isinstance(parts, tuple)}


def _from_card(field: str, text: str, chat: Mapping[str, Any] = EMPTY) -> tuple[str, Origin]:
    """A field of the card, or what the chat's metadata say in its place."""
    if chat.get(field):
        return chat[field], Origin(OriginAsset.REQUEST, "chat_metadata", field)
    return text, Origin(OriginAsset.CHARACTER, field)


def _clean(inputs: SillyInputs, expand: Expander, pieces: Pieces, char: str | None = None) -> Pieces:
    """A text of the card, expanded: without carriage returns and, where the settings say so, without empty lines."""
    pieces = expand.pieces(pieces, char=char, bare=True)
    text = text_of(pieces)
    if inputs.power.collapse_newlines and "\n\n" in text:
        pieces = pieces_of(_NEWLINES.sub("\n", text), pieces[0].origin)
    return without_returns(pieces) if "\r" in text else pieces


def without_returns(pieces: Pieces) -> Pieces:
    """Pieces without the carriage returns in them."""
    return tuple(part for piece in pieces for part in pieces_of(piece.text.replace("\r", ""), piece.origin))


def _of_voice(inputs: SillyInputs, expand: Expander, voice: Voice, origin: Origin) -> Pieces:
    """A member's part of a field of the group: what stands around it, then the text, each for itself."""
    own = msgspec.structs.replace(origin, name=voice.char)
    before, after, text = (
        _clean(inputs, expand, pieces_of(part, own), voice.char) for part in (voice.before, voice.after, voice.text)
    )
    return (*before, *text, *after)


def separator_of(inputs: SillyInputs, expand: Expander) -> str:
    """What text completion puts before examples, a line. It is resolved for each of them, and in chats too."""
    if inputs.text is None:
        expand.again(ANY_TEXT)
        return ""
    separator = inputs.text.context.example_separator
    return f"{expand(separator)}\n" if separator else ""


ANY_TEXT: Final = "***"
"""Some text without macros, which the former engine resolves the card for all the same."""


def depth_prompts(scene: Scene) -> Iterator[tuple[str, DepthPrompt, Pieces]]:
    """The speaker's depth prompt, in a joined group those of its members, each with its key and its text."""
    own, group = scene.inputs.character.depth_prompt, scene.inputs.group
    if group is None or not group.settings.generation_mode:
        if own is not None and scene.texts.depth_prompt:
            yield "DEPTH_PROMPT", own, scene.texts.pieces["depth_prompt"]
        return
    for number, (index, pieces) in enumerate(scene.depth_prompts.items()):
        prompt = group.members[index].depth_prompt
        if prompt is not None:
            yield f"DEPTH_PROMPT_{number}", prompt, pieces


def as_typed(text: str) -> str:
    """A text as the text field of a page has it, where line breaks are of one kind."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def chat_lines(inputs: SillyInputs) -> tuple[Line, ...]:
    """The chat as this generation finds it: new input appended, a reply to regenerate taken away (`sillytavern.md` 2, 53)."""
    lines = inputs.lines
    if inputs.type == "regenerate" and lines and not lines[-1].is_user:
        lines = lines[:-1]
    text = as_typed(inputs.message)
    if not text and inputs.type == "normal":
        text = inputs.preset.send_if_empty.strip() if not inputs.is_text else ""
    if not text or inputs.type not in ("normal", "continue"):
        return lines
    bias = typed_bias(text) if inputs.type == "normal" else None
    new = bool(inputs.message)
    return (*lines, Line(index=len(lines), name=inputs.user, text=text, is_user=True, is_new=new, bias=bias or ""))


def shown_lines(inputs: SillyInputs, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines the prompt shows: without hidden ones, and without the reply that a swipe replaces.

    Lines that only call tools are hidden, too, where calls are not sent.
    """
    visible = [line for line in lines if not line.hidden]
    if inputs.type == "swipe":
        while visible and visible[-1].has_tools and not visible[-1].text and not inputs.calls_tools:
            visible.pop()
        return tuple(visible[:-1])
    return tuple(visible)


_TAG: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_HELPERS: Final = frozenset({"bias", "if", "unless", "each", "with", "lookup", "log"})


def typed_bias(text: str) -> str | None:
    """The beginning of the reply that a typed text asks for, as ``{{bias "Well,"}}``; ``None`` where nobody asks.

    It is read as a Handlebars template: one that is none, or calls what does not exist, asks for nothing.

    >>> typed_bias('Go on. {{bias "Well,"}}'), typed_bias("Go on."), typed_bias('{{.x = 3}} {{bias "Well,"}}')
    (' Well,', None, None)
    """
    if "bias" not in text or "{{" not in text:
        return None
    try:
        calls = [
            node.call for node in parse(text).body if isinstance(node, MustacheStatement) and node.call is not None
        ]
    except InnkeeperError:
        return None
    names = [(".".join(call.path.parts), call) for call in calls]
    if any(call.params and name not in _HELPERS for name, call in names):
        return None
    wanted = [call.params[0] if call.params else None for name, call in names if name == "bias"]
    return f" {' '.join(map(_shown, wanted))}" if wanted else None


def _shown(value: object) -> str:
    return text_of_value(value.value) if isinstance(value, Literal) else ""


def untagged(text: str) -> str:
    """What is said beside the beginning of a reply: without anything in double braces. Nothing is kept as a space."""
    return _TAG.sub("", text).strip() or " "


def bias_text(inputs: SillyInputs, lines: Sequence[Line]) -> str:
    """The beginning of the reply that the user wants, as it is written; none where the user speaks or a message is continued.

    It is the one kept with the newest line that is the user's, the narrator's or hidden, unless something is said now; else
    the setting. The line that a swipe replaces does not count.
    """
    if inputs.type in ("continue", "impersonate"):
        return ""
    earlier = lines[:-1] if inputs.type == "swipe" else lines
    line = next((line for line in reversed(earlier) if line.is_user or line.narrator or line.hidden), None)
    own = line.bias if line is not None and (line.is_new or not inputs.message) else ""
    return own if own.strip() or (line is not None and line.is_new and own) else inputs.power.user_prompt_bias


def expanded(line: Line, expand: Expander) -> Line:
    """The line with its macros replaced."""
    if expand.is_settled(line.text):
        return line
    pieces = expand.written(line.text, line.origin)
    return msgspec.structs.replace(line, text=text_of(pieces), pieces=pieces)


INSTRUCT: Final[Mapping[str, Any]] = {"enabled": True, "wrap": True, "macro": True, "names_behavior": "force"}
CONTEXT: Final[Mapping[str, Any]] = {"chat_start": "***", "example_separator": "***"}
SYSPROMPT: Final[Mapping[str, Any]] = {"enabled": True, "content": ""}
SENT: Final = ("normal", "continue")
"""Generations that put what was typed into the chat first; the others leave it in the input."""
APPEND_ALL: Final = 2
"""The group mode that appends the cards of muted members too."""


def environment_of(state: State, inputs: SillyInputs, lines: Sequence[Line]) -> MacroEnvironment:
    """The environment for a build with these inputs and this chat. Its warnings go to ``state.warn``."""
    group, metadata, rule = inputs.group, inputs.metadata, inputs.power.reasoning
    return MacroEnvironment(
        user=inputs.user,
        char=inputs.char,
        group=group.names if group else (),
        group_active=group.active_names if group else (),
        persona=inputs.persona.description,
        card=environment_fields(inputs),
        prefer_card_prompt=inputs.power.prefer_character_prompt,
        prefer_card_instruction=inputs.power.prefer_character_jailbreak,
        collapse_newlines=inputs.power.collapse_newlines,
        chat=chat_of(lines),
        first_included_id=_number(metadata.get("lastInContextMessageId")),
        input="" if inputs.type in SENT else as_typed(inputs.message),
        generation=_last_type(state) if inputs.generation.dry_run else inputs.type,
        main_api="textgenerationwebui" if inputs.is_text else "openai",
        model=state.request.model or "",
        max_context=inputs.max_context,
        max_response=inputs.max_response,
        extensions=frozenset(map(str, state.request.settings.get("extensions") or ())),
        instruct=_settings(inputs, "instruct", INSTRUCT),
        context={**CONTEXT, **_settings(inputs, "context", {})},
        sysprompt=_settings(inputs, "sysprompt", SYSPROMPT),
        reasoning={name: getattr(rule, name) for name in ("prefix", "suffix", "separator")},
        authors_note=inputs.note.text,
        outlets=state.result.outlets,
        char_authors_note=inputs.character_note.text if inputs.character_note else "",
        dynamic=inputs.macro_vars,
        variables=state.variables,
        clock=state.inputs.clock,
        random=state.inputs.random.stream("macros"),
        chat_id=_chat_id(inputs) if group or state.request.character is not None else None,
        chat_id_hash=metadata.get("chat_id_hash"),
        pick_seed=metadata.get("pick_reroll_seed"),
        warn=lambda note: _warn(state, note),
        ban=state.result.options.setdefault("banned_words", []).append if inputs.is_text else None,
    )


def _last_type(state: State) -> str:
    """The type of the generation before: a dry run is none, and leaves it as it was."""
    before = assets_of(state).lore_state
    return str(before.get("generation") or "") if isinstance(before, Mapping) else ""


def _chat_id(inputs: SillyInputs) -> str | None:
    """What seeds ``{{pick}}``: a branch has the chat it was made from as its main chat. A name that is not text seeds nothing."""
    main = inputs.metadata.get("main_chat")
    return inputs.chat_id if main is None else main if isinstance(main, str) else None


def environment_fields(inputs: SillyInputs) -> CardFields:
    """The card's fields as they are written; in a group that appends cards those that its members share."""
    card, metadata = inputs.character, inputs.metadata
    return CardFields(
        description=_shared(inputs, "Description", lambda one: one.description),
        personality=_shared(inputs, "Personality", lambda one: one.personality),
        scenario=_overriding(inputs, "scenario") or _shared(inputs, "Scenario", lambda one: one.scenario),
        first_message=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        mes_examples=_overriding(inputs, "mes_example")
        or _shared(inputs, "Example Messages", lambda one: one.mes_example, _started),
        system_prompt=metadata.get("system_prompt") or card.system_prompt,
        post_history=card.post_history_instructions,
        depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
        creator_notes=card.creator_notes,
        version=card.character_version,
    )


def _overriding(inputs: SillyInputs, field: str) -> str:
    """What the chat's metadata say in the place of the cards' field; where cards are joined, a blank text says nothing."""
    text: str = inputs.metadata.get(field) or ""
    joins = inputs.group is not None and inputs.group.settings.generation_mode
    return text if text.strip() or not joins else ""


def _shared(
    inputs: SillyInputs, title: str, field: Callable[[Character], str], form: Callable[[str], str] = str
) -> Field:
    """A field of the speaker's card, or in a group that appends cards the parts of its members, each put into its form."""
    group = inputs.group
    if group is None or not group.settings.generation_mode:
        return field(inputs.character)
    return tuple(_voices(inputs, group, title, lambda member: form(field(member).strip())))


def _started(examples: str) -> str:
    """Example dialogue that begins with its mark."""
    return examples if not examples or examples.startswith("<START>") else f"<START>\n{examples}"


def _voices(inputs: SillyInputs, group: Group, title: str, field: Callable[[Character], str]) -> list[Voice]:
    around = group.settings.join_prefix, group.settings.join_suffix
    voices = []
    for index, member in enumerate(group.members):
        muted = index in group.settings.disabled and group.settings.generation_mode != APPEND_ALL
        text = field(member)
        if text and (not muted or member is inputs.character):
            before, after, text = (_FIELD_NAME.sub(lambda _: title, part) for part in (*around, text))
            voices.append(Voice(member.name, text, before, after))
    return voices


_FIELD_NAME: Final = re.compile("<FIELDNAME>", re.IGNORECASE)


def chat_of(lines: Sequence[Line]) -> Callable[[], list[ChatLine]]:
    """The chat as macros see it, made when one asks for it: of tool calls what is shown in their place."""
    made: list[ChatLine] = []

    def chat() -> list[ChatLine]:
        if len(made) != len(lines):
            made[:] = [
                ChatLine(
                    line.name,
                    line.text or line.shown,
                    line.is_user,
                    line.hidden or line.has_tools,
                    line.send_date,
                    line.swipes or None,
                    line.swipe_id,
                )
                for line in lines
            ]
        return made

    return chat


def _settings(inputs: SillyInputs, name: str, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """One of the templates of text completion as it was given, over its defaults; empty outside of text completion."""
    overrides = inputs.text.raw.get(name) if inputs.text is not None else None
    return {**defaults, **overrides} if isinstance(overrides, Mapping) else {}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _warn(state: State, note: Note) -> None:
    state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint, data=note.data)
