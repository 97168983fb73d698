"""The changes that SillyTavern would store in the chat's file after a build: `Plan.stored`, which `Chat.with_` writes.

That is the chat's variables, lasting effects of lore, the first message that was in the prompt, the author's note's settings
where the chat had none, and the first message with its macros replaced: it keeps what they came to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.prompt.data import thaw
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.scene import Scene

_NOTE: Final[Mapping[str, str]] = {
    "note_prompt": "text",
    "note_interval": "interval",
    "note_position": "position",
    "note_depth": "depth",
    "note_role": "role",
}


def stored_by(state: State, scene: Scene, plan: Plan) -> dict[str, Any]:
    """``chat_metadata``: keys and values; ``messages``: texts by index; ``message``: the stored form of the user's message.

    ``message_bias`` is the beginning of the reply that it asks for, which is kept in its ``extra.bias``; ``message_hidden`` says
    that it does nothing else, and is in no prompt. Where nothing is said, ``message`` is what the preset sends in its place.

    What has not changed is left out. A dry run stores nothing but the first message.
    """
    metadata = {} if scene.inputs.generation.dry_run else _metadata(state, scene, plan)
    stored: dict[str, Any] = {"chat_metadata": metadata} if metadata else {}
    lines, before = scene.all_lines, state.request.history
    if lines and before and not lines[0].is_new and lines[0].text != before[0].content:
        stored["messages"] = {"0": lines[0].text}
    if len(lines) > len(scene.inputs.lines):
        last = lines[-1]
        stored["message"] = last.text
        stored |= {"message_bias": last.bias} if last.bias else {}
        stored |= {"message_hidden": True} if last.hidden else {}
    return stored


def _metadata(state: State, scene: Scene, plan: Plan) -> dict[str, Any]:
    """The keys of the chat's metadata that are not as they were."""
    before = scene.inputs.metadata
    note = {key: getattr(scene.inputs.note, field) for key, field in _NOTE.items() if before.get(key) is None}
    after: dict[str, Any] = note if state.request.authors_note is not None or state.request.settings.get("note") else {}
    if variables := state.variables.to_dict().get("local"):
        after["variables"] = variables
    timed = state.result.carry.get("timed") if isinstance(state.result.carry, Mapping) else None
    if timed is not None:
        after["timedWorldInfo"] = {
            kind: {key: {**effect, "protected": effect.get("protected", False)} for key, effect in effects.items()}
            for kind, effects in timed.items()
        }
    after["lastInContextMessageId"] = max(len(scene.all_lines) - _sent(scene, plan), 0)
    return {key: value for key, value in after.items() if thaw(before.get(key)) != value}


_AGAIN: Final = ("continue", "swipe", "regenerate")
"""Generations whose last message counts as sent in any case; in a text prompt the one to continue is sent as a line."""


def _sent(scene: Scene, plan: Plan) -> int:
    """The number of messages in the prompt by SillyTavern's count (measured on SillyTavern 1.19).

    In chats that is all that the user or the character says, whatever it comes from; in text prompts the lines of the chat, and
    what stands behind them as one.
    """
    again = int(scene.type in _AGAIN)
    if not scene.inputs.is_text:
        return again + sum([block.enabled and block.role in _SPEAKERS for block in plan.blocks])
    again -= scene.type == "continue"
    tail = any(block.slot == "chat_history" and block.source == "post_history" for block in plan.enabled_blocks)
    return again + tail + sum([block.enabled and block.group == "history" for block in plan.blocks])


_SPEAKERS: Final = ("user", "assistant")
