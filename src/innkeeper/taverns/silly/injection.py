"""Step ``injection``: what is put beside the main prompt and into the chat at a depth. Leaves `Injections`.

Besides the request's injections these are the author's note, the persona at a depth, the card's depth prompt and lore at a
depth. Keys are SillyTavern's own: texts of one depth are joined in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.prompt.injections import InjectionPosition
from innkeeper.prompt.origin import Origin, OriginAsset, strip_pieces
from innkeeper.prompt.pipeline import NoConfig, Step
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.expansion import LINE_BREAK, Pieces, cut, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.lore import LoreTexts, note_due, note_text
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.settings import ROLES

__all__ = ["INJECTION", "InjectedText", "Injections"]

NOTE_KEY: Final = "2_floating_prompt"
SUMMARY_KEY: Final = "1_memory"
_KNOWN_FIRST: Final = (SUMMARY_KEY, NOTE_KEY, "3_vectors", "4_vectors_data_bank")
MAX_DEPTH: Final = 10_000
"""Deeper texts are dropped (`sillytavern.md` 44)."""


class InjectedText(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is put in. ``key`` sorts texts of one ``depth`` of the chat, order and role; the preset's own have none."""

    key: str
    pieces: Pieces
    role: str
    depth: int = 0
    order: int = 100

    @property
    def text(self) -> str:
        """The text."""
        return text_of(self.pieces)


class Injections(msgspec.Struct, frozen=True, kw_only=True):
    """``before`` and ``after`` the main prompt, in the order they stand; ``depth`` texts are unsorted."""

    before: tuple[InjectedText, ...] = ()
    after: tuple[InjectedText, ...] = ()
    depth: tuple[InjectedText, ...] = ()
    carried: dict[str, str] = {}


def run(state: State, _config: NoConfig) -> None:
    """Collect and expand everything that is injected."""
    scene, lore = scene_of(state), state.made_by("lore")
    given = [*_given(state), *_note(scene, lore)]
    beside: dict[InjectionPosition, list[InjectedText]] = {InjectionPosition.BEFORE: [], InjectionPosition.AFTER: []}
    for position, item in sorted((pair for pair in given if pair[0] in beside), key=lambda pair: _known(pair[1].key)):
        pieces = scene.expand.pieces(item.pieces)
        if text_of(pieces).strip():
            beside[position].append(msgspec.structs.replace(item, pieces=pieces))
    in_chat = (
        msgspec.structs.replace(item, pieces=strip_pieces(scene.expand.pieces(item.pieces)))
        for position, item in given
        if position is InjectionPosition.CHAT
    )
    depth = (*in_chat, *_persona(scene), *_card(scene), *_lore(scene, lore))
    state.scratch["injection"] = Injections(
        before=tuple(reversed(beside[InjectionPosition.BEFORE])),
        after=tuple(beside[InjectionPosition.AFTER]),
        depth=tuple(text for text in depth if text.pieces),
        carried={text.key: text.text for text in _persona(scene)},  # written after the scan: for the next one
    )


def _known(key: str) -> int:
    return _KNOWN_FIRST.index(key) if key in _KNOWN_FIRST else len(_KNOWN_FIRST)


def _given(state: State) -> Iterator[tuple[InjectionPosition, InjectedText]]:
    """The application's system text, before the main prompt; the injections of the request, then those of the port."""
    system = state.request.system
    if system.strip():
        pieces = pieces_of(system, Origin(OriginAsset.REQUEST, "system"))
        yield InjectionPosition.BEFORE, InjectedText(key="request_system", pieces=pieces, role="system")
    port = state.inputs.ports.injections
    for item in (*state.request.injections, *(() if port is None else port.active(state))):
        pieces = pieces_of(item.content, Origin(OriginAsset.INJECTION, entry=item.id))
        yield item.position, InjectedText(key=item.id, pieces=pieces, role=item.role, depth=item.depth)


def _note(scene: Scene, lore: LoreTexts) -> Iterator[tuple[InjectionPosition, InjectedText]]:
    pieces, note = _placed_note(scene, lore), scene.inputs.note
    if note.depth >= 0 and (note_due(scene) or pieces):
        positions = {0: InjectionPosition.AFTER, 1: InjectionPosition.CHAT, 2: InjectionPosition.BEFORE}
        role = ROLES.get(note.role, "system")
        text = InjectedText(key=NOTE_KEY, pieces=pieces, role=role, depth=note.depth)
        yield positions.get(note.position, InjectionPosition.CHAT), text


def _placed_note(scene: Scene, lore: LoreTexts) -> Pieces:
    """The note as it is sent: lore around it, the persona around both; empty when it is not due."""
    due = note_due(scene)
    if not due and scene.inputs.compat.note_lore_vanishes:
        return ()
    note = pieces_of(note_text(scene), Origin(OriginAsset.AUTHORS_NOTE))
    if lore.an_top or lore.an_bottom:
        note = (*in_lines(*lore.an_top), LINE_BREAK, *note, LINE_BREAK, *in_lines(*lore.an_bottom))
        text = text_of(note)
        note = tuple(cut(note, int(text.startswith("\n")), len(text) - text[1:].endswith("\n")))
    return _with_persona(scene, note) if due else note


def _with_persona(scene: Scene, note: Pieces) -> Pieces:
    persona, position = scene.texts.pieces.get("persona", ()), scene.inputs.persona.position
    if not persona:
        return note
    if position is PersonaPosition.TOP_AN:
        return (*persona, LINE_BREAK, *note)
    return (*note, LINE_BREAK, *persona) if position is PersonaPosition.BOTTOM_AN else note


def _persona(scene: Scene) -> Iterator[InjectedText]:
    persona = scene.inputs.persona
    if persona.position is PersonaPosition.AT_DEPTH and scene.texts.persona:
        pieces = strip_pieces(scene.texts.pieces["persona"])
        yield InjectedText(key="PERSONA_DESCRIPTION", pieces=pieces, depth=persona.depth, role=persona.role)


def _card(scene: Scene) -> Iterator[InjectedText]:
    """The speaker's depth prompt; where a group appends cards, those of all who are not muted."""
    group = scene.inputs.group
    if group is None or not group.settings.generation_mode:
        own = scene.inputs.character.depth_prompt
        if own is not None and scene.texts.depth_prompt:
            pieces = strip_pieces(scene.texts.pieces["depth_prompt"])
            yield InjectedText(key="DEPTH_PROMPT", pieces=pieces, depth=own.depth, role=own.role)
        return
    for index, member in enumerate(group.members):
        own = member.depth_prompt
        if own is None or (index in group.settings.disabled and member is not scene.inputs.character):
            continue
        origin = Origin(OriginAsset.CHARACTER, "depth_prompt", name=member.name)
        pieces = strip_pieces(scene.expand.pieces(pieces_of(own.prompt, origin), char=member.name))
        yield InjectedText(key=f"DEPTH_PROMPT_{index}", pieces=pieces, depth=own.depth, role=own.role)


def _lore(scene: Scene, lore: LoreTexts) -> Iterator[InjectedText]:
    """Lore at a depth. ``skip_wian`` leaves out just these."""
    if scene.inputs.generation.skip_wian:
        return
    numbers = {name: number for number, name in ROLES.items()}
    for item in lore.depth:
        key = f"customDepthWI_{item.depth}_{numbers.get(item.role, 0)}"
        pieces = strip_pieces(scene.expand.pieces(in_lines(*item.texts)))
        yield InjectedText(key=key, pieces=pieces, depth=item.depth, role=item.role)


INJECTION: Final = Step("injection", run, NoConfig)
