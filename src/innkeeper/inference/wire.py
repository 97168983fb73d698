"""What both clients do on the wire: requests as bytes, limits on what comes back, transport errors as ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final

from innkeeper.inference.endpoint import Endpoint
from innkeeper.inference.errors import DecodeError, ProviderConnectionError, ProviderTimeoutError, StreamCutError
from innkeeper.inference.limits import MAX_RESPONSE_BYTES
from innkeeper.inference.response import sample
from innkeeper.prompt import LimitError, ProviderError, UsageError
from innkeeper.prompt.text import scalar_text

__all__ = [
    "CHAT",
    "Meter",
    "broken",
    "chat_request",
    "encoded",
    "times",
    "transport_errors",
    "unstreamed",
    "wire_request",
]

CHAT: Final = "/chat/completions"


def chat_request(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any], *, include_usage: bool
) -> dict[str, Any]:
    """A streamed chat completion request."""
    request = {"model": model, "messages": messages, **options, "stream": True}
    if include_usage:
        request["stream_options"] = {**(options.get("stream_options") or {}), "include_usage": True}
    return request


def unstreamed(request: Mapping[str, Any]) -> dict[str, Any]:
    """The same request for a whole answer."""
    return {name: value for name, value in request.items() if name not in {"stream", "stream_options"}}


def encoded(request: Any) -> bytes:
    """A request as JSON, keys in the order it has them. Raises `UsageError` for what JSON cannot say."""
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the request is not JSON data: {error}"
        raise UsageError(msg) from error
    return scalar_text(text).encode()


def wire_request(endpoint: Endpoint, request: Any, *, streams: bool) -> dict[str, Any]:
    """The body and headers of a call, as the transport takes them."""
    accept = "text/event-stream, application/json" if streams else "application/json"
    kind = {} if request is None else {"content-type": "application/json"}
    return {
        "content": None if request is None else encoded(request),
        "headers": {"accept": accept, **kind, **endpoint.wire_headers()},
    }


def times(endpoint: Endpoint) -> Any:
    """The endpoint's times as the transport takes them."""
    import httpx

    return httpx.Timeout(endpoint.timeout, connect=endpoint.open_timeout)


class Meter:
    """Counts one answer's bytes and watches its time: `take` passes pieces through until a limit is met."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._deadline = monotonic() + endpoint.total_timeout
        self._size = 0

    def take(self, piece: bytes) -> bytes:
        """``piece``. Raises `LimitError` past `MAX_RESPONSE_BYTES`, `ProviderTimeoutError` past the total time."""
        self._size += len(piece)
        if self._size > MAX_RESPONSE_BYTES:
            what = "the provider's answer"
            raise LimitError(what, limit="MAX_RESPONSE_BYTES", allowed=MAX_RESPONSE_BYTES, found=self._size)
        if monotonic() > self._deadline:
            msg = f"the answer from {self._endpoint.base_url} took longer than {self._endpoint.total_timeout:g} s"
            raise ProviderTimeoutError(msg, phase="total")
        return piece


def transport_errors() -> tuple[type[Exception], ...]:
    """What the transport raises for everything that is not the caller's fault."""
    import httpx

    # A host name that cannot be spelled in DNS surfaces as a UnicodeError of the resolver.
    return httpx.HTTPError, httpx.InvalidURL, UnicodeError


def broken(error: Exception, endpoint: Endpoint, *, partial: str | None = None) -> ProviderError:
    """Our error for one of `transport_errors`; ``partial`` is the text so far when a stream was under way."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return _late(error, endpoint)
    said = sample(str(error), endpoint) or type(error).__name__
    if isinstance(error, httpx.DecodingError):
        return DecodeError(f"the provider's answer is not encoded as it says: {said}")
    if partial is not None:
        return StreamCutError(f"the stream from {endpoint.base_url} broke: {said}", partial=partial)
    if isinstance(error, (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)):
        return ProviderConnectionError(f"the connection to {endpoint.base_url} broke: {said}")
    hint = "check base_url and that the server runs"
    return ProviderConnectionError(f"no connection to {endpoint.base_url}: {said}", hint=hint)


def _late(error: Exception, endpoint: Endpoint) -> ProviderTimeoutError:
    import httpx

    phases: dict[type, str] = {httpx.ConnectTimeout: "open", httpx.PoolTimeout: "open", httpx.WriteTimeout: "write"}
    phase = phases.get(type(error), "read")
    allowed = endpoint.open_timeout if isinstance(error, httpx.ConnectTimeout) else endpoint.timeout
    return ProviderTimeoutError(f"no answer from {endpoint.base_url} within {allowed:g} s ({phase})", phase=phase)
