"""CacheRule: how a provider's prefix cache works, as its maker says, with sources and the day on which they were read.

``cache_rules.json`` holds the rules. The first one that names the provider and the model counts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.typed.once import decode
from innkeeper.tokens.table.catalogue import known_model
from innkeeper.tokens.table.models import bare_model_id


class ModelMinimum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens below which nothing of these models is cached."""

    models: tuple[str, ...]
    tokens: int


class Lifetime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a prefix is kept, where the maker says it, and what writing it costs as a multiple of reading it anew."""

    name: str
    seconds: int | None
    write: float


class CacheRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rule of some providers. ``step`` is the grain of what is read, ``read`` its price as a share of the full one.

    ``mode``: ``automatic``, ``breakpoints`` (only what is marked), ``router`` (that of the model's maker). ``key`` is the
    field or header that brings a chat back to its server, ``explicit`` another way to cache.
    """

    providers: tuple[str, ...]
    mode: Literal["automatic", "breakpoints", "router"]
    minimum: int
    read: float
    sources: tuple[str, ...]
    date: str
    note: str
    models: tuple[str, ...] = ("*",)
    minimums: tuple[ModelMinimum, ...] = ()
    step: int = 1
    breakpoints: int = 0
    lifetimes: tuple[Lifetime, ...] = (Lifetime("", None, 1.0),)
    key: str | None = None
    explicit: str | None = None

    def minimum_of(self, model: str | None) -> int:
        """Return the tokens below which nothing is cached for a model."""
        name = bare_model_id(model or "")
        return next((row.tokens for row in self.minimums if _fits(name, row.models)), self.minimum)

    def lifetime(self, name: str | None) -> Lifetime:
        """Return the lifetime of this name; the first where none is named. Raises `UnknownNameError`."""
        known = {lifetime.name: lifetime for lifetime in self.lifetimes}
        if name is None:
            return self.lifetimes[0]
        if name not in known:
            raise UnknownNameError("lifetime of a cache", name, known)
        return known[name]


RULES: Final = decode(Path(__file__).with_name("cache_rules.json").read_bytes(), tuple[CacheRule, ...])
"""The rules in the order in which they are tried."""


def cache_rule(provider: str, model: str | None = None) -> CacheRule:
    """Return the rule of a provider for a model. Raises `UnknownNameError`."""
    name = bare_model_id(model or "")
    for rule in RULES:
        if provider in rule.providers and _fits(name, rule.models):
            return rule if rule.mode != "router" else _makers(rule, model)
    raise UnknownNameError(
        "provider with a prefix cache", provider, {each for rule in RULES for each in rule.providers}
    )


def _makers(router: CacheRule, model: str | None) -> CacheRule:
    """The rule of the model's maker, as a router passes it on; the router's own where the maker is not known."""
    price = known_model(model).price if model else None
    maker = price.provider if price else "anthropic" if "claude" in (model or "") else None
    known = maker is not None and any(maker in rule.providers for rule in RULES)
    if maker is None or not known:
        return msgspec.structs.replace(router, mode="automatic")
    rule = cache_rule(maker, model)
    sources = (*router.sources, *rule.sources)
    return msgspec.structs.replace(rule, providers=(*router.providers, *rule.providers), sources=sources)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
