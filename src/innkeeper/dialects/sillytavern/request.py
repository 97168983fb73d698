"""ProviderRequest: what SillyTavern asks a provider for, before the request has the provider's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.options import stop_list
from innkeeper.dialects.report import jsonable
from innkeeper.dialects.sillytavern.conversion import ChatConversion

__all__ = ["SAMPLING", "ProviderRequest"]

SAMPLING: Final[Mapping[str, Any]] = {
    "temperature": 1,
    "top_p": 1,
    "top_k": 0,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "max_tokens": 300,
}
"""The settings that every request has, with SillyTavern's defaults."""


class ProviderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with `SAMPLING` among its ``options``; ``tools`` are definitions in OpenAI's shape.

    ``source`` is SillyTavern's name for the provider.
    """

    conversion: ChatConversion
    source: str
    model: str
    options: Mapping[str, Any]
    tools: tuple[dict[str, Any], ...] = ()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, after the preset's mode of post-processing."""
        return self.conversion.messages

    @property
    def max_tokens(self) -> int:
        """The longest reply, in tokens."""
        return int(self.options["max_tokens"])

    @property
    def effort(self) -> str:
        """How much is to be thought; ``auto`` by default."""
        return str(self.options.get("reasoning_effort") or "auto")

    @property
    def shows_thoughts(self) -> bool:
        """Whether thoughts are asked for."""
        return self.options.get("show_thoughts") is not False

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
        return stop_list(self.options.get("stop"))

    @property
    def seed(self) -> int | None:
        """The seed; ``None`` for none, which SillyTavern writes as a negative number."""
        seed = self.options.get("seed")
        return seed if isinstance(seed, int) and seed >= 0 else None

    def sampling(self, *names: str) -> dict[str, Any]:
        """The options of these names that are set."""
        return {name: jsonable(self.options[name]) for name in names if self.options.get(name) is not None}
