"""Environment: what macros see of a build: names, card, chat, templates, variables, clock and chance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.macros.engine.environment import CardFields, ChatLine, Field, MacroEnvironment, Voice
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.locator import TextLocator
from innkeeper.taverns.silly.extensions.stock_macros import stock_macros
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.lines.group import Group
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.taverns.silly.lines.typed import as_typed
from innkeeper.taverns.silly.settings import MAIN_PROMPT
from innkeeper.text.javascript.values import strip


class Outlets(Mapping[str, str]):
    """The outlets of lore, which remembers those whose text a macro has placed (``placed``)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.placed: set[str] = set()

    def __getitem__(self, name: str) -> str:
        text = self._texts[name]
        self.placed.add(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


INSTRUCT: Final[Mapping[str, Any]] = {"wrap": True, "macro": True, "names_behavior": "force"}
CONTEXT: Final[Mapping[str, Any]] = {"chat_start": "***", "example_separator": "***"}
SYSPROMPT: Final[Mapping[str, Any]] = {"enabled": True, "content": MAIN_PROMPT}
SENT: Final = ("normal", "continue")
"""Generations that put what was typed into the chat first; the others leave it in the input."""
APPEND_ALL: Final = 2
"""The group mode that appends the cards of muted members too."""


def environment_of(
    state: State, inputs: SillyInputs, lines: Sequence[Line], *, is_sent: bool = False
) -> MacroEnvironment:
    """The environment for a build with these inputs and this chat. Its warnings go to ``state.warn``.

    With ``is_sent`` a line that is not among ``lines`` yet is the chat's last.
    """
    group, metadata, rule = inputs.group, inputs.metadata, inputs.power.reasoning
    earlier = None if inputs.memory is None else lines if is_sent else lines[:-1]
    first_included = metadata.get("lastInContextMessageId")
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
        first_included_id=first_included
        if isinstance(first_included, int) and not isinstance(first_included, bool)
        else None,
        input="" if inputs.type in SENT else as_typed(inputs.message),
        generation=_last_type(state) if inputs.generation.dry_run else inputs.type,
        main_api="textgenerationwebui" if inputs.is_text else "openai",
        model=state.request.model or "",
        max_context=inputs.max_context,
        max_response=inputs.max_response,
        extensions=frozenset(map(str, state.request.settings.get("extensions") or ())),
        instruct=_template(inputs, "instruct", INSTRUCT),
        context=_template(inputs, "context", CONTEXT),
        sysprompt=_template(inputs, "sysprompt", SYSPROMPT),
        reasoning={name: getattr(rule, name) for name in ("prefix", "suffix", "separator")},
        authors_note=inputs.note.text,
        outlets=Outlets(state.result.outlets),
        default_authors_note=inputs.default_note,
        stock=stock_macros(state.request.settings, inputs.filename, earlier),
        char_authors_note=inputs.character_note.text if inputs.character_note else "",
        dynamic=inputs.macro_vars,
        variables=state.variables,
        clock=state.inputs.clock,
        random=state.inputs.random.stream("macros"),
        chat_id=_chat_id(inputs) if group or state.request.character is not None else None,
        chat_id_hash=metadata.get("chat_id_hash"),
        pick_seed=metadata.get("pick_reroll_seed"),
        warn=lambda note: state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint, data=note.data),
        locate=TextLocator(state),
        ban=state.result.options.setdefault("banned_words", []).append if inputs.is_text else None,
    )


def _last_type(state: State) -> str:
    """The type of the generation before: a dry run is none, and leaves it as it was."""
    before = assets_of(state).lore_state
    return str(before.get("generation") or "") if isinstance(before, Mapping) else ""


def _chat_id(inputs: SillyInputs) -> str | None:
    """The seed of ``{{pick}}``: a branch has the chat it was made from as its main chat. A name that is not text is no seed."""
    main = inputs.metadata.get("main_chat")
    return inputs.chat_id if main is None else main if isinstance(main, str) else None


def environment_fields(inputs: SillyInputs) -> CardFields:
    """The card's fields as they are written; in a group that appends cards those that its members share."""
    card, metadata = inputs.character, inputs.metadata
    note = card.depth_prompt
    return CardFields(
        description=_shared(inputs, "Description", lambda member: member.description),
        personality=_shared(inputs, "Personality", lambda member: member.personality),
        scenario=_overriding(inputs, "scenario") or _shared(inputs, "Scenario", lambda member: member.scenario),
        first_message=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        mes_examples=_overriding(inputs, "mes_example")
        or _shared(inputs, "Example Messages", lambda member: member.mes_example, _started),
        system_prompt=metadata.get("system_prompt") or card.system_prompt,
        post_history=card.post_history_instructions,
        depth_prompt=note.prompt if note else "",
        creator_notes=card.creator_notes,
        version=card.character_version,
    )


def _overriding(inputs: SillyInputs, field: str) -> str:
    """The overrides of the cards' field in the chat's metadata; for joined cards, a blank text is no override."""
    text: str = inputs.metadata.get(field) or ""
    joins = inputs.group is not None and inputs.group.settings.generation_mode
    return text if strip(text) or not joins else ""


def _shared(
    inputs: SillyInputs, title: str, field: Callable[[Character], str], form: Callable[[str], str] = str
) -> Field:
    """A field of the speaker's card, or in a group that appends cards the parts of its members, each put into its form."""
    group = inputs.group
    if group is None or not group.settings.generation_mode:
        return field(inputs.character)
    return tuple(_voices(inputs, group, title, lambda member: form(strip(field(member)))))


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
    """The chat as macros see it, made on first use: tool calls by the text shown for them."""
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


def _template(inputs: SillyInputs, name: str, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """A chosen template over its defaults: in text completion that of ``settings.text``, which turns instruct mode on."""
    if inputs.text is None:
        return {**defaults, **getattr(inputs.power, name)}
    template = inputs.text.raw.get(name)
    is_on = {"enabled": True} if name == "instruct" else {}
    return {**defaults, **is_on, **template} if isinstance(template, Mapping) else defaults
