"""Card texts: the fields of the card, or of a joined group's cards, after macros, each with where it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.macros.engine.environment import Voice
from innkeeper.prompt.block import Origin, OriginAsset
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns.silly.environment import environment_fields
from innkeeper.taverns.silly.expansion import Expander, Pieces, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.text.javascript.values import strip

_NEWLINES: Final = re.compile(r"\n+")


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
    note = card.depth_prompt
    texts = {
        "description": _from_card("description", card.description),
        "personality": _from_card("personality", card.personality),
        "persona": (inputs.persona.description, Origin(OriginAsset.PERSONA, "description")),
        "scenario": _from_card("scenario", card.scenario, chat),
        "examples": _from_card("mes_example", card.mes_example, chat),
        "system": _from_card("system_prompt", card.system_prompt, chat),
        "jailbreak": _from_card("post_history_instructions", card.post_history_instructions),
        "depth_prompt": _from_card("depth_prompt", note.prompt if note else ""),
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
            # what overrides the preset's prompts is expanded again where it does, and only there has it an original
            reporting = expand.unreported() if name in ("system", "jailbreak") and "{{" in text else expand
            pieces[name] = cleaned(inputs, reporting, pieces_of(strip(text), origin))
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
            prompts[index] = cleaned(inputs, expand, pieces_of(strip(own.prompt), origin), member.name)
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
    """A field of the card, or its override in the chat's metadata."""
    if chat.get(field):
        return chat[field], Origin(OriginAsset.REQUEST, "chat_metadata", field)
    return text, Origin(OriginAsset.CHARACTER, field)


def cleaned(inputs: SillyInputs, expand: Expander, pieces: Pieces, char: str | None = None) -> Pieces:
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
    """A member's part of a field of the group: the texts around it, then the text, each by itself."""
    own = msgspec.structs.replace(origin, name=voice.char)
    before, after, text = (
        cleaned(inputs, expand, pieces_of(part, own), voice.char) for part in (voice.before, voice.after, voice.text)
    )
    return (*before, *text, *after)


def separator_of(inputs: SillyInputs, expand: Expander) -> str:
    """The line that text completion puts before examples. It is resolved for each of them, and in chats too."""
    if inputs.text is None:
        expand.again(ANY_TEXT)
        return ""
    separator = inputs.text.context.example_separator
    return f"{expand(separator)}\n" if separator else ""


ANY_TEXT: Final = "***"
"""Some text without macros, which the former engine resolves the card for all the same."""
