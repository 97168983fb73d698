"""Values as text, as SmartTavern's macros write them: as Python does, and nothing for ``None``."""

from __future__ import annotations

from typing import Any

__all__ = ["text_of"]


def text_of(value: Any) -> str:
    """The text of a value. Raises `ValueError` for a whole number of more digits than Python writes."""
    return value if isinstance(value, str) else "" if value is None else str(value)
