"""BaseClient: what the two clients have in common: where the provider is, and the exchanges that their calls are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from innkeeper.inference.client.chat import Progress
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.exchange import Exchange, ask, chat_pieces, healthy
from innkeeper.inference.client.wire import CHAT, chat_request
from innkeeper.prompt import UsageError

__all__ = ["BaseClient"]


class BaseClient:
    """A provider's endpoint and the exchanges with it; the two clients do the I/O."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        **settings: Any,
    ) -> None:
        unknown = settings.keys() - {"api_prefix", "api_key", "timeout", "open_timeout", "total_timeout"}
        if unknown:
            msg = f"unknown setting {min(unknown)!r}"
            raise UsageError(msg, hint="settings: api_prefix, api_key, timeout, open_timeout, total_timeout")
        self.endpoint = Endpoint.of({"base_url": base_url, **settings}, headers)
        self._transport = transport

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.base_url + self.endpoint.api_prefix!r})"

    def _completion(self, request: Mapping[str, Any]) -> Exchange:
        if request.get("stream"):
            msg = "chat_completions returns whole answers"
            raise UsageError(msg, hint="use chat(stream=True) or chat_stream()")
        return ask(self.endpoint, "POST", self.endpoint.url(CHAT), request)

    def _streamed(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
        *,
        include_usage: bool,
    ) -> Callable[[Progress], Exchange]:
        request = chat_request(model, messages, options, include_usage=include_usage)
        return partial(chat_pieces, self.endpoint, self.endpoint.url(CHAT), request)

    def _listing(self) -> Exchange:
        return ask(self.endpoint, "GET", self.endpoint.url("/models"))

    def _embedding(self, request: Mapping[str, Any]) -> Exchange:
        return ask(self.endpoint, "POST", self.endpoint.url("/embeddings"), request)

    def _health(self) -> Exchange:
        return healthy(self.endpoint)

    @staticmethod
    def _check_delta(on_delta: Any, *, stream: bool) -> None:
        if on_delta is not None and not stream:
            msg = "on_delta is for streams"
            raise UsageError(msg, hint="pass stream=True")
