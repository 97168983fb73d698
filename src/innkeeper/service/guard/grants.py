"""Grants: what the calls of one key may do and how much of it, as it stands behind the key in the key file.

::

    KEY scope=chat,tasks route=local,openai/* profile=mira rate=60 tokens=100000 calls=4 spend=2.50 seconds=0.5

A word that is left out leaves open what it would bound. Names may be patterns with ``*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.once import convert
from innkeeper.service.errors import ScopeError
from innkeeper.service.guard.surfaces import SURFACES

if TYPE_CHECKING:
    from innkeeper.library.tier import Ceilings


_MOST: Final = 10**12
_LISTS: Final = ("scope", "route", "profile", "operation")


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key may do. ``None`` is whatever there is.

    ``scope`` names surfaces; ``route``, ``profile`` and ``operation`` (of the gateway) are patterns of names. ``rate`` is
    requests and ``tokens`` tokens of models a minute, ``calls`` requests at once, ``spend`` money a day, by the prices
    of the service (`innkeeper.service.guard.prices`); keys of one ``tenant`` share it, and no other tenant sees what they store.
    ``limits`` are what the work of one call may take. ``tier`` is the highest content tier of its tasks and jobs: ``nsfw`` is the
    operator's word that whoever holds the key was verified to be an adult.
    """

    scope: tuple[str, ...] | None = None
    route: tuple[str, ...] | None = None
    profile: tuple[str, ...] | None = None
    operation: tuple[str, ...] | None = None
    rate: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    tokens: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    calls: Annotated[int, msgspec.Meta(gt=0, le=_MOST)] | None = None
    spend: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    tenant: Annotated[str, msgspec.Meta(max_length=64)] = ""
    tier: Literal["sfw", "nsfw"] = "sfw"
    limits: BuildLimits = BuildLimits()

    @property
    def ceilings(self) -> Ceilings:
        """What lies above the tier that a call asks for: the word of the operator alone, the general tier without one."""
        from innkeeper.library.tier import Ceilings, Tier

        return Ceilings(account=Tier.of(self.tier))

    @classmethod
    def read(cls, words: Sequence[str]) -> Grant:
        """A grant from the words behind a key. Raises `ConfigError`, `UsageError`; neither quotes a word, which may be a key."""
        named = {name: value for name, _, value in (word.partition("=") for word in words)}
        bounds = [word for word in words if word.partition("=")[0] in BuildLimits.__struct_fields__]
        fields: dict[str, Any] = {
            name: named.pop(name) for name in [*named] if name not in BuildLimits.__struct_fields__
        }
        fields |= {name: tuple(part for part in fields[name].split(",") if part) for name in _LISTS if name in fields}
        hint = f"words: {', '.join(name for name in cls.__struct_fields__ if name != 'limits')}, seconds, steps, output"
        try:
            grant = convert({**fields, "limits": BuildLimits.read(bounds)}, cls, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError("the words behind a key are not what it may do", hint=hint) from error
        empty = next((name for name in _LISTS if getattr(grant, name) == ()), None)
        if empty or not set(grant.scope or ()) <= {*SURFACES}:
            raise ConfigError(f"{empty or 'scope'}= behind a key names nothing that there is", hint=_SCOPES)
        return grant

    @classmethod
    def knows(cls, word: str) -> bool:
        """Whether a word behind a key is one of a grant."""
        return word.partition("=")[0] in _WORDS

    @property
    def is_admin(self) -> bool:
        """Whether a call may replace what templates say: only where its key names the scope ``admin``."""
        return "admin" in (self.scope or ())

    def check_surface(self, surface: str | None) -> None:
        """Let a call pass to a surface; None: a page that every key may read. Raises `ScopeError`."""
        if surface is not None and self.scope is not None and surface not in self.scope:
            raise ScopeError(f"this key may not use {surface!r}", scope=surface)

    def check(self, kind: str, name: str) -> None:
        """Let a call use what goes by this name; ``kind`` is ``route``, ``profile`` or ``operation``. Raises `ScopeError`."""
        if not self.allows(kind, name):
            raise ScopeError(f"this key may not use the {kind} {name!r}", scope=kind)

    def allows(self, kind: str, name: str) -> bool:
        """Whether a call may use, and see in a list, what goes by this name."""
        patterns: tuple[str, ...] | None = getattr(self, kind)
        return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)


_WORDS: Final = {*Grant.__struct_fields__, *BuildLimits.__struct_fields__} - {"limits"}
_SCOPES: Final = f"scopes: {', '.join(SURFACES)}; names with commas between them, without blanks"

OPEN: Final = Grant()
"""What a caller may do of whom nothing was said."""
