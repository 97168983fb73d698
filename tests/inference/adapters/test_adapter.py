"""Adapter and Reading: what protocols have in common."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.adapters.adapter import (
    Adapter,
    ModelRequest,
    Reading,
    arguments_text,
    count,
    mapping,
    mappings,
    others,
    text,
    total,
)
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.clients import Retries
from innkeeper.inference.client.model_clients import AsyncModelClient, ModelClient
from innkeeper.inference.client.portal import cancelled_by
from innkeeper.inference.errors import HttpError, RequestCancelledError
from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.fake.script import Fault
from innkeeper.inference.response.events import Finished, ModelEvent, Started, TextDelta
from innkeeper.prompt import FrozenDict, Message, Tool, UnknownNameError, UsageError
from tests.inference.adapters.answers import WIRES, Said, Wire


class _Plain(Reading):
    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        yield TextDelta(text=data["text"])

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield from self.chunk(body, "message")
        yield Finished(reason="stop")


class Plain(Adapter):
    """A protocol of a guest."""

    name: ClassVar[str] = "plain"
    dialect: ClassVar[str] = "text"
    base_url: ClassVar[str] = "http://localhost"

    def path(self, model: str, *, stream: bool) -> str:
        """``/say``."""
        return "/say"

    def reading(self) -> Reading:
        """Reads one answer."""
        return _Plain()


def test_a_guest() -> None:
    """An adapter of one's own is registered beside the built-in ones, which stay as they are."""
    mine = ADAPTERS.with_(Plain())
    assert mine["plain"].headers("k") == {"authorization": "Bearer k"}
    assert mine["plain"].headers("") == {}
    assert mine["plain"].body({"a": 1}, stream=True) == {"a": 1, "stream": True}
    assert mine["plain"].body({"a": 1}, stream=False) == {"a": 1}
    assert "plain" not in ADAPTERS
    with pytest.raises(UnknownNameError, match="unknown adapter 'openai-chatt'"):
        _ = ADAPTERS["openai-chatt"]


def test_started_says_only_what_is_new() -> None:
    """What a provider repeats with every piece is told once; what changes is told again."""
    reading = _Plain()
    facts = FrozenDict({"a": 1})
    assert list(reading.started("i", "m", facts)) == [Started(id="i", model="m", facts=facts)]
    assert list(reading.started("i", "m", facts)) == []
    assert list(reading.started(None, None)) == []
    assert list(reading.started(facts=FrozenDict({"a": 1, "b": 2}))) == [
        Started(id="i", model="m", facts=FrozenDict({"b": 2}))
    ]
    assert list(_Plain().started("i", "m")) == [Started(id="i", model="m")]  # no state is shared


def test_facts_are_looked_at_once() -> None:
    """Fields that say what they said before are no news; each kind of object is remembered by itself."""
    reading, top, inner = _Plain(), frozenset({"id"}), frozenset({"text"})
    assert reading.facts({"id": 1, "a": [1], "b": None, "c": ""}, top) == {"a": (1,)}
    assert reading.facts({"text": "x", "a": [1]}, inner) == {"a": (1,)}
    assert reading.facts({"id": 2, "a": [1]}, top) == {"a": (1,)}  # without the empty field it is another object
    assert reading.facts({"id": 3, "a": [1]}, top) == {}
    assert reading.facts({"id": 3}, top) == {}
    assert reading.facts({"id": 3, "a": 2}, top) == {"a": 2}


@pytest.mark.parametrize(
    ("data", "kind", "failure"),
    [
        ({"error": "x"}, "message", {"error": "x"}),
        ({"message": "x"}, "error", {"error": {"message": "x"}}),
        ({"error": None}, "message", None),
        ({"text": "x"}, "message", None),
    ],
)
def test_failure(data: dict[str, Any], kind: str, failure: Any) -> None:
    """An error is data with one, or an event of that type."""
    assert _Plain().failure(data, kind) == failure


ODD: list[Any] = [None, True, -1, 2**31, 1.5, "x", [1], {"a": 1}, [{"a": 1}, 2]]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_types(value: Any) -> None:
    """Whatever the value, the type is right."""
    assert isinstance(text(value), str)
    assert count(value) is None
    assert isinstance(mapping(value), dict)
    assert all(isinstance(one, dict) for one in mappings(value))
    assert isinstance(arguments_text(value), str)


def test_values() -> None:
    """What fits is kept."""
    assert (count(0), count(7), text("x"), mapping({"a": 1}), mappings([{"a": 1}, 2])) == (
        0,
        7,
        "x",
        {"a": 1},
        [{"a": 1}],
    )
    assert [arguments_text(value) for value in ('{"a":1}', {"a": "é"}, None)] == ['{"a":1}', '{"a": "é"}', ""]


def test_total() -> None:
    """Sums are of what is known; nothing known is nothing."""
    assert (total(1, None, 2), total(None, None), total(0)) == (3, None, 0)


def test_others() -> None:
    """What is not known and says something is kept, false and zero included."""
    data: dict[str, object] = {"a": 1, "b": None, "c": "", "d": [], "e": {}, "f": 0, "g": False}
    assert others(data, frozenset({"a"})) == {"f": 0, "g": False}
    assert others({"a": 1}, frozenset({"a"})) == {}


