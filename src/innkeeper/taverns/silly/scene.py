"""Scene: a build's typed inputs with what every step needs of them.

These are the macro environment (names, card, chat, templates, variables, clock and chance, as macros see them) and
the expander that works in it, the texts of the card (or of a group's cards) after macros, and the chat of this
generation: new input appended, a reply to regenerate or swipe left out (`sillytavern.md` 2, 53), hidden lines not
shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from innkeeper.content.character import Character
from innkeeper.macros.engine.environment import CardFields, ChatLine, Field, MacroEnvironment, Voice
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.silly import is_plain, substitute
from innkeeper.prompt.note import Note
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.inputs import Group, SillyInputs
from innkeeper.taverns.silly.line import Line

__all__ = [
    "CardTexts",
    "Expander",
    "Scene",
    "card_texts",
    "chat_lines",
    "environment_of",
    "scene_of",
    "shown_lines",
]

Count = Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands macros for this build. What is learnt later, as lore's outlets, ``env`` reads where it is kept."""

    env: MacroEnvironment
    pack: Literal["new", "legacy"] = "new"

    def __call__(self, text: str, *, char: str | None = None, original: str | None = None) -> str:
        """The text with its macros replaced; ``char`` speaks instead of the environment's character."""
        if is_plain(text):
            return text
        env = self.env if char is None else replace(self.env, char=char)
        return substitute(text, env, pack=self.pack, original=original)

    def ranged(self, text: str) -> tuple[str, list[MacroRange]]:
        """The text with its macros replaced, and what each of them made of it."""
        ranges: list[MacroRange] = []
        return substitute(text, self.env, pack=self.pack, ranges=ranges), ranges

    def field(self, text: str) -> str:
        """A field of the card with its macros replaced; other fields are empty in it (`sillytavern.md` 14)."""
        return substitute(text, self.env, pack=self.pack, replace_character_card=False)


@dataclass(frozen=True, slots=True)
class Scene:
    """One build: ``lines`` are the visible lines in order, as they are sent; ``all_lines`` what macros see."""

    inputs: SillyInputs
    expand: Expander
    texts: CardTexts
    lines: tuple[Line, ...]
    all_lines: tuple[Line, ...]
    count: Count
    counted_by: str = ""
    """What ``count`` counts by, when that is the same in every build."""

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


Expand = Callable[[str], str]
_NEWLINES: Final = re.compile(r"\n+")


class CardTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Card texts after macros. ``system`` and ``jailbreak`` keep their macros: they are expanded where they are used."""

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


def card_texts(inputs: SillyInputs, expand: Expand) -> CardTexts:
    """The card's texts, expanded once each, in SillyTavern's order; a group's cards are joined where its mode says so."""
    card, told = inputs.character, inputs.metadata
    clean = _collapsing(expand) if inputs.power.collapse_newlines else expand
    texts = CardTexts(
        description=clean(card.description.strip()),
        personality=clean(card.personality.strip()),
        persona=clean(inputs.persona.description.strip()),
        scenario=clean((told.get("scenario") or card.scenario).strip()),
        examples=clean((told.get("mes_example") or card.mes_example).strip()),
        system=clean((told.get("system_prompt") or card.system_prompt).strip()) if _wants_main(inputs) else "",
        jailbreak=clean(card.post_history_instructions.strip()) if inputs.power.prefer_character_jailbreak else "",
        version=card.character_version,
        depth_prompt=clean(_depth_prompt(card).strip()),
        creator_notes=clean(card.creator_notes.strip()),
    )
    return texts if inputs.group is None else _joined(texts, inputs, inputs.group, clean)


def _wants_main(inputs: SillyInputs) -> bool:
    return inputs.power.prefer_character_prompt


def _depth_prompt(card: Character) -> str:
    return card.depth_prompt.prompt if card.depth_prompt else ""


def _collapsing(expand: Expand) -> Expand:
    return lambda text: _NEWLINES.sub("\n", expand(text))


def _joined(texts: CardTexts, inputs: SillyInputs, group: Group, clean: Expand) -> CardTexts:
    """The four card texts of all members, joined, where the group appends cards."""
    if not group.settings.generation_mode:
        return texts
    scenario, examples = inputs.metadata.get("scenario"), inputs.metadata.get("mes_example")
    return msgspec.structs.replace(
        texts,
        description=_collect(inputs, group, "Description", lambda card: card.description, clean),
        personality=_collect(inputs, group, "Personality", lambda card: card.personality, clean),
        scenario=texts.scenario if scenario else _collect(inputs, group, "Scenario", lambda card: card.scenario, clean),
        examples=texts.examples
        if examples
        else _collect(inputs, group, "Example Messages", lambda card: _with_start(card.mes_example), clean),
    )


def _with_start(text: str) -> str:
    trimmed = text.strip()
    return trimmed if not trimmed or trimmed.startswith("<START>") else f"<START>\n{trimmed}"


def _collect(inputs: SillyInputs, group: Group, field: str, pick: Callable[[Character], str], clean: Expand) -> str:
    parts = []
    for place, member in enumerate(group.members):
        muted = place in group.settings.disabled
        if muted and group.settings.generation_mode != APPEND_ALL and member is not inputs.character:
            continue
        text = pick(member).strip()
        if text:
            parts.append(clean(_around(group, field, text).replace("{{char}}", member.name)))
    return "\n".join(part for part in parts if part)


def _around(group: Group, field: str, text: str) -> str:
    prefix, suffix = (
        part.replace("<FIELDNAME>", field) for part in (group.settings.join_prefix, group.settings.join_suffix)
    )
    return f"{prefix}{text}{suffix}"


APPEND_ALL: Final = 2


