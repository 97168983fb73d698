"""The user's own stop strings, which SillyTavern keeps as a JSON list in one setting."""

from __future__ import annotations

import json

from innkeeper.taverns.silly.scene import Scene

__all__ = ["custom_stop_strings"]


def custom_stop_strings(scene: Scene) -> tuple[str, ...]:
    """The strings of ``power_user.custom_stopping_strings``, expanded where it says so. None for what is no list of texts."""
    power = scene.inputs.power
    try:
        found = json.loads(power.custom_stopping_strings or "[]")
    except (ValueError, RecursionError):
        return ()
    texts = [text for text in found if isinstance(text, str) and text] if isinstance(found, list) else []
    return tuple(map(scene.expand, texts) if power.custom_stopping_strings_macro else texts)
