"""The author's note: whether it is due, and its text with the character's note, lore and persona around it."""

from __future__ import annotations

from innkeeper.content.persona import PersonaPosition
from innkeeper.taverns.silly.lore_texts import LoreTexts
from innkeeper.taverns.silly.scene import Scene

__all__ = ["note_due", "note_text", "placed_note"]


def note_due(scene: Scene) -> bool:
    """Whether the note is in this turn: every ``interval`` user messages; 0 or less is never."""
    interval = scene.inputs.note.interval
    if interval <= 0:
        return False
    said = sum(line.is_user for line in scene.all_lines)
    return interval == 1 or (said > 0 and said % interval == 0)


def note_text(scene: Scene) -> str:
    """The note's text with the character's own note in its place; empty when it is not due."""
    if not note_due(scene):
        return ""
    text, own = scene.inputs.note.text, scene.inputs.character_note
    if own is None or not own.use:
        return text
    places = {0: own.text, 1: f"{own.text}\n{text}", 2: f"{text}\n{own.text}"}
    return places.get(own.position, own.text)


def placed_note(scene: Scene, lore: LoreTexts) -> str:
    """The note as it is sent: lore around it, the persona around both; empty when it is not due."""
    due = note_due(scene)
    if not due and scene.inputs.compat.note_lore_vanishes:
        return ""
    text = note_text(scene)
    if lore.an_top or lore.an_bottom:
        top, bottom = "\n".join(lore.an_top), "\n".join(lore.an_bottom)
        text = f"{top}\n{text}\n{bottom}".removeprefix("\n").removesuffix("\n")
    return _with_persona(scene, text) if due else text


def _with_persona(scene: Scene, text: str) -> str:
    persona, position = scene.texts.persona, scene.inputs.persona.position
    if not persona:
        return text
    if position is PersonaPosition.TOP_AN:
        return f"{persona}\n{text}"
    return f"{text}\n{persona}" if position is PersonaPosition.BOTTOM_AN else text
