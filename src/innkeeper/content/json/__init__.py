"""JSON as assets keep it: text that is read under limits and edited in place, documents, and typed fields over them."""

from typing import Any, Final

__all__ = ["ABSENT"]

ABSENT: Final[Any] = type("Absent", (), {"__repr__": lambda _: "ABSENT", "__bool__": lambda _: False})()
"""Stands for a missing value; setting a path to it removes the path."""
