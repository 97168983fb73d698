"""LocalTransport: an `httpx` transport that ends at the engine of a model on this machine.

With it a local model has the very face, the decoder and the errors of any other provider.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

import httpx

from innkeeper.inference.client.chunks import ChatFold
from innkeeper.inference.client.watch import Watch

__all__ = ["Engine", "LocalTransport"]

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
        path = request.url.path
        if path.endswith("/chat/completions"):
            return self._chat(json.loads(request.read()))
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
        if isinstance(first, Exception) or first is _END:
            return _failure(400, str(first) if isinstance(first, Exception) else "the engine gave no answer")
        if first.get("error"):
            run.close()
            return _failure(int(first["error"].get("code") or 500), str(first["error"].get("message", "")))
        if not request.get("stream"):
            return _answer(200, _whole(run, first))
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Stream(run, first))


def _engine_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request as the engine gets it: always as a stream, so that it can be stopped while it reads the prompt, too.

    What the engine remembers of the prompt before is used only by requests without a seed: it may shift the last digits
    of the arithmetic, and a request with a seed wants the same answer again.
    """
    usage = {"stream_options": {"include_usage": True}} if not request.get("stream") else {}
    asked = {"cache_prompt": "seed" not in request, **request, **usage}
    return {**asked, "stream": True, "return_progress": True}


class _Run:
    """One generation in a thread of its own; whoever waits for its chunks can be interrupted."""

    def __init__(self, engine: Engine, request: dict[str, Any], turn: threading.Lock) -> None:
        self._chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(engine, request, turn), daemon=True)
        self._thread.start()

    def _work(self, engine: Engine, request: dict[str, Any], turn: threading.Lock) -> None:
        try:
            with turn:
                if not self._stopped.is_set():
                    engine.handle_chat_completions(request, self._take)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises belongs to the one who asked
            self._chunks.put(error)
        finally:
            self._chunks.put(_END)

    def _take(self, chunk: dict[str, Any]) -> bool:
        self._chunks.put(chunk)
        return self._stopped.is_set()

    def wait(self) -> Any:
        """The next chunk, the engine's exception, or the mark of the end."""
        watch = Watch.current()
        try:
            while watch is not None:
                try:
                    return self._chunks.get(timeout=watch.until_check(_LOOK_SECONDS))
                except queue.Empty:
                    watch.check()
            return self._chunks.get()
        except BaseException:
            self._stopped.set()
            raise

    def rest(self) -> Iterator[Any]:
        """All further chunks."""
        while (chunk := self.wait()) is not _END:
            yield {"error": {"message": str(chunk)}} if isinstance(chunk, Exception) else chunk

    def close(self) -> None:
        """Stop the engine and wait until it has."""
        self._stopped.set()
        self._thread.join()


class _Stream(httpx.SyncByteStream):
    """The chunks as server-sent events. Without ``[DONE]``: the reason in the last chunk is the end, else it was cut."""

    def __init__(self, run: _Run, first: Mapping[str, Any]) -> None:
        self._run = run
        self._first = first

    def __iter__(self) -> Iterator[bytes]:
        yield _event(self._first)
        for chunk in self._run.rest():
            yield _event(chunk)

    def close(self) -> None:
        """Stop the engine."""
        self._run.close()


def _event(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


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
