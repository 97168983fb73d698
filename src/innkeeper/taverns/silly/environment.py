"""The macro environment of a build: names, card, chat, templates, variables, clock and chance, as macros see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from innkeeper.macros.environment import CardFields, ChatLine, MacroEnvironment
from innkeeper.prompt.frozen import EMPTY
from innkeeper.prompt.note import Note
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.cards import CardTexts
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.line import Line

__all__ = ["environment_of", "joined_card"]


def environment_of(state: State, inputs: SillyInputs, lines: Sequence[Line]) -> MacroEnvironment:
    """The environment for a build with these inputs and this chat. Its warnings go to ``state.warn``."""
    group = inputs.group
    members = ", ".join(group.names) if group else inputs.char
    speaking = ", ".join(group.active_names) if group else inputs.char
    others = [name for name in (group.names if group else ()) if name != inputs.char]
    told = inputs.metadata
    return MacroEnvironment(
        user=inputs.user,
        char=inputs.char,
        group=members,
        group_not_muted=speaking,
        not_char=", ".join((*others, inputs.user)),
        persona=inputs.persona.description,
        card=_card(inputs),
        chat=lambda: _chat(lines),
        input=inputs.message,
        generation=inputs.type,
        main_api="textgenerationwebui" if inputs.is_text else "openai",
        model=state.request.model or "",
        max_prompt=inputs.context_tokens,
        instruct=_raw(inputs, "instruct"),
        context=_raw(inputs, "context"),
        sysprompt=_raw(inputs, "sysprompt"),
        prefer_card_prompt=inputs.power.prefer_character_prompt,
        authors_note=inputs.note.text,
        char_authors_note=inputs.character_note.text if inputs.character_note else "",
        dynamic=inputs.macro_vars,
        variables=state.variables,
        clock=state.inputs.clock,
        random=state.inputs.random.stream("macros"),
        chat_id=inputs.chat_id,
        chat_id_hash=_number(told.get("chat_id_hash")),
        pick_seed=_number(told.get("pick_reroll_seed")),
        warn=lambda note: _warn(state, note),
        ban=state.result.options.setdefault("banned_strings", []).append if inputs.is_text else None,
    )


def joined_card(card: CardFields, texts: CardTexts) -> CardFields:
    """The card macros of a group whose cards are appended: the joined texts."""
    return msgspec.structs.replace(
        card,
        description=texts.description,
        personality=texts.personality,
        scenario=texts.scenario,
        mes_examples=texts.examples,
    )


def _card(inputs: SillyInputs) -> CardFields:
    card, told = inputs.character, inputs.metadata
    return CardFields(
        description=card.description,
        personality=card.personality,
        scenario=told.get("scenario") or card.scenario,
        first_message=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        mes_examples=told.get("mes_example") or card.mes_example,
        system_prompt=told.get("system_prompt") or card.system_prompt,
        post_history=card.post_history_instructions,
        depth_prompt=card.depth_prompt.prompt if card.depth_prompt else "",
        creator_notes=card.creator_notes,
        version=card.character_version,
    )


def _chat(lines: Sequence[Line]) -> list[ChatLine]:
    return [
        ChatLine(line.name, line.text, line.is_user, line.hidden, line.send_date, line.swipes, line.swipe_id)
        for line in lines
    ]


def _raw(inputs: SillyInputs, name: str) -> Any:
    return inputs.text.raw.get(name) or EMPTY if inputs.text is not None else EMPTY


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _warn(state: State, note: Note) -> None:
    state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint, data=note.data)