KEY = "sk-test-0123456789"
HELLO = [Message("user", "Hello")]
wires = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)


class Provider:
    """A provider in this process: answers with these responses, and keeps the requests."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answers.pop(0)

    @property
    def transport(self) -> httpx.MockTransport:
        """What a client reaches it by."""
        return httpx.MockTransport(self)


def text_of(events: list[ModelEvent]) -> str:
    """What was said."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@wires
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call(wire: Wire, stream: bool) -> None:
    """A body that the adapter's dialect wrote goes to the adapter's address with its key, and the answer comes back."""
    adapter = ADAPTERS[wire.adapter]
    said = wire.fit(Said())
    raw, kind = (wire.stream(said), wire.kind) if stream else (wire.whole(said), "application/json")
    provider = Provider(httpx.Response(200, content=raw, headers={"content-type": kind}))
    request = ModelRequest.canonical(adapter, HELLO, model="m/1", options={"temperature": 0}, stream=stream)
    with ModelClient(adapter, "http://provider", key=KEY, transport=provider.transport) as client:
        assert text_of(list(client.events(request))) == "It is late."
        assert KEY not in repr(client.endpoint)
    (sent,) = provider.requests
    assert sent.content == request.content
    assert str(sent.url) == f"http://provider{adapter.prefix}{adapter.path('m/1', stream=stream)}"
    assert (KEY in str(sent.headers.raw)) is (wire.adapter != "local")
    assert request.body["temperature" if "temperature" in request.body else next(iter(request.body))] is not None


@wires
def test_bodies_ask_for_what_is_read(wire: Wire) -> None:
    """A stream is asked for in the body or by the address, never by both or by none."""
    adapter = ADAPTERS[wire.adapter]
    asked = {
        stream: ModelRequest.canonical(adapter, HELLO, model="m", options={"stream": not stream}, stream=stream)
        for stream in (False, True)
    }
    by_address = adapter.path("m", stream=True) != adapter.path("m", stream=False)
    assert bool(asked[True].body.get("stream")) is not by_address
    assert not asked[False].body.get("stream")


@given(content=st.binary(max_size=200), stream=st.booleans())
def test_raw_bytes_are_untouched(content: bytes, stream: bool) -> None:
    """A caller's own bytes go out as they are, JSON or not, and their hash is told."""
    provider = Provider(httpx.Response(200, json={"choices": [{"message": {"content": "x"}}]}))
    request = ModelRequest.own(content, model="m", stream=stream)
    with ModelClient(ADAPTERS["openai-chat"], "http://provider", transport=provider.transport) as client:
        list(client.events(request))
    assert provider.requests[0].content == content
    assert request.sha256 == hashlib.sha256(content).hexdigest()


def test_raw_bytes_say_what_they_ask_for() -> None:
    """The model and the stream are read from a body where nobody says them; odd bodies say nothing."""
    own = ModelRequest.own(b'{"stream": true, "model": "m", "x":1}')
    assert (own.model, own.stream, own.raw) == ("m", True, True)
    for odd in (b"[1]", b"{", b'{"model": 3}', b"\xff"):
        assert (ModelRequest.own(odd).model, ModelRequest.own(odd).stream) == ("", False)


def refusal() -> httpx.Response:
    """A server that cannot stream."""
    return httpx.Response(400, json={"error": {"message": "stream is not supported", "param": "stream"}})


def test_a_refused_stream_is_asked_for_whole() -> None:
    """A translated body is sent once more without a stream."""
    whole = httpx.Response(200, json={"choices": [{"message": {"content": "Whole."}}]})
    provider = Provider(refusal(), whole)
    request = ModelRequest.of(ADAPTERS["openai-chat"], {"model": "m", "messages": []}, stream=True)
    with ModelClient(ADAPTERS["openai-chat"], "http://provider", transport=provider.transport) as client:
        assert text_of(list(client.events(request))) == "Whole."
    assert json.loads(provider.requests[1].content) == {"model": "m", "messages": []}


def test_a_refused_stream_of_raw_bytes_is_refused() -> None:
    """Nothing is ever sent in the place of a caller's own bytes."""
    provider = Provider(refusal())
    request = ModelRequest.own(b'{"model":"m","stream":true}')
    with (
        ModelClient(ADAPTERS["openai-chat"], "http://provider", transport=provider.transport) as client,
        pytest.raises(HttpError),
    ):
        list(client.events(request))
    assert len(provider.requests) == 1


def test_canonical_gives_the_body_back() -> None:
    """What a translation made can be read, and what it lost is noted; bytes that are no JSON have no body."""
    tool = Tool("add", parameters={"type": "object"})
    options = {"max_tokens": 9, "warp": 1}
    request = ModelRequest.canonical(
        ADAPTERS["anthropic-messages"], HELLO, model="m", options=options, tools=(tool,), stream=True
    )
    assert request.body == {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "tools": [{"name": "add", "input_schema": {"type": "object"}}],
        "max_tokens": 9,
        "stream": True,
    }
    assert any("'warp'" in note.message for note in request.notes)
    with pytest.raises(UsageError, match="not JSON"):
        _ = ModelRequest.own(b"{").body


