"""Speakers: who is talking, and the rule for putting a name in front of a text that does not have it yet.

Example messages say who speaks by the names ``example_user`` and ``example_assistant``. (sillytavern.md 71.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.dialects.errors import DialectOptionError

__all__ = ["EXAMPLE_ASSISTANT", "EXAMPLE_USER", "Speakers", "lead", "speakers_of"]

EXAMPLE_USER = "example_user"
EXAMPLE_ASSISTANT = "example_assistant"


def lead(name: str | None, text: str) -> str:
    """``Name: `` where ``text`` does not begin with it, else nothing; nothing for no name."""
    return f"{name}: " if name and not text.startswith(f"{name}: ") else ""


class Speakers(msgspec.Struct, frozen=True):
    """The names in a chat; ``group`` are the members' where it is a group."""

    char: str = ""
    user: str = ""
    group: tuple[str, ...] = ()

    def is_member(self, text: str) -> bool:
        """Whether ``text`` begins with the name of a member of the group."""
        return any(text.startswith(f"{name}: ") for name in self.group)

    def lead_user(self, text: str) -> str:
        """The user's name for a text that does not begin with it."""
        return lead(self.user, text)

    def lead_char(self, text: str) -> str:
        """The character's name for a text that begins with nobody's of the group."""
        return "" if self.is_member(text) else lead(self.char, text)

    def lead_example(self, name: str | None, text: str) -> str:
        """The name for a message that is an example; nothing for any other."""
        if name == EXAMPLE_USER:
            return self.lead_user(text)
        return self.lead_char(text) if name == EXAMPLE_ASSISTANT else ""


def speakers_of(value: Any, dialect: str) -> Speakers:
    """The option ``speakers`` of a dialect: `Speakers`, or ``{char, user, group}``. Raises `DialectOptionError`."""
    if isinstance(value, Speakers):
        return value
    try:
        fields = dict(value or {}) if isinstance(value, Mapping) or not value else value
        return msgspec.convert(fields, Speakers, strict=True)
    except msgspec.ValidationError:
        raise DialectOptionError(dialect, "speakers", value, ("an object with char, user and group",)) from None
