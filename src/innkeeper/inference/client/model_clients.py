"""ModelClient and AsyncModelClient: a model behind an adapter, for blocking callers and for event loops."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.adapters.adapter import Adapter
from innkeeper.inference.adapters.retries import NO_RETRIES, Retries
from innkeeper.inference.client.clients import AsyncClient, Client
from innkeeper.inference.client.portal import blocking_transport
from innkeeper.prompt import UsageError

_OPTIONS: Final = frozenset(
    {"timeout", "open_timeout", "total_timeout", "transport", "api_prefix", "egress", "name", "quick"}
)


def client_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a model client that are to be used later. Raises `UsageError` for one that there is not."""
    for option in options.keys() - _OPTIONS:
        near = difflib.get_close_matches(option, _OPTIONS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"settings: {', '.join(sorted(_OPTIONS))}"
        raise UsageError(f"unknown setting {option!r}", hint=hint)
    return dict(options)


class AsyncModelClient(AsyncClient):
    """See `ModelClient`. One instance belongs to one event loop. A key is never taken from the environment."""

    def __init__(
        self,
        adapter: Adapter,
        base_url: str | None = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        retries: Retries = NO_RETRIES,
        **options: Any,
    ) -> None:
        self.adapter, self.retries = adapter, retries
        settings = {"api_prefix": adapter.prefix, "api_key": "", **client_options(options)}
        super().__init__(base_url or adapter.base_url, headers={**adapter.headers(key), **(headers or {})}, **settings)


class ModelClient(Client):
    """A model behind an adapter, for blocking callers. Close it, or use it as a context manager.

    Args:
        adapter: the wire protocol.
        base_url: the provider's address; the adapter's own provider where left out.
        key: the provider's key; it appears in no error and no representation.
        headers: further headers.
        retries: how often a request is sent again where that is safe; never, where left out.
        options: ``timeout``, ``open_timeout``, ``total_timeout`` (seconds), ``transport``, and ``api_prefix`` where a provider
            has another path than the protocol's own.
    """

    def __init__(
        self,
        adapter: Adapter,
        base_url: str | None = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        retries: Retries = NO_RETRIES,
        **options: Any,
    ) -> None:
        transport = blocking_transport(options.pop("transport", None))
        self._wrap(
            AsyncModelClient(
                adapter, base_url, key=key, headers=headers, retries=retries, transport=transport, **options
            )
        )
