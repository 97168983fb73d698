"""LocalTransport: an `httpx` transport that ends at the engine of a model on this machine.

With it a local model has the very client, the decoder and the errors of any other provider.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, Protocol

import httpx

from innkeeper.inference.client.chat import ChatFold
from innkeeper.inference.local.turns import CALLER, SECONDS, Turns
from innkeeper.inference.response.views.view import ServerEvent

DEFAULT_MAX_TOKENS: Final = 1_024
"""The most tokens of an answer whose request names no limit: the next in the queue is waiting."""

_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens", "n_predict"})
_END: Final = object()
_EVENTS: Final = {"content-type": "text/event-stream"}


class ChatEngine(Protocol):
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


class LocalTransport(httpx.AsyncBaseTransport):
    """Answers ``/chat/completions``, ``/models`` and ``/health`` from ``engine``, one chat at a time, for any event loops.

    Callers take turns (`Turns`), so that one with many chats does not keep the others waiting. When the seconds of a request are
    over (`SECONDS`), its answer ends as it does at its limit of tokens; one that has no turn by then is an error.

    ``name`` is the model's name in answers. Closing a response stops the engine within a batch of the prompt or a token. Closing
    one of its clients leaves it open: `let_go` is for the model's owner.
    """

    def __init__(self, engine: ChatEngine, name: str) -> None:
        self._engine: ChatEngine | None = engine
        self._name = name
        self._turns = Turns()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; what goes wrong is an HTTP status with a JSON body, as from a server."""
        path = request.url.path
        if path.endswith("/chat/completions"):
            return await self._chat(json.loads(await request.aread()))
        if path.endswith("/models"):
            return _answer(200, {"object": "list", "data": [{"id": self._name, "object": "model"}]})
        if path.endswith("/health"):
            return _answer(200, {"status": "ok"})
        return _failure(404, f"a local model does not answer {path}")

    def let_go(self) -> None:
        """Wait for the answer under way to stop, then let the engine go."""
        with self._turns.turn("", lambda: True):
            self._engine = None

    async def _chat(self, request: dict[str, Any]) -> httpx.Response:
        if self._engine is None:
            return _failure(503, "the local model is closed")
        run = _Generation(self._engine, _engine_request(request), self._turns)
        first = await run.wait()
        refused = _refusal(first)
        if refused is not None:
            await run.stop()
            return refused
        if request.get("stream"):
            return httpx.Response(200, headers=_EVENTS, stream=_EventStream(run, first))
        return _answer(200, await _gathered(run, first))


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
    limits = {} if _LIMITS & request.keys() else {"max_tokens": DEFAULT_MAX_TOKENS}
    asked = {"cache_prompt": "seed" not in request, **limits, **request, **usage}
    return {**asked, "stream": True, "return_progress": True}


_CUT: Final = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}


class _Generation:
    """One generation in a thread of its own; its chunks are waited for in an event loop."""

    def __init__(self, engine: ChatEngine, request: dict[str, Any], turns: Turns) -> None:
        self._turns = turns
        self._chunks: asyncio.Queue[Any] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._stopped = threading.Event()
        self._ended = asyncio.Event()
        self._seconds = SECONDS.get()
        self._deadline = monotonic() + self._seconds
        self._has_text = self._is_over = self._is_late = False
        threading.Thread(target=self._work, args=(engine, request, CALLER.get()), daemon=True).start()

    def _work(self, engine: ChatEngine, request: dict[str, Any], caller: str) -> None:
        try:
            with self._turns.turn(caller, self._may_begin, self._seconds) as has_come:
                if has_come:
                    engine.handle_chat_completions(request, self._take)
            if self._is_late or not (has_come or self._stopped.is_set()):
                message = f"the local model had said nothing after {self._seconds:g} s, waiting included"
                late = {"error": {"code": 504, "message": message}}
                self._in_loop(self._chunks.put_nowait, _CUT if self._has_text else late)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises belongs to the one who asked
            self._in_loop(self._chunks.put_nowait, error)
        finally:
            self._in_loop(self._chunks.put_nowait, _END)
            self._in_loop(self._ended.set)

    def _take(self, chunk: dict[str, Any]) -> bool:
        self._in_loop(self._chunks.put_nowait, chunk)
        for choice in chunk.get("choices") or ():
            self._has_text = self._has_text or bool((choice.get("delta") or {}).get("content"))
            self._is_over = self._is_over or bool(choice.get("finish_reason"))
        self._is_late = not self._is_over and monotonic() >= self._deadline
        return self._stopped.is_set() or self._is_late

    def _may_begin(self) -> bool:
        return not self._stopped.is_set() and monotonic() < self._deadline

    def _in_loop(self, function: Callable[..., Any], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            self._loop.call_soon_threadsafe(function, *args)

    async def wait(self) -> Any:
        """The next chunk, the engine's exception, or the mark of the end."""
        try:
            return await self._chunks.get()
        except BaseException:
            self._stop()
            raise

    async def rest(self) -> AsyncIterator[dict[str, Any]]:
        """All further chunks."""
        while (chunk := await self.wait()) is not _END:
            yield {"error": {"message": str(chunk)}} if isinstance(chunk, Exception) else chunk

    async def stop(self) -> None:
        """Stop the engine with its next piece, and wait until it has."""
        self._stop()
        await self._ended.wait()

    def _stop(self) -> None:
        self._stopped.set()
        self._turns.wake()


async def _gathered(run: _Generation, first: Mapping[str, Any]) -> dict[str, Any]:
    """The chunks put together as one body."""
    fold = ChatFold()
    fold.take(first)
    try:
        async for chunk in run.rest():
            if chunk.get("error"):
                return {"error": chunk["error"]}
            fold.take(chunk)
    finally:
        await run.stop()
    return fold.body()


class _EventStream(httpx.AsyncByteStream):
    """The chunks as server-sent events. Without ``[DONE]``: the reason in the last chunk is the end, else it was cut."""

    def __init__(self, run: _Generation, first: Mapping[str, Any]) -> None:
        self._run, self._first = run, first

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield ServerEvent(self._first).encode()
        async for chunk in self._run.rest():
            yield ServerEvent(chunk).encode()

    async def aclose(self) -> None:
        """Stop the engine."""
        await self._run.stop()


def _answer(status: int, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.Response(status, json=body)


def _failure(status: int, message: str) -> httpx.Response:
    return _answer(status, {"error": {"message": message, "code": status}})
