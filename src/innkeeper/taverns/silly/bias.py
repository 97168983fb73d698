"""The start of the reply that the user wants: of the newest message that has one, else of the settings."""

from __future__ import annotations

from innkeeper.taverns.silly.scene import Scene

__all__ = ["bias_of"]


def bias_of(scene: Scene) -> str:
    """The bias with its macros resolved; empty when it is blank, and where the user speaks or a message is continued."""
    if scene.type in ("continue", "impersonate"):
        return ""
    said = next((line for line in reversed(scene.all_lines) if line.is_user or line.narrator), None)
    own = said.bias if said is not None and not scene.inputs.message else ""
    text = scene.expand(own if own.strip() else scene.inputs.power.user_prompt_bias)
    return text if text.strip() else ""
