"""Capabilities: what a provider's model can do, as a table that layers over safe defaults.

The table is data (TavernKit's *Capabilities*): a provider's own defaults first, then each model rule that matches, in order,
then what the caller knows better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt import ConfigError, FrozenDict, freeze
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.typed.once import convert


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one model can do. ``context_window_tokens`` is ``None`` when nobody said; ``reserved_response_tokens`` are of it."""

    provider: str
    model: str
    supports_tools: bool = True
    supports_response_format_json_object: bool = True
    supports_response_format_json_schema: bool = False
    supports_streaming: bool = True
    supports_parallel_tool_calls: bool = False
    context_window_tokens: int | None = None
    reserved_response_tokens: int = 0

    @classmethod
    def of(
        cls, provider: str, model: str, overrides: Mapping[str, Any] | None = None, table: CapabilityTable | None = None
    ) -> Capabilities:
        """The capabilities of a model. ``overrides`` that are ``None`` do not count.

        Raises `ConfigError` for an unknown key, a wrong type, a blank name, or a reserve larger than the window.
        """
        named = {"provider": provider_id(provider), "model": _name("model", model)}
        facts = (CAPABILITIES if table is None else table).facts(named["provider"], named["model"])
        known = {key: value for key, value in (overrides or {}).items() if value is not None}
        try:
            capabilities = convert({**facts, **known, **named}, cls)
        except msgspec.ValidationError as error:
            msg = f"capabilities: {error}"
            raise ConfigError(msg, hint=f"keys: {', '.join(cls.__struct_fields__[2:])}") from error
        _check_window(capabilities.context_window_tokens, capabilities.reserved_response_tokens)
        return capabilities


def _check_window(window: int | None, reserved: int) -> None:
    if (window is not None and window <= 0) or reserved < 0 or (window is not None and reserved > window):
        msg = (
            f"context_window_tokens ({window}) must be positive, reserved_response_tokens ({reserved}) between 0 and it"
        )
        raise ConfigError(msg)


class ModelRule(msgspec.Struct, frozen=True):
    """What holds for the models that ``pattern`` names: an exact id, or a beginning that ends in ``*``."""

    pattern: str
    facts: FrozenDict

    def matches(self, model: str) -> bool:
        """Whether the rule is about ``model``, in whatever case it is written."""
        model = model.lower()
        return model.startswith(self.pattern[:-1]) if self.pattern.endswith("*") else model == self.pattern


class ProviderRule(msgspec.Struct, frozen=True):
    """What holds for a provider, known by several names, and for some of its models."""

    names: tuple[str, ...]
    facts: FrozenDict = EMPTY
    models: tuple[ModelRule, ...] = ()


class CapabilityTable(msgspec.Struct, frozen=True):
    """Rules for providers, over facts that hold for all of them. A value: `with_` makes another."""

    rules: tuple[ProviderRule, ...] = ()
    common: FrozenDict = EMPTY

    def with_(self, *rules: ProviderRule, **common: Any) -> CapabilityTable:
        """A table with further rules, which win over these, and other facts for all providers."""
        return CapabilityTable((*self.rules, *rules), freeze({**self.common, **common}))

    def facts(self, provider: str, model: str) -> dict[str, Any]:
        """What is known of a model: common facts, then the provider's, then those of each model rule that matches."""
        rules = [rule for rule in self.rules if provider in rule.names]
        matching = [about for rule in rules for about in rule.models if about.matches(model)]
        merged: dict[str, Any] = dict(self.common)
        for facts in (*(rule.facts for rule in rules), *(about.facts for about in matching)):
            merged |= facts
        return merged


def provider_id(provider: str) -> str:
    """A provider's name as the table spells it: ``Open-Router`` → ``open_router``. Raises `ConfigError` when blank."""
    return _name("provider", provider).lower().replace("-", "_")


def _name(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        msg = f"{what} must be a name"
        raise ConfigError(msg)
    return value.strip()


def _can(*features: str) -> FrozenDict:
    return FrozenDict({_FEATURES[name]: True for name in features})


def _cannot(*features: str) -> FrozenDict:
    return FrozenDict({_FEATURES[name]: False for name in features})


_FEATURES: Final = {
    "tools": "supports_tools",
    "object": "supports_response_format_json_object",
    "schema": "supports_response_format_json_schema",
    "streaming": "supports_streaming",
    "parallel": "supports_parallel_tool_calls",
}

CAPABILITIES: Final = CapabilityTable(
    (
        ProviderRule(("openai",), _can(*_FEATURES)),
        ProviderRule(
            ("openrouter", "open_router"),
            _can(*_FEATURES),
            (
                ModelRule("anthropic/*", _cannot("schema")),
                ModelRule("openai/*", _cannot("object", "schema")),
                ModelRule("minimax/*", _cannot("object", "schema")),
                ModelRule("minimax/minimax-m2-her", _cannot("tools", "object", "schema")),
            ),
        ),
        ProviderRule(("volcano_engine", "volcanoengine", "volcano"), _can("parallel")),
    )
)
"""The built-in table."""