def chat_lines(inputs: SillyInputs) -> tuple[Line, ...]:
    """The chat as this generation finds it: new input appended, a reply to regenerate taken away (`sillytavern.md` 2, 53)."""
    lines = inputs.lines
    if inputs.type == "regenerate" and lines and not lines[-1].is_user:
        lines = lines[:-1]
    text = inputs.message
    if not text and inputs.type == "normal":
        text = inputs.preset.send_if_empty.strip() if not inputs.is_text else ""
    if not text or inputs.type not in ("normal", "continue"):
        return lines
    place = len(lines)
    return (*lines, Line(place=place, name=inputs.user, text=text, is_user=True))


def shown_lines(inputs: SillyInputs, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines the prompt shows: without hidden ones, and without the reply that a swipe replaces."""
    visible = tuple(line for line in lines if not line.hidden)
    return visible[:-1] if inputs.type == "swipe" else visible


def with_text(line: Line, text: str) -> Line:
    """The line with another text."""
    return line if text == line.text else msgspec.structs.replace(line, text=text)


INSTRUCT: Final[Mapping[str, Any]] = {"enabled": True, "wrap": True, "macro": True, "names_behavior": "force"}
CONTEXT: Final[Mapping[str, Any]] = {"chat_start": "***", "example_separator": "***"}
SYSPROMPT: Final[Mapping[str, Any]] = {"enabled": True, "content": ""}
SENT: Final = ("normal", "continue")
"""Generations that put what was typed into the chat first; the others leave it in the input."""
_APPEND_ALL: Final = 2
"""The group mode that appends the cards of muted members too."""


def environment_of(state: State, inputs: SillyInputs, lines: Sequence[Line]) -> MacroEnvironment:
    """The environment for a build with these inputs and this chat. Its warnings go to ``state.warn``."""
    group, told = inputs.group, inputs.metadata
    return MacroEnvironment(
        user=inputs.user,
        char=inputs.char,
        group=group.names if group else (),
        group_active=group.active_names if group else (),
        persona=inputs.persona.description,
        card=_card(inputs),
        prefer_card_prompt=inputs.power.prefer_character_prompt,
        prefer_card_instruction=inputs.power.prefer_character_jailbreak,
        collapse_newlines=inputs.power.collapse_newlines,
        chat=chat_of(lines),
        first_included_id=_number(told.get("lastInContextMessageId")),
        input="" if inputs.type in SENT else inputs.message,
        generation=inputs.type,
        main_api="textgenerationwebui" if inputs.is_text else "openai",
        model=state.request.model or "",
        max_context=inputs.max_context,
        max_response=inputs.max_response,
        extensions=frozenset(map(str, state.request.settings.get("extensions") or ())),
        instruct=_settings(inputs, "instruct", INSTRUCT),
        context={**CONTEXT, **_settings(inputs, "context", {})},
        sysprompt=_settings(inputs, "sysprompt", SYSPROMPT),
        reasoning=_reasoning(inputs),
        authors_note=inputs.note.text,
        outlets=state.result.outlets,
        char_authors_note=inputs.character_note.text if inputs.character_note else "",
        dynamic=inputs.macro_vars,
        variables=state.variables,
        clock=state.inputs.clock,
        random=state.inputs.random.stream("macros"),
        chat_id=inputs.chat_id if group or state.request.character is not None else None,
        chat_id_hash=told.get("chat_id_hash"),
        pick_seed=told.get("pick_reroll_seed"),
        warn=lambda note: _warn(state, note),
        ban=state.result.options.setdefault("banned_words", []).append if inputs.is_text else None,
    )


def _card(inputs: SillyInputs) -> CardFields:
    card, told = inputs.character, inputs.metadata
    return CardFields(
        description=_shared(inputs, "Description", lambda one: one.description),
        personality=_shared(inputs, "Personality", lambda one: one.personality),
        scenario=told.get("scenario") or _shared(inputs, "Scenario", lambda one: one.scenario),
        first_message=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        mes_examples=told.get("mes_example")
        or _shared(inputs, "Example Messages", lambda one: one.mes_example, _started),
        system_prompt=told.get("system_prompt") or card.system_prompt,
        post_history=card.post_history_instructions,
        depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
        creator_notes=card.creator_notes,
        version=card.character_version,
    )


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
    before, after = (
        text.replace("<FIELDNAME>", title) for text in (group.settings.join_prefix, group.settings.join_suffix)
    )
    voices = []
    for place, member in enumerate(group.members):
        muted = place in group.settings.disabled and group.settings.generation_mode != _APPEND_ALL
        text = field(member)
        if text and (not muted or member is inputs.character):
            voices.append(Voice(member.name, text, before, after))
    return voices


def chat_of(lines: Sequence[Line]) -> Callable[[], list[ChatLine]]:
    """The chat as macros see it, made when one asks for it."""
    made: list[ChatLine] = []

    def chat() -> list[ChatLine]:
        if len(made) != len(lines):
            made[:] = [
                ChatLine(
                    line.name, line.text, line.is_user, line.hidden, line.send_date, line.swipes or None, line.swipe_id
                )
                for line in lines
            ]
        return made

    return chat


def _settings(inputs: SillyInputs, name: str, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """One of the templates of text completion as it was given, over its defaults; empty outside of text completion."""
    given = inputs.text.raw.get(name) if inputs.text is not None else None
    return {**defaults, **given} if isinstance(given, Mapping) else {}


def _reasoning(inputs: SillyInputs) -> Mapping[str, Any]:
    rule = inputs.power.reasoning
    return {"prefix": rule.prefix, "suffix": rule.suffix, "separator": rule.separator}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _warn(state: State, note: Note) -> None:
    state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint, data=note.data)
