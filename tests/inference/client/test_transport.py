"""Calls: what a client makes of what came, without any network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.client.transport import within
from innkeeper.inference.errors import HttpError, ProviderConnectionError, StreamCutError
from innkeeper.prompt import UsageError

KEY = "sk-test-0123456789"
HELLO = [{"role": "user", "content": "Hello"}]


class Provider:
    """Answers with what it is given, one thing after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = iter(answers)

    def client(self) -> Client:
        """A client of it."""
        return Client("http://h", api_key=KEY, transport=httpx.MockTransport(self._answer))

    @property
    def bodies(self) -> list[Any]:
        """What it was sent."""
        return [json.loads(request.content) for request in self.requests]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        return httpx.Response(status, headers={"content-type": "application/json"}, content=content)


def test_ask() -> None:
    """One request, its answer read to the end, one result."""
    provider = Provider((200, iter([b'{"b"', b":2}"])))
    response = provider.client().chat_completions(a=1)
    (sent,) = provider.requests
    assert (sent.method, str(sent.url), sent.content) == ("POST", "http://h/v1/chat/completions", b'{"a":1}')
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (response.status, response.body) == (200, {"b": 2})


def test_what_json_cannot_say_is_not_sent() -> None:
    """The caller's mistake comes before any request, streamed or not."""
    provider = Provider()
    for stream in (False, True):
        with pytest.raises(UsageError, match="not JSON data"):
            provider.client().chat("m", HELLO, stream=stream, stop={1, 2})
    assert provider.requests == []


@pytest.mark.parametrize("error", [httpx.ConnectError("no"), ProviderConnectionError("no")], ids=["transport", "ours"])
def test_errors_of_the_transport(error: Exception) -> None:
    """They become our own, with their cause."""
    with pytest.raises(ProviderConnectionError) as caught:
        Provider(error).client().models()
    assert caught.value is error or caught.value.__cause__ is error


def event(**delta: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def test_pieces() -> None:
    """Each piece is for the caller as soon as it has come; after the end the rest is let come, and is not given."""
    read: list[bytes] = []

    def body() -> Iterator[bytes]:
        for piece in (event(content="It "), event(content="is."), b"data: [DONE]\n\n", b": bye\n\n"):
            read.append(piece)
            yield piece

    with Provider((200, body())).client().chat_stream("m", HELLO) as pieces:
        assert (next(pieces), len(read)) == ("It ", 1)
        assert (next(pieces), len(read)) == ("is.", 2)
        assert list(pieces) == []
    assert len(read) == 4
    assert pieces.partial == "It is."


def test_a_stream_that_breaks() -> None:
    """The error knows the text so far."""

    def body() -> Iterator[bytes]:
        yield event(content="It ")
        raise httpx.ReadError("gone")

    with pytest.raises(StreamCutError) as caught:
        Provider((200, body())).client().chat("m", HELLO, stream=True)
    assert caught.value.partial == "It "


def test_a_server_that_turns_streams_down_is_asked_once_more() -> None:
    """The same request, unstreamed; a second refusal is the caller's."""
    refusal, whole = b'{"error": {"param": "stream"}}', b'{"choices": [{"message": {"content": "Yes."}}]}'
    provider = Provider((400, refusal), (200, whole))
    assert provider.client().chat("m", HELLO, stream=True, include_usage=True, a=1).content == "Yes."
    asked = {"model": "m", "messages": HELLO, "a": 1}
    assert provider.bodies == [{**asked, "stream": True, "stream_options": {"include_usage": True}}, asked]
    with pytest.raises(HttpError):
        Provider((400, refusal), (500, refusal)).client().chat("m", HELLO, stream=True)


HEALTH = {
    "page": ([(200, b"ok")], True),
    "key": ([(401, b"")], True),
    "models": ([(404, b""), (200, b"{}")], True),
    "nothing": ([(404, b""), (404, b"")], False),
    "broken": ([(500, b"")], False),
    "nobody": ([httpx.ConnectError("no")], False),
    "nobody_any_more": ([(404, b""), httpx.ConnectError("no")], False),
}


@pytest.mark.parametrize(("came", "well"), HEALTH.values(), ids=HEALTH)
def test_healthy(came: list[Any], well: bool) -> None:
    """A health page or a list of models will do."""
    assert Provider(*came).client().health() is well


def test_from_an_event_loop() -> None:
    """The asynchronous client reads the same."""

    async def run() -> bool:
        async with AsyncClient("http://h", transport=httpx.MockTransport(lambda _: httpx.Response(401))) as client:
            return await client.health()

    assert asyncio.run(run())


async def at_once() -> str:
    """Work that has nothing to wait for."""
    return "done"


async def later() -> str:
    """Work that waits, twice."""
    await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    return "done"


async def failing() -> str:
    """Work that fails after it has waited."""
    await asyncio.sleep(0)
    raise KeyError("no")


async def mending() -> str:
    """Work that takes an error of what it waits for, and goes on."""
    waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waited.set_exception, KeyError("no"))
    try:
        await waited
    except KeyError:
        await asyncio.sleep(0)
    return "done"


@pytest.mark.parametrize("work", [at_once, later, mending])
def test_it_gives_what_the_work_gives(work: Callable[[], Any]) -> None:
    """Whether it has to wait or not, and whatever it is told meanwhile."""
    assert asyncio.run(within(60, work())) == "done"


def test_errors_go_through() -> None:
    """An error of the work is the caller's."""
    with pytest.raises(KeyError):
        asyncio.run(within(60, failing()))


def test_no_timer_for_what_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer is made only where the work waits."""
    made: list[Any] = []
    real = asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda seconds: made.append(seconds) or real(seconds))  # type: ignore[func-returns-value]
    asyncio.run(within(60, at_once()))
    assert made == []
    asyncio.run(within(60, later()))
    assert made == [60]


def test_work_that_waits_too_long_is_cancelled() -> None:
    """It hears of it, and the caller gets the error of the time."""
    heard: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        asyncio.run(within(0.001, endless()))
    assert heard == ["cancelled"]


def test_a_cancelled_caller_cancels_the_work() -> None:
    """And is itself cancelled, not late."""
    heard: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            heard.append("ended")

    async def use(work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def limited() -> None:
        await within(60, endless())

    asyncio.run(use(limited))
    assert heard == ["ended"]
