"""Step ``injection``: what is put beside the main prompt and into the chat at a depth. Leaves `Injections`.

Besides the request's injections these are the author's note, the persona at a depth, the card's depth prompt and lore at a
depth. Keys are SillyTavern's own: texts of one depth are joined in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.prompt.injections import Injection, InjectionPosition
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.lore import LoreTexts, note_due, placed_note
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.settings import ROLES

__all__ = ["INJECTION", "DepthText", "Injections"]

NOTE_KEY: Final = "2_floating_prompt"
SUMMARY_KEY: Final = "1_memory"
_KNOWN_FIRST: Final = (SUMMARY_KEY, NOTE_KEY, "3_vectors", "4_vectors_data_bank")
MAX_DEPTH: Final = 10_000
"""Deeper texts are dropped (`sillytavern.md` 44)."""


class DepthText(msgspec.Struct, frozen=True, kw_only=True):
    """A text for one depth of the chat. ``key`` sorts texts of one depth, order and role."""

    key: str
    text: str
    depth: int
    role: str
    order: int = 100


class Injections(msgspec.Struct, frozen=True, kw_only=True):
    """``before`` and ``after`` the main prompt, in the order they stand; ``depth`` texts are unsorted."""

    before: tuple[Injection, ...] = ()
    after: tuple[Injection, ...] = ()
    depth: tuple[DepthText, ...] = ()
    carried: dict[str, str] = {}


def run(state: State, _config: NoConfig) -> None:
    """Collect and expand everything that is injected."""
    scene, lore = scene_of(state), state.made_by("lore")
    note = _note(scene, lore)
    given = [*_given(state), *([note] if note is not None else [])]
    relative = sorted(
        (item for item in given if item.position in (InjectionPosition.BEFORE, InjectionPosition.AFTER)), key=_known
    )
    texts = [(item, text) for item in relative if (text := scene.expand(item.content)).strip()]
    placed = [msgspec.structs.replace(item, content=text) for item, text in texts]
    depth = [item for item in given if item.position is InjectionPosition.CHAT]
    at_depth = tuple(
        text
        for text in (
            *(_depth_text(scene, item) for item in depth),
            *_persona(scene),
            *_card(scene),
            *_lore(scene, lore),
        )
        if text.text
    )
    state.scratch["injection"] = Injections(
        before=tuple(reversed([item for item in placed if item.position is InjectionPosition.BEFORE])),
        after=tuple(item for item in placed if item.position is InjectionPosition.AFTER),
        depth=at_depth,
        carried=_carried(scene),
    )


def _known(item: Injection) -> int:
    return _KNOWN_FIRST.index(item.id) if item.id in _KNOWN_FIRST else len(_KNOWN_FIRST)


def _given(state: State) -> Iterator[Injection]:
    """The application's system text, before the main prompt; the injections of the request, then those of the port."""
    if state.request.system.strip():
        yield Injection("request_system", state.request.system, InjectionPosition.BEFORE)
    yield from state.request.injections
    port = state.inputs.ports.injections
    if port is not None:
        yield from port.active(state)


def _note(scene: Scene, lore: LoreTexts) -> Injection | None:
    text = placed_note(scene, lore)
    note = scene.inputs.note
    if note.depth < 0 or (not note_due(scene) and not text):
        return None
    positions = {0: InjectionPosition.AFTER, 1: InjectionPosition.CHAT, 2: InjectionPosition.BEFORE}
    return Injection(
        NOTE_KEY,
        text,
        positions.get(note.position, InjectionPosition.CHAT),
        ROLES.get(note.role, "system"),
        note.depth,
    )


def _depth_text(scene: Scene, item: Injection) -> DepthText:
    return DepthText(key=item.id, text=scene.expand(item.content).strip(), depth=item.depth, role=item.role)


def _persona(scene: Scene) -> Iterator[DepthText]:
    persona = scene.inputs.persona
    if persona.position is PersonaPosition.AT_DEPTH and scene.texts.persona:
        yield DepthText(
            key="PERSONA_DESCRIPTION", text=scene.texts.persona.strip(), depth=persona.depth, role=persona.role
        )


def _carried(scene: Scene) -> dict[str, str]:
    """Texts written after the scan, which the next generation's scan sees."""
    return {text.key: text.text for text in _persona(scene)}


def _card(scene: Scene) -> Iterator[DepthText]:
    """The speaker's depth prompt; where a group appends cards, those of all who are not muted."""
    group = scene.inputs.group
    if group is None or not group.settings.generation_mode:
        own = scene.inputs.character.depth_prompt
        if own is not None and scene.texts.depth_prompt:
            yield DepthText(key="DEPTH_PROMPT", text=scene.texts.depth_prompt.strip(), depth=own.depth, role=own.role)
        return
    for place, member in enumerate(group.members):
        muted = place in group.settings.disabled
        if member.depth_prompt is None or (muted and member is not scene.inputs.character):
            continue
        text = scene.expand(member.depth_prompt.prompt, char=member.name).strip()
        yield DepthText(
            key=f"DEPTH_PROMPT_{place}", text=text, depth=member.depth_prompt.depth, role=member.depth_prompt.role
        )


def _lore(scene: Scene, lore: LoreTexts) -> Iterator[DepthText]:
    """Lore at a depth. ``skip_wian`` leaves out just these."""
    if scene.inputs.generation.skip_wian:
        return
    numbers = {name: number for number, name in ROLES.items()}
    for item in lore.depth:
        key = f"customDepthWI_{item.depth}_{numbers.get(item.role, 0)}"
        yield DepthText(key=key, text=scene.expand("\n".join(item.texts)).strip(), depth=item.depth, role=item.role)


INJECTION: Final = Step("injection", run, NoConfig)
