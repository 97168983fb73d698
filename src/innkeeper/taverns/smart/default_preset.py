"""The preset of requests that give none: lore, descriptions and the chat, without a word of instruction."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["DEFAULT_PRESET"]

_PLACEHOLDERS: Final = ("charBefore", "charDescription", "charAfter", "personaDescription", "chatHistory")

DEFAULT_PRESET: Final[dict[str, Any]] = {
    "name": "Default",
    "prompts": [
        {"identifier": name, "name": name, "enabled": True, "role": "system", "position": "relative"}
        for name in _PLACEHOLDERS
    ],
    "regex_rules": [],
}
"""Nothing changes it: every operation copies what it keeps."""
