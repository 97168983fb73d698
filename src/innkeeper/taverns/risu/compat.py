"""RisuCompat: where two versions of RisuAI differ, each difference a switch; a profile is a set of them.

The profile ``later`` is RisuAI after 166.3.3, which corrected the rules that people stumble over most.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

from innkeeper.macros.cbs import LATER, RISU_166, CbsCompat
from innkeeper.prompt.errors import UnknownNameError


class RisuCompat(msgspec.Struct, frozen=True, kw_only=True):
    """The switches. Their defaults are those of the profile ``later``."""

    lore_patterns: bool = True
    """Whether ``/pattern/flags`` as a key is read properly; 166.3.3 takes the first slash for a part of it, and one text."""

    entry_flags: bool = True
    """Whether a decorator that records matches holds for its entry; in 166.3.3 for each that fires after it was read."""

    nested_positions: int = 5
    """How many levels of ``{{position::x}}`` in entries are filled; 166.3.3 fills those of cards alone."""

    macros: CbsCompat = LATER
    """The switches of the macro language."""


DEFAULT_PROFILE: Final = "later"
"""The profile of requests that name none."""

PROFILES: Final = MappingProxyType(
    {
        DEFAULT_PROFILE: RisuCompat(),
        "166.3.3": RisuCompat(lore_patterns=False, entry_flags=False, nested_positions=0, macros=RISU_166),
    }
)


def compat_of(profile: str | None) -> RisuCompat:
    """The switches of a profile (``None``: the default one). Raises `UnknownNameError`."""
    name = profile or DEFAULT_PROFILE
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]