def test_keys_come_from_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the environment is not sent to a provider that nobody gave it for."""
    monkeypatch.setenv("INNKEEPER_API_KEY", KEY)
    for name, adapter in ADAPTERS.items():
        with ModelClient(adapter) as client:
            assert KEY not in str(client.endpoint.wire_headers()), name


def test_a_model_name_stays_in_its_place() -> None:
    """A name cannot lead elsewhere than to a model."""
    path = ADAPTERS["gemini-generateContent"].path("../../x?key=1#", stream=False)
    assert path == "/models/..%2F..%2Fx%3Fkey%3D1%23:generateContent"
    assert ADAPTERS["gemini-generateContent"].path("models/a-1", stream=True).startswith("/models/a-1:stream")
    assert ADAPTERS["gemini-generateContent"].path("tunedModels/b", stream=False) == "/tunedModels/b:generateContent"


@pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
def test_retries(in_loop: bool) -> None:
    """A client sends again what was not answered now, when it is told how often."""
    provider = Provider(
        httpx.Response(503), httpx.Response(200, json={"choices": [{"message": {"content": "At last."}}]})
    )
    request = ModelRequest.of(ADAPTERS["openai-chat"], {"model": "m"})
    retries = Retries(first_wait=0.001)
    assert text_of(ask(provider.transport, request, in_loop=in_loop, retries=retries)) == "At last."
    assert len(provider.requests) == 2


def ask(transport: Any, request: ModelRequest, *, in_loop: bool, **options: Any) -> list[ModelEvent]:
    """The events that one of the clients gets."""
    adapter = ADAPTERS["openai-chat"]
    if not in_loop:
        with ModelClient(adapter, "http://provider", transport=transport, **options) as client:
            return list(client.events(request))

    async def run() -> list[ModelEvent]:
        async with AsyncModelClient(adapter, "http://provider", transport=transport, **options) as client:
            return [event async for event in client.events(request)]

    return asyncio.run(run())


def begun() -> bytes:
    """A stream that has said something, and is not over."""
    return b'data: {"choices":[{"delta":{"content":"It "}}]}\n\n'


STALLS = {
    "before_the_head": Fault.slow(600),
    "before_the_first_byte": Fault.stall(),
    "in_the_middle": Fault.stall(len(begun()), Fault.raw(begun())),
}
PATIENCE = 120.0
"""Seconds that a busy machine may need; a stalled provider says nothing for longer."""


def asked(server: EchoServer) -> None:
    """Wait until the provider has a request, and a moment more, in which it may begin to answer."""
    end = time.monotonic() + PATIENCE
    while not server.requests and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.05)


def gone(server: EchoServer) -> bool:
    """Whether the provider saw its caller leave."""
    end = time.monotonic() + PATIENCE
    while not server.left and time.monotonic() < end:
        time.sleep(0.005)
    return bool(server.left)


@pytest.mark.parametrize("fault", STALLS.values(), ids=STALLS)
def test_cancel(fault: Fault) -> None:
    """A blocking call stops once it is told to, wherever it waits, and so does the provider."""
    stop = threading.Event()
    request = ModelRequest.of(ADAPTERS["openai-chat"], {"model": "m"}, stream=True)

    def cancel() -> None:
        asked(server)
        stop.set()

    with EchoServer(fault) as server, ModelClient(ADAPTERS["openai-chat"], server.base_url) as client:
        threading.Thread(target=cancel).start()
        with cancelled_by(stop), pytest.raises(RequestCancelledError):
            list(client.events(request))
        assert gone(server)


@pytest.mark.parametrize("quick", [False, True], ids=["httpx", "quick"])
@pytest.mark.parametrize("fault", STALLS.values(), ids=STALLS)
def test_cancel_a_task(fault: Fault, quick: bool) -> None:
    """So does an asynchronous one, when its task is cancelled."""
    request = ModelRequest.of(ADAPTERS["openai-chat"], {"model": "m"}, stream=True)

    async def run(server: EchoServer) -> None:
        async with AsyncModelClient(ADAPTERS["openai-chat"], server.base_url, quick=quick) as client:

            async def listen() -> None:
                async for _ in client.events(request):
                    pass

            task = asyncio.create_task(listen())
            await asyncio.to_thread(asked, server)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with EchoServer(fault) as server:
        asyncio.run(run(server))
        assert gone(server)


def test_leaving_early_closes_the_connection() -> None:
    """Who stops listening stops the provider."""
    request = ModelRequest.of(ADAPTERS["openai-chat"], {"model": "m"}, stream=True)
    fault = STALLS["in_the_middle"]
    with EchoServer(fault) as server, ModelClient(ADAPTERS["openai-chat"], server.base_url) as client:
        events: Iterator[ModelEvent] = client.events(request)
        with closing(events):  # type: ignore[type-var]
            assert next(events) == TextDelta(text="It ")
        assert gone(server)
