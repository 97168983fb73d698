"""Client: an OpenAI-compatible provider over HTTP. It sends what it is given, untouched, once: it never retries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from innkeeper.inference.client.chat import ChatDecoder, ChatReply, ChatStream, refuses_streaming
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.wire import (
    CHAT,
    Meter,
    Response,
    broken,
    chat_request,
    decoded,
    public_headers,
    raise_for_status,
    times,
    transport_errors,
    unstreamed,
    wire_request,
)
from innkeeper.inference.errors import HttpError
from innkeeper.prompt import ProviderError, UsageError

if TYPE_CHECKING:
    import httpx

__all__ = ["Client"]


class Client:
    """A client of one provider. Safe to share between threads; close it, or use it as a context manager.

    Settings that are not given come from ``INNKEEPER_BASE_URL``, ``INNKEEPER_API_PREFIX``, ``INNKEEPER_API_KEY``,
    ``INNKEEPER_TIMEOUT``, ``INNKEEPER_OPEN_TIMEOUT`` and ``INNKEEPER_TOTAL_TIMEOUT`` (seconds). A ``base_url`` that already ends
    with ``api_prefix`` is taken as meant. ``transport`` is an ``httpx`` transport, for tests and special networks.

    Every method raises `ProviderError` and its kin (`innkeeper.inference.errors`); the key appears in none of them.
    """

    def __init__(  # noqa: PLR0913 - one argument a setting, all by name
        self,
        base_url: str | None = None,
        *,
        api_prefix: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        open_timeout: float | None = None,
        total_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
    ) -> None:
        given = {
            "base_url": base_url,
            "api_prefix": api_prefix,
            "api_key": api_key,
            "timeout": timeout,
            "open_timeout": open_timeout,
            "total_timeout": total_timeout,
        }
        self.endpoint = Endpoint.of(given, headers)
        self._transport = transport
        self._opened: httpx.Client | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Client({self.endpoint.base_url + self.endpoint.api_prefix!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A closed client opens new ones when it is used again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def chat_completions(self, **request: Any) -> Response:
        """Send one chat completion request as it is and return the whole answer. For streams see `chat_stream`."""
        if request.get("stream"):
            msg = "chat_completions returns whole answers"
            raise UsageError(msg, hint="use chat(stream=True) or chat_stream()")
        return self._ask("POST", self.endpoint.url(CHAT), request)

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = False,
        include_usage: bool = False,
        on_delta: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> ChatReply:
        """Send messages; get ``(content, usage, finish_reason, response)``. ``on_delta`` gets each piece of a stream."""
        if not stream:
            if on_delta is not None:
                msg = "on_delta is for streams"
                raise UsageError(msg, hint="pass stream=True")
            return ChatReply.of(self.chat_completions(model=model, messages=messages, **options))
        with self.chat_stream(model, messages, include_usage=include_usage, **options) as pieces:
            for delta in pieces:
                if on_delta is not None:
                    on_delta(delta)
            return pieces.reply

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> ChatStream:
        """Send messages; iterate over the pieces of the answer. The request goes out with the first piece asked for.

        A server that answers with a whole JSON body, or that turns streaming down, gives one piece.
        """
        request = chat_request(model, messages, options, include_usage=include_usage)
        return ChatStream(lambda stream: self._pieces(request, stream))

    def models(self) -> Response:
        """The provider's list of models."""
        return self._ask("GET", self.endpoint.url("/models"))

    def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        return self._ask("POST", self.endpoint.url("/embeddings"), request)

    def health(self) -> bool:
        """Whether the server answers at all: ``/health`` at its root, and the list of models where there is no such page."""
        try:
            self._ask("GET", self.endpoint.base_url + "/health", parse=False)
        except HttpError as error:
            return error.status in {401, 403} or (error.status in {404, 405} and self._lists_models())
        except ProviderError:
            return False
        return True

    def _lists_models(self) -> bool:
        try:
            self.models()
        except ProviderError:
            return False
        return True

    @property
    def _http(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._opened is None:
                self._opened = httpx.Client(transport=self._transport, timeout=times(self.endpoint))
            return self._opened

    def _ask(self, method: str, url: str, request: Any = None, *, parse: bool = True) -> Response:
        with self._open(method, url, request) as (answer, pieces):
            raw = b"".join(pieces)
            if parse:
                return decoded(answer.status_code, answer.headers, raw, self.endpoint)
            shown = public_headers(answer.headers, self.endpoint)
            raise_for_status(answer.status_code, shown, raw, self.endpoint)
            return Response(answer.status_code, shown, None)

    def _pieces(self, request: dict[str, Any], stream: ChatStream) -> Iterator[str]:
        try:
            yield from self._streamed(request, stream)
        except HttpError as error:
            if not refuses_streaming(error):
                raise
            yield from self._streamed(unstreamed(request), stream)

    def _streamed(self, request: dict[str, Any], stream: ChatStream) -> Iterator[str]:
        with self._open("POST", self.endpoint.url(CHAT), request, stream) as (answer, pieces):
            shown = public_headers(answer.headers, self.endpoint)
            if not answer.is_success:
                raise_for_status(answer.status_code, shown, b"".join(pieces), self.endpoint)
            decoder = stream.decoder = ChatDecoder(self.endpoint, answer.status_code, shown)
            for piece in pieces:
                yield from decoder.feed(piece)
                if decoder.done:
                    break
            yield from decoder.close()

    @contextmanager
    def _open(
        self, method: str, url: str, request: Any = None, stream: ChatStream | None = None
    ) -> Iterator[tuple[httpx.Response, Iterator[bytes]]]:
        meter = Meter(self.endpoint)
        sent = wire_request(self.endpoint, request, streams=stream is not None)
        try:
            with self._http.stream(method, url, **sent) as answer:
                yield answer, map(meter.take, answer.iter_bytes())
        except transport_errors() as error:
            raise broken(error, self.endpoint, partial=None if stream is None else stream.arrived) from error
