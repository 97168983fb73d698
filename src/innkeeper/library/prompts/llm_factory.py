"""LLMFactory: the model that a tool names: its provider's adapter and dialect, its address, its key.

What is checked, and in this order: that there is a configuration, that it names a model, that its provider is known. A new
provider is one line of `innkeeper.inference.adapters.providers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.inference.adapters.adapter import Adapter, Adapters
from innkeeper.inference.adapters.local import local_async_client
from innkeeper.inference.adapters.openai_chat import Local
from innkeeper.inference.adapters.providers import PROVIDERS, Provider
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.model_clients import AsyncModelClient, client_options
from innkeeper.inference.local.shared import LOCAL, LocalModels
from innkeeper.library.prompts.tool_config import ToolConfig
from innkeeper.prompt.errors import ConfigError, UnknownNameError
from innkeeper.prompt.machine import Secret

if TYPE_CHECKING:
    from innkeeper.inference.client.egress import Egress
    from innkeeper.inference.local.model import LocalModel


class LLM(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be asked: who speaks to it, where it is, and with which key, which it does not show.

    ``local`` is the model itself where it runs in a process beside this one.
    """

    adapter: Adapter
    dialect: str
    model: str
    base_url: str | None = None
    key: Secret = Secret("")
    local: LocalModel | None = None
    options: Mapping[str, Any] = {}

    def open(self) -> AsyncModelClient:
        """A client of it, for an event loop. Raises `ConfigError` for an address that is none."""
        if self.local is not None:
            return local_async_client(self.local)
        return AsyncModelClient(self.adapter, self.base_url, key=self.key.reveal(), **self.options)


class LLMFactory:
    """Makes models of tools' configurations.

    Args:
        providers: the providers by name.
        adapters: the adapters by name.
        egress: where requests may go whose address a configuration names itself; anywhere where left out.
        local: the models that run beside this process; whoever made them closes them.
        named: whether errors name the tool in place of its address, which is for operators to know.
        options: what every client is opened with: times, a transport.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider] = PROVIDERS,
        adapters: Adapters = ADAPTERS,
        *,
        egress: Egress | None = None,
        local: LocalModels | None = None,
        named: bool = False,
        **options: Any,
    ) -> None:
        self._providers, self._adapters, self._egress, self._named = providers, adapters, egress, named
        self._options = client_options(options)
        self._own = LocalModels()
        self._local_models = local or self._own

    def new_llm(self, config: ToolConfig | None, secret: Secret | None = None, *, model: str = "") -> LLM:
        """The model of a tool, or the other one of its provider that a request names.

        Raises:
            ConfigError: there is no configuration, or it names no model or no provider.
            UnknownNameError: nobody knows the provider.
            UnavailableError: the model in a process of its own cannot be loaded.
        """
        if config is None:
            raise ConfigError("there is no tool to run: its configuration is missing")
        name, model_name = config.provider.strip().lower(), model or config.model
        if not model_name:
            hint = f"`innkeeper admin tool set {config.name} --model NAME`"
            raise ConfigError(f"the tool {config.name!r} names no model for its provider {name!r}", hint=hint)
        if not name:
            hint = f"`innkeeper admin tool set {config.name} --setting provider='\"openai\"'`"
            raise ConfigError(f"the tool {config.name!r} names no provider", hint=hint)
        if name == LOCAL:
            return self._local(model_name)
        if name not in self._providers:
            raise UnknownNameError("provider", config.provider, [*self._providers, LOCAL])
        shown = {"name": config.name} if self._named else {}
        guarded = (
            {}
            if self._egress is None or not config.base_url
            else {"egress": replace(self._egress, name=shown.get("name", ""))}
        )
        if guarded:
            guarded["egress"].check(str(config.base_url))
        provider = self._providers[name]
        return LLM(
            adapter=self._adapters[provider.adapter],
            dialect=provider.dialect,
            model=model_name,
            base_url=config.base_url or provider.base_url,
            key=secret or Secret(""),
            options={**self._options, **shown, **guarded},
        )

    def close(self) -> None:
        """Let go of the models that it loaded itself."""
        self._own.close()

    def _local(self, name: str) -> LLM:
        adapter, model = Local(), self._local_models.open(name)
        return LLM(adapter=adapter, dialect=adapter.dialect, model=model.name, local=model)
