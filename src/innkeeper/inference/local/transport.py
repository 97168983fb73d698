"""LocalTransport: an `httpx` transport that ends at the engine of a model on this machine.

With it a local model has the very face, the decoder and the errors of any other provider. `AsyncLocalTransport` is the same for
event loops; both wait for the same turn.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from innkeeper.inference.client.chunks import ChatFold
from innkeeper.inference.client.watch import Watch
from innkeeper.inference.response.views.view import ServerEvent

if TYPE_CHECKING:
    import asyncio


_END: Final = object()
_LOOK_SECONDS: Final = 60.0
"""How long the engine is waited for before the call's time is looked at again."""


class Engine(Protocol):
    """What is used of an engine."""

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> Any:
        """Answer ``request``; call ``on_chunk`` with each piece, in this thread, until it returns true."""
        ...

    def post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """What another address of it answers, as data. Raises `UnavailableError`."""
        ...

    def close(self) -> None:
        """End it, whatever it does."""
        ...


class LocalTransport(httpx.BaseTransport):
    """Answers ``/chat/completions``, ``/models`` and ``/health`` from ``engine``, one chat at a time.

    ``name`` is the model's name in answers. Closing a response stops the engine within a batch of the prompt or a token.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine: Engine | None = engine
        self._name = name
        self._turn = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; what goes wrong is an HTTP status with a JSON body, as from a server."""
        if request.url.path.endswith("/chat/completions"):
            return self._chat(json.loads(request.read()))
        return self.page(request.url.path)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """`handle_request` for event loops."""
        if not request.url.path.endswith("/chat/completions"):
            return self.page(request.url.path)
        asked = json.loads(await request.aread())
        if self._engine is None:
            return _failure(503, "the local model is closed")
        run = _AsyncRun(self._engine, _engine_request(asked), self._turn)
        first = await run.wait()
        refused = _refusal(first)
        if refused is not None:
            run.stop()
            return refused
        if asked.get("stream"):
            return httpx.Response(200, headers=_EVENTS, stream=_AsyncStream(run, first))
        return _answer(200, await _gathered(run, first))

    def page(self, path: str) -> httpx.Response:
        """What is answered at every other address."""
        if path.endswith("/models"):
            return _answer(200, {"object": "list", "data": [{"id": self._name, "object": "model"}]})
        if path.endswith("/health"):
            return _answer(200, {"status": "ok"})
        return _failure(404, f"a local model does not answer {path}")

    def close(self) -> None:
        """Wait for the answer under way to stop, then let the engine go."""
        with self._turn:
            self._engine = None

    def _chat(self, request: dict[str, Any]) -> httpx.Response:
        if self._engine is None:
            return _failure(503, "the local model is closed")
        run = _Run(self._engine, _engine_request(request), self._turn)
        first = run.wait()
        refused = _refusal(first)
        if refused is not None:
            run.close()
            return refused
        if not request.get("stream"):
            return _answer(200, _whole(run, first))
        return httpx.Response(200, headers=_EVENTS, stream=_Stream(run, first))


class SharedTransport(httpx.BaseTransport):
    """A transport that stays open when one of its clients is closed."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        return self._inner.handle_request(request)


class AsyncLocalTransport(httpx.AsyncBaseTransport):
    """A `LocalTransport` for event loops; closing it leaves that open."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        return await self._inner.handle_async_request(request)


_EVENTS: Final = {"content-type": "text/event-stream"}


def _refusal(first: Any) -> httpx.Response | None:
    """The answer where the engine begins with something else than a piece of one."""
    if isinstance(first, Exception) or first is _END:
        return _failure(400, str(first) if isinstance(first, Exception) else "the engine gave no answer")
    if first.get("error"):
        return _failure(int(first["error"].get("code") or 500), str(first["error"].get("message", "")))
    return None


