"""ProviderRequest: what SillyTavern's page asks its server for, before the request has the provider's shape.

The page writes one object for every provider (`innkeeper.dialects.sillytavern.page`); the server makes the provider's body of
it. What the server reads from its own ``config.yaml`` is `ServerConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report, jsonable, option_error
from innkeeper.dialects.sillytavern.conversion import ChatConversion
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.typed.once import convert

SAMPLING: Final[Mapping[str, Any]] = {
    "temperature": 1,
    "top_p": 1,
    "top_k": 0,
    "top_a": 0,
    "min_p": 0,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "max_tokens": 300,
}
"""The settings that every request has, with SillyTavern's defaults."""


class ClaudeConfig(msgspec.Struct, frozen=True, rename="camel"):
    """``claude`` of the configuration: marks for the provider's cache, and thinking without a budget."""

    enable_system_prompt_cache: bool = False
    caching_at_depth: int = -1
    extended_ttl: bool = msgspec.field(default=False, name="extendedTTL")
    enable_adaptive_thinking: bool = False

    @property
    def mark(self) -> dict[str, Any]:
        """The mark at the end of a cached prefix."""
        return {"type": "ephemeral", "ttl": self.ttl}

    @property
    def ttl(self) -> str:
        """The lifetime of the cache entry."""
        return "1h" if self.extended_ttl else "5m"


class GeminiConfig(msgspec.Struct, frozen=True, rename="camel"):
    """``gemini`` of the configuration."""

    api_version: str = "v1beta"
    thought_signatures: bool = True
    enable_system_prompt_cache: bool = False


class MistralConfig(msgspec.Struct, frozen=True, rename="camel"):
    """``mistral`` of the configuration."""

    enable_prefix: bool = False


class ServerConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of SillyTavern's ``config.yaml`` that bodies depend on, by its names and with its defaults."""

    claude: ClaudeConfig = ClaudeConfig()
    gemini: GeminiConfig = GeminiConfig()
    mistral: MistralConfig = MistralConfig()

    @classmethod
    def of(cls, value: Any, dialect: str) -> ServerConfig:
        """The option ``server``: the configuration, or a part of it. Raises `ConfigError`."""
        if isinstance(value, cls):
            return value
        try:
            return convert(jsonable(value or {}), cls, strict=True)
        except msgspec.ValidationError as error:
            raise option_error(dialect, "server", str(error), ("the settings of config.yaml",)) from None


class ProviderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the page writes it: ``options`` by the page's names, absent where the page sends nothing.

    ``source`` is SillyTavern's name for the provider; ``tools`` are definitions in OpenAI's shape.
    """

    conversion: ChatConversion
    source: str
    model: str
    options: Mapping[str, Any]
    tools: tuple[dict[str, Any], ...] = ()
    server: ServerConfig = ServerConfig()

    @property
    def report(self) -> Report:
        """The report of changes and losses."""
        return self.conversion.report

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, after the preset's mode of post-processing."""
        return self.conversion.messages

    @property
    def max_tokens(self) -> int | None:
        """The longest reply, in tokens; ``None`` if it is set under another name."""
        most = self.options.get("max_tokens")
        return None if most is None else int(most)

    @property
    def effort(self) -> str | None:
        """The reasoning effort."""
        effort = self.options.get("reasoning_effort")
        return None if effort is None else str(effort)

    @property
    def shows_thoughts(self) -> bool:
        """Whether thoughts are asked for."""
        return bool(self.options.get("include_reasoning"))

    @property
    def use_sysprompt(self) -> bool:
        """Whether leading system messages go apart, where the provider has a place for them."""
        return bool(self.options.get("use_sysprompt"))

    @property
    def stream(self) -> bool:
        """Whether the reply is streamed."""
        return bool(self.options.get("stream"))

    @property
    def stop(self) -> list[str]:
        """The stop strings."""
        return list(self.options.get("stop") or ())

    @property
    def searches(self) -> bool:
        """Whether the provider is to search the web."""
        return bool(self.options.get("enable_web_search"))

    @property
    def schema(self) -> Mapping[str, Any]:
        """``{name, value, description?, strict?}`` of a reply that must be JSON; empty where it need not."""
        return self.options.get("json_schema") or EMPTY

    def fields(self, *names: str) -> dict[str, Any]:
        """The options of these names that are set."""
        return {name: jsonable(self.options[name]) for name in names if self.options.get(name) is not None}

    def with_messages(self, messages: list[dict[str, Any]]) -> ProviderRequest:
        """The request with other messages."""
        return msgspec.structs.replace(self, conversion=msgspec.structs.replace(self.conversion, messages=messages))
