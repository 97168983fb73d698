"""What the calls of a client do, without I/O: generators that say what they want next, and are given what came.

An exchange yields a `Send` (and is given the `Head` of the answer), `READ` (and is given bytes, none at the end), `REST`, or
anything else, which is for the caller: the pieces of a streamed text, or the one result of a call. A `Talk` is an exchange under
way. `BaseClient` has the endpoint and its exchanges; the two clients only do what their talk wants, each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final, NamedTuple

from innkeeper.inference.client.chat import ChatDecoder, Progress, refuses_streaming
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.watch import Watch
from innkeeper.inference.client.wire import (
    CHAT,
    Response,
    broken,
    chat_request,
    decoded,
    encoded,
    public_headers,
    raise_for_status,
    transport_errors,
    unstreamed,
)
from innkeeper.inference.errors import HttpError
from innkeeper.prompt import ProviderError, UsageError


class Send(NamedTuple):
    """A request as the transport takes it."""

    method: str
    url: str
    content: bytes | None
    headers: dict[str, str]

    @classmethod
    def of(cls, endpoint: Endpoint, method: str, url: str, request: Any = None, *, streams: bool = False) -> Send:
        """The request with its body as JSON. Raises `UsageError` for what JSON cannot say."""
        content = None if request is None else encoded(request)
        return cls(method, url, content, _headers(endpoint, content, streams=streams))

    @classmethod
    def raw(cls, endpoint: Endpoint, url: str, content: bytes, *, streams: bool = False) -> Send:
        """A body that is sent as it is."""
        return cls("POST", url, content, _headers(endpoint, content, streams=streams))


def _headers(endpoint: Endpoint, content: bytes | None, *, streams: bool) -> dict[str, str]:
    accept = "text/event-stream, application/json" if streams else "application/json"
    kind = {} if content is None else {"content-type": "application/json"}
    return {"accept": accept, **kind, **endpoint.wire_headers()}


class Head(NamedTuple):
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]


class _Read(Enum):
    READ = "read"
    REST = "rest"


READ: Final = _Read.READ
"""The wish for the next bytes of the answer."""

REST: Final = _Read.REST
"""The wish that an answer which has said all be read to its end, for `REST_SECONDS` at most: only then its connection can be used
again. Nothing is given for it, and nothing that goes wrong matters."""


def is_wish(step: Any) -> bool:
    """Whether a step of an exchange is a wish for I/O; anything else is for the caller."""
    return isinstance(step, (_Read, Send))


Exchange = Generator[Any, Any, None]


def ask(endpoint: Endpoint, method: str, url: str, request: Any = None) -> Exchange:
    """A call whose answer is JSON: its `Response`."""
    yield (yield from _answer(endpoint, method, url, request))


def _answer(endpoint: Endpoint, method: str, url: str, request: Any = None) -> Generator[Any, Any, Response]:
    head: Head = yield Send.of(endpoint, method, url, request)
    return decoded(head.status, head.headers, (yield from rest()), endpoint)


def rest() -> Generator[Any, bytes, bytes]:
    """All bytes that are still to come."""
    pieces = []
    while piece := (yield READ):
        pieces.append(piece)
    return b"".join(pieces)


def healthy(endpoint: Endpoint) -> Exchange:
    """Whether the server answers: its health page, or its list of models where there is no such page."""
    try:
        head: Head = yield Send.of(endpoint, "GET", endpoint.base_url + "/health")
        raise_for_status(head.status, {}, (yield from rest()), endpoint)
        well = True
    except HttpError as error:
        well = error.status in {401, 403}
        if error.status in {404, 405}:
            well = yield from _lists_models(endpoint)
    except ProviderError:
        well = False
    yield well


def _lists_models(endpoint: Endpoint) -> Generator[Any, Any, bool]:
    try:
        yield from _answer(endpoint, "GET", endpoint.url("/models"))
    except ProviderError:
        return False
    return True


def chat_pieces(endpoint: Endpoint, url: str, request: dict[str, Any], progress: Progress) -> Exchange:
    """A streamed chat: the pieces of its text, ``progress`` on the way; whole where the server turns streaming down."""
    decoder = partial(ChatDecoder, endpoint)
    try:
        yield from streamed(Send.of(endpoint, "POST", url, request, streams=True), endpoint, decoder, progress)
    except HttpError as error:
        if not refuses_streaming(error):
            raise
        again = Send.of(endpoint, "POST", url, unstreamed(request), streams=True)
        yield from streamed(again, endpoint, decoder, progress)


def streamed(
    send: Send, endpoint: Endpoint, decoder_of: Callable[[int, Mapping[str, str]], Any], progress: Progress
) -> Exchange:
    """What the decoder of an answer (made of its status and headers) gives, piece by piece; it is ``progress``'s, too."""
    head: Head = yield send
    public = public_headers(head.headers, endpoint)
    raise_for_status(head.status, public, b"" if head.status in range(200, 300) else (yield from rest()), endpoint)
    decoder = progress.decoder = decoder_of(head.status, public)
    while not decoder.done and (piece := (yield READ)):
        yield from decoder.feed(piece)
    yield from decoder.close()
    if decoder.done:
        yield REST


class Talk:
    """An exchange under way, and its `Watch`: iterate over what it wants, and `give` or `fail` each wish for I/O."""

    def __init__(self, exchange: Exchange, endpoint: Endpoint, progress: Progress | None = None) -> None:
        self.watch = Watch(endpoint, lambda: None if progress is None else progress.arrived)
        self.errors: tuple[type[Exception], ...] = (*transport_errors(), ProviderError)
        self._exchange = exchange
        self._endpoint = endpoint
        self._progress = progress
        self._came: Head | bytes | None = None
        self._error: ProviderError | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next wish, or something for the caller. Raises what the exchange and its watch raise."""
        self.watch.check()
        came, error, self._came, self._error = self._came, self._error, None, None
        return self._exchange.send(came) if error is None else self._exchange.throw(error)

    def give(self, came: Head | bytes | None) -> None:
        """Answer the last wish."""
        self._came = came

    def fail(self, error: Exception) -> None:
        """Let the last wish fail with ``error``, one of ``errors``, as our own."""
        partial_text = None if self._progress is None else self._progress.arrived
        failure = error if isinstance(error, ProviderError) else broken(error, self._endpoint, partial=partial_text)
        if failure is not error:
            failure.__cause__ = error
        self._error = failure

    def close(self) -> None:
        """Stop here."""
        self._exchange.close()


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
        unknown = settings.keys() - {"api_prefix", "api_key", "timeout", "open_timeout", "total_timeout", "name"}
        if unknown:
            msg = f"unknown setting {min(unknown)!r}"
            raise UsageError(msg, hint="settings: api_prefix, api_key, timeout, open_timeout, total_timeout, name")
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