def _engine_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request as the engine gets it: always as a stream, so that it can be stopped while it reads the prompt, too.

    What the engine remembers of the prompt before is used only by requests without a seed: it may shift the last digits
    of the arithmetic, and a request with a seed wants the same answer again.
    """
    usage = {"stream_options": {"include_usage": True}} if not request.get("stream") else {}
    asked = {"cache_prompt": "seed" not in request, **request, **usage}
    return {**asked, "stream": True, "return_progress": True}


class _Generation:
    """One generation in a thread of its own; ``put`` gets its chunks there."""

    def __init__(
        self, engine: Engine, request: dict[str, Any], turn: threading.Lock, put: Callable[[Any], None]
    ) -> None:
        self._put = put
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(engine, request, turn), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the engine stop with its next piece."""
        self._stopped.set()

    def _work(self, engine: Engine, request: dict[str, Any], turn: threading.Lock) -> None:
        try:
            with turn:
                if not self._stopped.is_set():
                    engine.handle_chat_completions(request, self._take)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises belongs to the one who asked
            self._put(error)
        finally:
            self._put(_END)

    def _take(self, chunk: dict[str, Any]) -> bool:
        self._put(chunk)
        return self._stopped.is_set()


class _Run(_Generation):
    """A generation for one who waits in a thread, and can be interrupted."""

    def __init__(self, engine: Engine, request: dict[str, Any], turn: threading.Lock) -> None:
        self._chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        super().__init__(engine, request, turn, self._chunks.put)

    def wait(self) -> Any:
        """The next chunk, the engine's exception, or the mark of the end."""
        watch = Watch.current()
        try:
            while watch is not None:
                watch.check()  # also where one chunk follows upon the other
                try:
                    return self._chunks.get(timeout=watch.until_check(_LOOK_SECONDS))
                except queue.Empty:
                    continue
            return self._chunks.get()
        except BaseException:
            self._stopped.set()
            raise

    def rest(self) -> Iterator[Any]:
        """All further chunks."""
        while (chunk := self.wait()) is not _END:
            yield _piece(chunk)

    def close(self) -> None:
        """Stop the engine and wait until it has."""
        self._stopped.set()
        self._thread.join()


def _piece(chunk: Any) -> dict[str, Any]:
    return {"error": {"message": str(chunk)}} if isinstance(chunk, Exception) else chunk


class _AsyncRun(_Generation):
    """A generation for one who waits in an event loop."""

    def __init__(self, engine: Engine, request: dict[str, Any], turn: threading.Lock) -> None:
        import asyncio  # here, so that a blocking client does not load it

        self._chunks: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(chunk: Any) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)

        super().__init__(engine, request, turn, put)

    async def wait(self) -> Any:
        """The next chunk, the engine's exception, or the mark of the end."""
        try:
            return await self._chunks.get()
        except BaseException:
            self.stop()
            raise

    async def rest(self) -> AsyncIterator[Any]:
        """All further chunks."""
        while (chunk := await self.wait()) is not _END:
            yield _piece(chunk)


async def _gathered(run: _AsyncRun, first: Mapping[str, Any]) -> dict[str, Any]:
    """The chunks put together as one body."""
    fold = ChatFold()
    fold.take(first)
    try:
        async for chunk in run.rest():
            if chunk.get("error"):
                return {"error": chunk["error"]}
            fold.take(chunk)
    finally:
        run.stop()
    return fold.body()


class _AsyncStream(httpx.AsyncByteStream):
    """See `_Stream`."""

    def __init__(self, run: _AsyncRun, first: Mapping[str, Any]) -> None:
        self._run = run
        self._first = first

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield ServerEvent(self._first).encode()
        async for chunk in self._run.rest():
            yield ServerEvent(chunk).encode()

    async def aclose(self) -> None:
        """Stop the engine."""
        self._run.stop()


class _Stream(httpx.SyncByteStream):
    """The chunks as server-sent events. Without ``[DONE]``: the reason in the last chunk is the end, else it was cut."""

    def __init__(self, run: _Run, first: Mapping[str, Any]) -> None:
        self._run = run
        self._first = first

    def __iter__(self) -> Iterator[bytes]:
        yield ServerEvent(self._first).encode()
        for chunk in self._run.rest():
            yield ServerEvent(chunk).encode()

    def close(self) -> None:
        """Stop the engine."""
        self._run.close()


def _whole(run: _Run, first: Mapping[str, Any]) -> dict[str, Any]:
    """The chunks put together as one body."""
    fold = ChatFold()
    fold.take(first)
    try:
        for chunk in run.rest():
            if chunk.get("error"):
                return {"error": chunk["error"]}
            fold.take(chunk)
    finally:
        run.close()
    return fold.body()


def _answer(status: int, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.Response(status, json=body)


def _failure(status: int, message: str) -> httpx.Response:
    return _answer(status, {"error": {"message": message, "code": status}})
