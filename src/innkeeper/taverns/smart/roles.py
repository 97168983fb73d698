"""The four roles of a SmartTavern message, and their order among entries of one depth and order."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from innkeeper.taverns.smart.values import text_of

__all__ = ["RANK", "ROLES", "folded_role", "role_or"]

ROLES: Final = frozenset({"system", "user", "assistant", "thinking"})
"""Every role a message may have."""

RANK: Final = MappingProxyType({"assistant": 0, "user": 1, "system": 2, "thinking": 2})
"""assistant < user < system (3-smarttavern, *sorting*); thinking stands with system."""


def folded_role(value: Any, path: str) -> str:
    """A role as it is compared: text in lower case, blanks kept."""
    return value.lower() if isinstance(value, str) else ("none" if value is None else text_of(value, path).lower())


def role_or(entry: dict[str, Any], default: str, path: str) -> str:
    """An entry's own role, or ``default`` where it has none of the four."""
    role = folded_role(entry.get("role", default), path)
    return role if role in ROLES else default
