"""The user's own stop strings, which SillyTavern keeps as a JSON list in one setting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from innkeeper.taverns.silly.scene import Scene

__all__ = ["custom_stop_strings", "listed"]


def custom_stop_strings(scene: Scene) -> tuple[str, ...]:
    """The strings of ``power_user.custom_stopping_strings``, expanded where it says so. None for what is no list of texts."""
    power = scene.inputs.power
    texts = listed(power.custom_stopping_strings) or ()
    return tuple(map(scene.expand, texts) if power.custom_stopping_strings_macro else texts)


def listed(setting: str) -> tuple[str, ...] | None:
    """The texts in the setting, as written; ``None`` where it is no JSON list."""
    try:
        found = json.loads(setting or "[]")
    except (ValueError, RecursionError):
        return None
    return tuple(text for text in found if isinstance(text, str) and text) if isinstance(found, list) else None
