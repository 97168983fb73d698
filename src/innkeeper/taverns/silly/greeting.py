"""The greeting of a chat: the card's first message or an alternative, with its macros resolved."""

from __future__ import annotations

from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.scene import Scene

__all__ = ["resolve_greeting"]


def resolve_greeting(state: State, scene: Scene) -> None:
    """Set the plan's greeting: index 0 or -1 is the first message, then alternates, then a group's own; else a warning."""
    index = state.request.greeting
    if index is None:
        return
    greetings = scene.inputs.character.greetings(group=scene.inputs.group is not None)
    place = max(index, 0)
    if place >= len(greetings):
        state.warn(f"there is no greeting {index}; the card has {len(greetings)}", kind=NoteKind.WARNING)
        place = 0
    state.result.greeting = scene.expand(greetings[place]) if greetings else ""
    state.result.greeting_index = place
