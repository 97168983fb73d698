"""Client: requests go out as they are, answers come back whole or in pieces, and limits hold."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from innkeeper.inference.client import transport
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.errors import HttpError, ProviderTimeoutError
from innkeeper.inference.fake import provider
from innkeeper.inference.fake.provider import EchoServer, FakeClient
from innkeeper.inference.fake.script import FakeReply, Fault
from innkeeper.prompt import FrozenDict, LimitError, ProviderError, UsageError

KEY = "sk-test-0123456789"
HELLO = [{"role": "user", "content": "Hello"}]


def test_request_goes_out_untouched() -> None:
    """The body has the caller's fields in the caller's order, frozen data included; nothing is added."""
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}}]})

    client = Client(transport=httpx.MockTransport(answer))
    client.chat_completions(model="m", z=1, a=FrozenDict({"b": (1, 2)}), text="é\ud800")
    assert sent == ['{"model":"m","z":1,"a":{"b":[1,2]},"text":"é\ufffd"}'.encode()]


def test_headers() -> None:
    """The key and the caller's headers are sent, and the kinds of content are named."""
    with EchoServer("x", "y") as server, Client(server.base_url, api_key=KEY, headers={"X-Title": "Inn"}) as client:
        client.chat("m", HELLO)
        client.chat("m", HELLO, stream=True)
        first, second = (received.headers for received in server.requests)
    assert first["authorization"] == f"Bearer {KEY}"
    assert (first["x-title"], first["content-type"], first["accept"]) == ("Inn", "application/json", "application/json")
    assert second["accept"].startswith("text/event-stream")


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), b"x"], ids=["set", "object", "nan", "bytes"])
def test_request_that_is_no_json(value: Any) -> None:
    """What JSON cannot say is the caller's mistake, found before anything is sent."""
    client = FakeClient("x")
    with pytest.raises(UsageError, match="not JSON data"):
        client.chat_completions(model="m", messages=[], value=value)
    assert client.requests == []


def test_streams_go_elsewhere() -> None:
    """A whole answer cannot be asked for as a stream, nor a stream's pieces without one."""
    with pytest.raises(UsageError, match="whole answers"):
        FakeClient("x").chat_completions(model="m", messages=HELLO, stream=True)
    with pytest.raises(UsageError, match="on_delta"):
        FakeClient("x").chat("m", HELLO, on_delta=print)


def test_stream() -> None:
    """Pieces come one by one; the reply is there at the end and not before."""
    with FakeClient("It is late.").chat_stream("m", HELLO, include_usage=True, temperature=0) as stream:
        first = next(stream)
        with pytest.raises(UsageError, match="has not ended"):
            _ = stream.reply
        assert (first, stream.partial) == ("It ", "It ")
        assert "".join(stream) == "is late."
    assert stream.reply.content == stream.partial == "It is late."
    assert stream.reply.response.status == 200


def test_stream_sends_nothing_until_asked() -> None:
    """Making a stream costs nothing; the first piece asked for sends the request."""
    client = FakeClient("x")
    stream = client.chat_stream("m", HELLO)
    assert (client.requests, stream.partial) == ([], "")
    next(stream)
    assert client.requests == [{"model": "m", "messages": HELLO, "stream": True}]


def test_stream_options_are_kept() -> None:
    """Asking for usage adds to the caller's stream options."""
    client = FakeClient("x")
    client.chat("m", HELLO, stream=True, include_usage=True, stream_options={"a": 1})
    assert client.requests[0]["stream_options"] == {"a": 1, "include_usage": True}


def test_leaving_a_stream_early_closes_it() -> None:
    """A reader who leaves ends the connection, so that the provider stops; what came stays."""
    ended: list[bool] = []

    class Body(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b'data: {"choices": [{"delta": {"content": "again "}}]}\n\n'

        def close(self) -> None:
            ended.append(True)

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Body()))
    with Client(transport=transport).chat_stream("m", HELLO) as stream:
        assert [next(stream), next(stream)] == ["again ", "again "]
    assert (ended, stream.partial) == ([True], "again again ")
    assert list(stream) == []


