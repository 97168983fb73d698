"""Banned strings: the lines in quotes of the sampler settings' lists. Lines without quotes name tokens of one model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.taverns.silly.scene import Scene

__all__ = ["banned_strings"]

_LISTS: Final = ("banned_tokens", "global_banned_tokens")
_LEAST: Final = 2


def banned_strings(scene: Scene, textgen: Mapping[str, Any]) -> list[str]:
    """The strings, their macros resolved; none when ``send_banned_tokens`` is off."""
    if textgen.get("send_banned_tokens") is False:
        return []
    text = "\n".join(str(textgen.get(name) or "") for name in _LISTS)
    lines = [line.strip() for line in scene.expand(text).split("\n")]
    quoted = [line[1:-1] for line in lines if len(line) > _LEAST and line.startswith('"') and line.endswith('"')]
    return list(dict.fromkeys(quoted))
