"""Segment: a part of a prompt that has a role, which says when it may go."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

__all__ = ["DROP_ORDER", "Role", "Segment"]


class Role(StrEnum):
    """What a segment of an image or video prompt is about."""

    IDENTITY = "identity"
    ACTION = "action"
    CLOTHING = "clothing"
    SETTING = "setting"
    MOOD = "mood"
    STYLE = "style"
    QUALITY = "quality"
    TECHNICAL = "technical"


DROP_ORDER: Final = (
    (Role.QUALITY, Role.TECHNICAL),
    (Role.MOOD,),
    (Role.STYLE,),
    (Role.SETTING,),
    (Role.CLOTHING,),
)
"""Which roles go first. Identity and action are in none: they are never dropped, whatever a segment says."""

_KEPT: Final = frozenset({Role.IDENTITY, Role.ACTION})


class Segment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a prompt. ``weight`` is its worth; of one role, the least worth for its size goes first.

    ``min`` is the size it keeps at least, so that a segment with one is shortened but not dropped.
    """

    text: str
    role: Role
    weight: float = 1.0
    droppable: bool = True
    min: int = 0

    @property
    def may_go(self) -> bool:
        """Whether it may be dropped or shortened to make room."""
        return self.droppable and self.role not in _KEPT