def test_error_of_the_reader_passes_through() -> None:
    """What ``on_delta`` raises reaches the caller as it is."""

    def fail(delta: str) -> None:
        raise KeyError(delta)

    with pytest.raises(KeyError, match="It "):
        FakeClient("It is late.").chat("m", HELLO, stream=True, on_delta=fail)


@pytest.mark.parametrize("stream", [False, True])
def test_answers_are_limited(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """An answer that never ends is given up at the limit, counted after decompression."""
    monkeypatch.setattr(transport, "MAX_RESPONSE_BYTES", 10_000)
    with pytest.raises(LimitError, match="MAX_RESPONSE_BYTES"):
        FakeClient(Fault.gzip("word " * 20_000)).chat("m", HELLO, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
def test_total_time_is_limited(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """An answer that drips for ever is given up when the total time is over."""
    now = iter(range(0, 1000, 7))
    monkeypatch.setattr("innkeeper.inference.client.transport.monotonic", lambda: next(now))
    drip = Fault.raw(b": ping\n\n" * 20, piece_bytes=8)
    with pytest.raises(ProviderTimeoutError) as caught:
        FakeClient(drip, total_timeout=20).chat("m", HELLO, stream=stream)
    assert caught.value.phase == "total"


@pytest.mark.parametrize(
    ("script", "healthy"),
    [(200, True), (401, True), (404, True), (500, False), (302, False)],
)
def test_health(script: int, healthy: bool) -> None:
    """A server is well when its health page, or in its place its list of models, answers."""

    def answer(request: httpx.Request) -> httpx.Response:
        page = request.url.path == "/health"
        return httpx.Response(script if page else 200, json={})

    assert Client(transport=httpx.MockTransport(answer)).health() is healthy


def test_health_of_nobody() -> None:
    """Without a server, and without a page or models, there is no health."""
    refuse = Client("http://127.0.0.1:9", open_timeout=1)
    nothing = Client(transport=httpx.MockTransport(lambda _: httpx.Response(404, json={})))
    assert (refuse.health(), nothing.health()) == (False, False)


def test_close_and_use_again() -> None:
    """A closed client opens anew; as a context manager it closes itself."""
    with EchoServer("a", "b") as server:
        with Client(server.base_url) as client:
            assert client.chat("m", HELLO).content == "a"
        assert client._client._opened is None
        assert client.chat("m", HELLO).content == "b"
        client.close()


def test_redirects_are_not_followed() -> None:
    """The key is never carried to another address."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(307, headers={"location": "http://elsewhere/"})

    with pytest.raises(HttpError) as caught:
        Client(api_key=KEY, transport=httpx.MockTransport(answer)).chat("m", HELLO)
    assert (len(seen), caught.value.status) == (1, 307)


def test_secrets_stay_secret(caplog: pytest.LogCaptureFixture) -> None:
    """The key is in no repr, error, cause, response or log, even when a provider quotes it and everything is logged."""
    caplog.set_level(logging.DEBUG)
    echo = Fault.status(401, f"Incorrect API key provided: {KEY}.")
    shown: list[str] = []
    headers = {"x-api-key": KEY[::-1]}
    with (
        EchoServer(echo, Fault.raw(KEY.encode()), FakeReply(content="x")) as server,
        Client(server.base_url, api_key=KEY, headers=headers) as client,
    ):
        for stream in (False, True):
            with pytest.raises(ProviderError) as caught:
                client.chat("m", HELLO, stream=stream)
            shown += [caught.value.render(), repr(caught.value), str(caught.value.to_dict())]
            shown += [repr(caught.value.__cause__), str(vars(caught.value))]
        reply = client.chat("m", HELLO)
        shown += [
            repr(client),
            repr(reply),
            repr(client.endpoint),
            str(vars(client)),
            repr(client.chat_stream("m", [])),
        ]
    text = "\n".join([*shown, caplog.text])
    assert KEY not in text
    assert KEY[::-1] not in text
    assert "[secret]" in text


ASYNC_CLIENT_HELLO = [{"role": "user", "content": "Hello"}]


def test_answers() -> None:
    """Whole answers, streams, models and embeddings are those of the other client."""

    async def run(url: str) -> list[Any]:
        heard: list[str] = []
        async with AsyncClient(url, api_prefix="/v1") as client:
            whole = await client.chat("m", ASYNC_CLIENT_HELLO)
            streamed = await client.chat(
                "m", ASYNC_CLIENT_HELLO, stream=True, include_usage=True, on_delta=heard.append
            )
            models = await client.models()
            vectors = await client.embeddings(model="e", input="a")
        return [whole.content, heard, streamed.usage, models.body["object"], len(vectors.body["data"]), repr(client)]

    with EchoServer("It is late.", "It is late.") as server:
        found = asyncio.run(run(server.base_url))
        usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        assert found == [
            "It is late.",
            ["It ", "is ", "late."],
            usage,
            "list",
            1,
            f"AsyncClient('{server.base_url}/v1')",
        ]


def test_async_client_leaving_a_stream_early_closes_it() -> None:
    """The connection is closed when the block is left, not some time later."""
    ended: list[bool] = []

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                yield b'data: {"choices": [{"delta": {"content": "again "}}]}\n\n'

        async def aclose(self) -> None:
            ended.append(True)

    async def run() -> str:
        client = AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Body())))
        async with client.chat_stream("m", ASYNC_CLIENT_HELLO) as stream:
            assert stream.partial == ""
            async for _ in stream:
                break
            with pytest.raises(UsageError, match="has not ended"):
                _ = stream.reply
        assert ended == [True]
        return stream.partial

    assert asyncio.run(run()) == "again "


def test_misuse() -> None:
    """Unknown settings and streams in the wrong place are refused."""
    with pytest.raises(UsageError, match="unknown setting 'tiemout'"):
        AsyncClient("http://h", tiemout=3)  # type: ignore[call-arg]  # a name that there is not
    with pytest.raises(UsageError, match="whole answers"):
        asyncio.run(AsyncClient("http://h").chat_completions(stream=True))


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The connections that fake servers accept."""
    accepted: list[Any] = []
    accept = provider._Server.process_request

    def count(server: Any, request: Any, address: Any) -> None:
        accepted.append(address)
        accept(server, request, address)

    monkeypatch.setattr(provider._Server, "process_request", count)
    return accepted


def test_a_connection_serves_several_streams(connections: list[Any]) -> None:
    """A stream that has said all is read to its end, so that the next call needs no connection of its own."""

    async def run(url: str) -> None:
        async with AsyncClient(url) as client:
            for _ in range(3):
                await client.chat("m", HELLO, stream=True)

    with EchoServer() as server:
        with Client(server.base_url) as client:
            for _ in range(3):
                client.chat("m", HELLO, stream=True)
        assert len(connections) == 1
        asyncio.run(run(server.base_url))
        assert len(connections) == 2


def test_a_server_that_does_not_end(connections: list[Any]) -> None:
    """A server that stays silent after the end is not waited for: the answer is whole, and its connection is closed."""
    whole = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'
    held = Fault.stall(len(whole), Fault.raw(whole))

    async def run(url: str) -> str:
        async with AsyncClient(url, timeout=30) as client:
            await client.chat("m", HELLO, stream=True)
            return (await client.chat("m", HELLO, stream=True)).content

    with EchoServer(held, held, held, held) as server:
        with Client(server.base_url, timeout=30) as client:
            texts = [client.chat("m", HELLO, stream=True).content for _ in range(2)]
        assert [*texts, asyncio.run(run(server.base_url))] == ["x", "x", "x"]
    assert len(connections) == 4
