"""CardTexts: the texts of the card (or of a group's cards) after macros, as the prompt uses them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from innkeeper.content.character import Character
from innkeeper.taverns.silly.inputs import Group, SillyInputs

__all__ = ["CardTexts", "card_texts"]

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
