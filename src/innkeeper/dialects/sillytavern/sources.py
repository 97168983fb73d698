"""The 26 sources of SillyTavern 1.19 as data: where each is and what it takes, and what single models take.

The rows are in ``sources.json``; the code that a source needs besides is in `innkeeper.dialects.sillytavern.source_bodies`.
(sillytavern-bodies.md 1, 2, 4, 7.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.dialects.sillytavern.bodies.chat import FIELDS
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.typed.once import convert

BEARER: Final = "Authorization: Bearer"


class CompletionSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source: its address, and how it takes settings."""

    url: str = ""
    endpoints: Mapping[str, str] = {}
    """Addresses for values of the source's ``…_endpoint``."""
    path: str = "/chat/completions"
    key: str = BEARER
    """Where the key goes: a header, or ``?key=`` of the address."""
    proxied: bool = False
    """Whether a preset's proxy stands before it."""
    options: tuple[str, ...] = ()
    """The settings that the page sends besides the common ones."""
    fields: tuple[str, ...] = FIELDS
    """The settings that the server copies from the page's request."""
    mode: str = ""
    """A post-processing that comes after the preset's."""
    schema: str = "named"
    """The form of a JSON schema (`innkeeper.dialects.sillytavern.json_schema`)."""
    stops: int | None = 4
    """How many stop strings it is sent; all for ``None``."""
    always_stops: bool = False
    """Whether it is sent a list of stop strings even where that is empty."""
    raw_effort: bool = False
    """Whether its server reads the effort as the preset has it."""
    efforts: Mapping[str, str] = msgspec.field(default_factory=lambda: {"min": "low", "max": "high"})
    """The efforts that have other names with it."""


class OmissionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For models of these sources (all for none): what is left out, and whether the length has its longer name."""

    pattern: re.Pattern[str]
    sources: frozenset[str] = frozenset()
    drops: tuple[str, ...] = ()
    lengthens: bool = False
    spares: frozenset[str] = frozenset()
    """The sources that are sent an effort nevertheless."""
    silent: bool | None = None
    """Only where no effort is asked for (true), or only where one is (false)."""
    no_tools: bool = False
    no_system: bool = False
    no_own_pictures: bool = False
    """Only the user may show pictures."""

    def matches(self, source: str, model: str, page: Mapping[str, Any]) -> bool:
        """Whether it is a rule for this request."""
        if self.sources and source not in self.sources:
            return False
        if self.silent is not None and ("reasoning_effort" in page) is self.silent:
            return False
        return source not in self.spares and bool(self.pattern.search(model))

    def applied(self, page: dict[str, Any]) -> dict[str, Any]:
        """The page's options by this rule."""
        remaining = {name: value for name, value in page.items() if name not in self.drops}
        if self.lengthens and "max_tokens" in remaining:
            remaining["max_completion_tokens"] = remaining.pop("max_tokens")
        return remaining


class _SourceTables(msgspec.Struct, frozen=True):
    """The contents of ``sources.json``."""

    sources: dict[str, CompletionSource]
    rules: tuple[OmissionRule, ...]


_TABLES: Final[_SourceTables] = convert(
    msgspec.json.decode(Path(__file__).with_name("sources.json").read_bytes()),
    _SourceTables,
    dec_hook=lambda _kind, pattern: re.compile(pattern),
)

SOURCES: Final[Mapping[str, CompletionSource]] = MappingProxyType(_TABLES.sources)
"""The sources by SillyTavern's names."""

RULES: Final = _TABLES.rules
"""The rules for models, in the original's order."""

OTHER_SOURCE: Final = CompletionSource()
"""A source that SillyTavern does not know: it speaks Chat Completions."""


def rules_for(source: str, model: str, page: Mapping[str, Any] = EMPTY) -> tuple[OmissionRule, ...]:
    """The rules for a request of this model."""
    return tuple(rule for rule in RULES if rule.matches(source, model, page))
