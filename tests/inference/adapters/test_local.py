"""local: the model on this machine as one more adapter, for blocking callers and for event loops."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.local import local_async_client, local_client
from innkeeper.inference.adapters.openai_chat import Local
from innkeeper.inference.client.portal import cancelled_by
from innkeeper.inference.errors import HttpError, ReplyError, RequestCancelledError
from innkeeper.inference.local.model import LocalModel
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.response.response import ModelResponse, Usage

PATIENCE = 120.0


class Engine:
    """An engine that says words; ``said`` are the requests, ``stopped`` is set when it was told to stop."""

    def __init__(self, *words: str, error: Any = None, endless: bool = False) -> None:
        self.words, self.error, self.endless = words, error, endless
        self.said: list[dict[str, Any]] = []
        self.begun, self.stopped = threading.Event(), threading.Event()

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> None:
        """Say the words."""
        self.said.append(request)
        self.begun.set()
        for chunk in self._chunks():
            if on_chunk(chunk):
                self.stopped.set()
                return

    def _chunks(self) -> Iterator[dict[str, Any]]:
        if isinstance(self.error, Exception):
            raise self.error
        if self.error:
            yield {"error": self.error}
            return
        for word in self.words:
            yield {"model": "local", "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        while self.endless:
            time.sleep(0.005)
            yield {"choices": [{"index": 0, "delta": {"content": "and "}, "finish_reason": None}]}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        yield {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}

    def post(self, path: str, body: Any, seconds: float) -> Any:
        """Nothing is asked here."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to end."""


REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def ask(engine: Engine, *, stream: bool, in_loop: bool) -> ModelResponse:
    """The response that one of the clients gets."""
    request = ModelRequest.of(Local(), REQUEST, stream=stream)

    async def gather() -> list[Any]:
        async with local_async_client(model) as client:
            return [event async for event in client.events(request)]

    with LocalModel(engine) as model:
        if in_loop:
            events = asyncio.run(gather())
        else:
            with local_client(model) as client:
                events = list(client.events(request))
        assert model._engine is engine, "closing a client leaves the model open"
    return response_of(events, response_id="resp_1", model="m", created=0)


loops = pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@loops
@streams
def test_answer(in_loop: bool, stream: bool) -> None:
    """Text, why it ended and how much it was, whole and streamed."""
    engine = Engine("It is ", "late.")
    response = ask(engine, stream=stream, in_loop=in_loop)
    assert (response.text, response.finish, response.status) == ("It is late.", "stop", "completed")
    assert response.usage == Usage(input_tokens=3, output_tokens=2, total_tokens=5)
    assert engine.said[0]["messages"] == REQUEST["messages"]


@loops
@streams
def test_errors(in_loop: bool, stream: bool) -> None:
    """What the engine says in place of an answer has its status; what it raises is an error of the request."""
    with pytest.raises(HttpError, match="too long") as caught:
        ask(Engine(error={"code": 413, "message": "too long"}), stream=stream, in_loop=in_loop)
    assert caught.value.status == 413
    with pytest.raises(HttpError, match="odd"):
        ask(Engine(error=ValueError("odd")), stream=stream, in_loop=in_loop)


class Breaks(Engine):
    """An engine that fails in the middle."""

    def _chunks(self) -> Iterator[dict[str, Any]]:
        yield from list(super()._chunks())[:1]
        raise ValueError("broken")


@loops
@streams
def test_error_in_the_middle(in_loop: bool, stream: bool) -> None:
    """An error after the first word is one in the answer."""
    with pytest.raises(ReplyError, match="broken"):
        ask(Breaks("It "), stream=stream, in_loop=in_loop)


@streams
def test_cancel(stream: bool) -> None:
    """A blocking call that is told to stop stops the model."""
    stop = threading.Event()
    engine = Engine("It ", endless=True)

    def cancel() -> None:
        engine.begun.wait(PATIENCE)
        stop.set()

    threading.Thread(target=cancel).start()
    with LocalModel(engine) as model, local_client(model) as client, cancelled_by(stop):
        with pytest.raises(RequestCancelledError):
            list(client.events(ModelRequest.of(Local(), REQUEST, stream=stream)))
        assert engine.stopped.wait(PATIENCE)


@streams
def test_cancel_a_task(stream: bool) -> None:
    """So does a task that is cancelled."""
    engine = Engine("It ", endless=True)

    async def run(model: LocalModel) -> None:
        async def listen() -> None:
            async for _ in client.events(ModelRequest.of(Local(), REQUEST, stream=stream)):
                pass

        async with local_async_client(model) as client:
            task = asyncio.create_task(listen())
            await asyncio.to_thread(engine.begun.wait, PATIENCE)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(engine.stopped.wait, PATIENCE)

    with LocalModel(engine) as model:
        asyncio.run(run(model))


def test_no_key_and_no_address() -> None:
    """It has neither."""
    assert Local().headers("k") == {}


def test_a_closed_model() -> None:
    """A model that is closed answers nobody."""
    model = LocalModel(Engine("x"))
    model.close()

    async def run() -> None:
        async with local_async_client(model) as client:
            async for _ in client.events(ModelRequest.of(Local(), REQUEST)):
                pass

    with pytest.raises(HttpError, match="closed"):
        asyncio.run(run())
    with local_client(model) as client, pytest.raises(HttpError, match="closed"):
        list(client.events(ModelRequest.of(Local(), REQUEST)))
