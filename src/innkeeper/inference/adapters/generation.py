"""Generation: one call of a model, without I/O: what is sent, and the events of what comes back.

`ModelRequest` is what goes over the wire, as bytes and their hash, so that whoever asked can check that nothing was added. The
two model clients send it once, or as often as their `Retries` allow.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, Self

import msgspec

from innkeeper.inference.adapters.adapter import Adapter
from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.adapters.retries import NO_RETRIES, Retries, retried, retried_async
from innkeeper.inference.client.chat import Progress, refuses_streaming
from innkeeper.inference.client.clients import AsyncClient, Client
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.exchange import Exchange, Send, streamed
from innkeeper.inference.client.wire import encoded, unstreamed
from innkeeper.inference.errors import HttpError
from innkeeper.inference.response.events import ModelEvent
from innkeeper.prompt import Message, UsageError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.dialect import Dialect, Tool
from innkeeper.prompt.note import Note


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the model's name, the bytes of its body, and whether they ask for a stream.

    ``raw``: the bytes are the caller's own, and nothing else is ever sent in their place. ``notes`` name what a translation lost.
    """

    model: str
    content: bytes
    stream: bool = False
    raw: bool = False
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, adapter: Adapter, body: Mapping[str, Any], *, model: str = "", stream: bool = False) -> Self:
        """A body that a dialect made, and what asks for a stream. Raises `UsageError` for what JSON cannot say.

        ``model`` is for protocols that name it in the address; the body's own where left out.
        """
        sent = adapter.body(body, stream=stream)
        return cls(model=model or str(body.get("model") or ""), content=encoded(sent), stream=stream)

    @classmethod
    def canonical(
        cls,
        adapter: Adapter,
        messages: Sequence[Message],
        *,
        model: str,
        dialect: Dialect | None = None,
        options: Mapping[str, Any] = EMPTY,
        tools: Iterable[Tool] = (),
        stream: bool = False,
    ) -> Self:
        """Messages, options and tools by the rules of a dialect, the adapter's own where left out.

        `body` is what came of it, ``notes`` what was lost or repaired. Raises `ConfigError`, `LimitError`.
        """
        from innkeeper.dialects import DIALECTS

        writer = dialect or DIALECTS[adapter.dialect]
        told = {name: value for name, value in options.items() if name != "stream"}
        made = writer.request(messages, model=model, options=told, tools=tuple(tools))
        request = cls.of(adapter, made.body, model=model, stream=stream)
        return msgspec.structs.replace(request, notes=made.notes)

    @classmethod
    def own(cls, content: bytes, *, model: str = "", stream: bool | None = None) -> Self:
        """A caller's own bytes, which are sent as they are, JSON or not.

        ``model`` and ``stream`` are read from them where they are left out; ``stream`` says how the answer is waited for, and
        where it goes in protocols that have another address for streams.
        """
        said: Any = EMPTY
        if not model or stream is None:
            try:
                said = msgspec.json.decode(content)
            except (msgspec.DecodeError, RecursionError):
                said = EMPTY
        said = said if isinstance(said, Mapping) else EMPTY
        name = model or said.get("model")
        streams = bool(said.get("stream")) if stream is None else stream
        return cls(model=name if isinstance(name, str) else "", content=content, stream=streams, raw=True)

    @property
    def sha256(self) -> str:
        """The hash of the bytes that are sent."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def body(self) -> Any:
        """The bytes as data: what a translation made. Raises `UsageError` where they are not JSON."""
        try:
            return msgspec.json.decode(self.content)
        except msgspec.DecodeError as error:
            raise UsageError(f"the body is not JSON: {error}") from error


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


def generated(adapter: Adapter, endpoint: Endpoint, request: ModelRequest, progress: Progress) -> Exchange:
    """The events of one answer, ``progress`` on the way; whole where the server turns streaming down.

    That second request is for translated bodies alone: a caller's own bytes are sent once, or not at all.
    """
    try:
        yield from _answered(adapter, endpoint, request, progress)
    except HttpError as error:
        if request.raw or not (request.stream and refuses_streaming(error)):
            raise
        body = adapter.body(unstreamed(request.body), stream=False)
        again = ModelRequest(model=request.model, content=encoded(body))
        yield from _answered(adapter, endpoint, again, progress)


def _answered(adapter: Adapter, endpoint: Endpoint, request: ModelRequest, progress: Progress) -> Exchange:
    url = endpoint.url(adapter.path(request.model, stream=request.stream))
    send = Send.raw(endpoint, url, request.content, streams=request.stream)
    return streamed(send, endpoint, partial(AnswerDecoder, adapter.reading(), endpoint), progress)


def client_settings(
    adapter: Adapter, base_url: str | None, key: str, headers: Mapping[str, str] | None
) -> dict[str, Any]:
    """An endpoint's settings. A key goes only where it is given for: none is taken from the environment."""
    named = {**adapter.headers(key), **(headers or {})}
    place = {"base_url": base_url or adapter.base_url, "api_prefix": adapter.prefix}
    return {**place, "api_key": "", "headers": named}


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
        self.adapter, self.retries = adapter, retries
        super().__init__(**{**client_settings(adapter, base_url, key, headers), **client_options(options)})

    def events(self, request: ModelRequest) -> Generator[ModelEvent]:
        """Send a request and give the events of its answer. Raises `ProviderError` and its kin.

        Leaving it early (its ``close``) closes the connection, which stops the provider; so does the event or function of a
        `cancelled_by` block.
        """

        def once() -> Iterator[ModelEvent]:
            progress = Progress()
            return self.talk(generated(self.adapter, self.endpoint, request, progress), progress)

        with closing(retried(once, self.retries)) as arriving:
            yield from arriving


class AsyncModelClient(AsyncClient):
    """See `ModelClient`. One instance belongs to one event loop."""

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
        super().__init__(**{**client_settings(adapter, base_url, key, headers), **client_options(options)})

    def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send a request and give the events of its answer. Cancelling the task closes the connection."""

        def once() -> AsyncGenerator[ModelEvent]:
            progress = Progress()
            return self.talk(generated(self.adapter, self.endpoint, request, progress), progress)

        return retried_async(once, self.retries)
