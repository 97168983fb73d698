"""What stands in a JSON object of somebody else's: the value of the type that is wanted, or an empty one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["list_of", "mapping_of", "text_of"]


def mapping_of(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path of objects; an empty one where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A text, or an empty one."""
    return value if isinstance(value, str) else ""
