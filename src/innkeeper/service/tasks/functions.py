"""FUNCTIONS: the document's functions by name. Services answer them over HTTP, commands in their own process."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from innkeeper.service.tasks.calls import Run
from innkeeper.service.tasks.enhancement import enhanced
from innkeeper.service.tasks.scenes import composed, made
from innkeeper.service.tasks.suggestions import suggested
from innkeeper.service.tasks.turns import played, spoken

__all__ = ["FUNCTIONS", "PATHS"]

FUNCTIONS: Final[Mapping[str, Run]] = MappingProxyType(
    {
        "enhance-prompt": enhanced,
        "playground-chat": spoken,
        "roleplay-chat": played,
        "character-suggestions": suggested,
        "generate-scene": made,
        "compose-scene": composed,
    }
)

PATHS: Final[Mapping[str, str]] = MappingProxyType({"compose-scene": "/v1/scenes:compose"})
"""Where a service answers those that the document has no function for."""
