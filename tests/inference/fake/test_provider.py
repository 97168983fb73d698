"""Fakes: scripts are dealt out in order, then the last message is echoed; client and server answer alike."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.portal import portal
from innkeeper.inference.errors import HttpError, ProviderTimeoutError
from innkeeper.inference.fake.provider import EchoServer, FakeClient
from innkeeper.inference.fake.script import Answer, FakeReply, Fault, Script, route
from innkeeper.prompt import UsageError

HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello there"}]

Maker = Callable[..., Any]


@contextmanager
def in_process(*script: Any) -> Iterator[Client]:
    """A client with a script."""
    with FakeClient(*script) as client:
        yield client


@contextmanager
def on_loopback(*script: Any) -> Iterator[Client]:
    """A client of a server with a script."""
    with EchoServer(*script) as server, Client(server.base_url, timeout=5) as client:
        yield client


both = pytest.mark.parametrize("fake", [in_process, on_loopback])


@both
def test_script_then_echo(fake: Maker) -> None:
    """Texts, replies, bodies and functions come in order; after the last, the echo."""
    body = {"choices": [{"message": {"content": "whole"}}]}
    with fake("one", FakeReply(content="two"), body, lambda request: request["model"]) as client:
        said = [client.chat("m", HELLO).content for _ in range(5)]
    assert said == ["one", "two", "whole", "m", "Hello there"]


@both
def test_figures_count_words(fake: Maker) -> None:
    """Usage is predictable: words of the prompt and of the answer."""
    with fake("It is late.") as client:
        usage = client.chat("m", HELLO).usage
    assert usage == {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}


@both
def test_streams(fake: Maker) -> None:
    """A stream comes word by word, with usage where it is asked for, and ends in the same body."""
    reply = FakeReply(content="It is late.", reasoning="clock", tool_calls=(("look", {"x": 1}),))
    with fake(reply, reply) as client:
        with client.chat_stream("m", HELLO, include_usage=True) as stream:
            assert list(stream) == ["It ", "is ", "late."]
        whole = client.chat("m", HELLO)
    assert stream.reply.usage == whole.usage
    assert stream.reply.response.body["choices"] == whole.response.body["choices"]
    assert stream.reply.response.body["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"


@both
def test_other_routes(fake: Maker) -> None:
    """Models, health and embeddings answer; equal texts have equal vectors; anything else is 404."""
    with fake() as client:
        assert client.models().body["data"][0]["id"] == "echo"
        assert client.health()
        vectors = [item["embedding"] for item in client.embeddings(model="e", input=["a", "b", "a"]).body["data"]]
        assert vectors[0] == vectors[2] != vectors[1]
        with pytest.raises(HttpError) as caught:
            portal().call(client._client._json("GET", "/nothing"))
    assert caught.value.status == 404


def test_client_remembers_requests() -> None:
    """The fake client keeps the bodies it was sent."""
    client = FakeClient("x")
    client.chat("m", HELLO, temperature=0.5)
    assert client.requests == [{"model": "m", "messages": HELLO, "temperature": 0.5}]


def test_server_remembers_requests_and_checks_keys() -> None:
    """The server keeps what came, and turns other keys away."""
    with EchoServer("x", api_key="sk-right-key") as server:
        with Client(server.base_url, api_key="sk-wrong-key") as client, pytest.raises(HttpError) as caught:
            client.chat("m", HELLO)
        with Client(server.base_url, api_key="sk-right-key") as client:
            assert client.chat("m", HELLO).content == "x"
    assert caught.value.status == 401
    assert [received.path for received in server.requests] == ["/v1/chat/completions"] * 2
    assert server.requests[1].body["messages"] == HELLO


def test_a_stall_costs_no_time_in_process() -> None:
    """An answer that would come too late is a timeout at once."""
    with pytest.raises(ProviderTimeoutError):
        FakeClient(Fault.slow(5), timeout=1).chat("m", HELLO)


def test_server_stops_in_a_stall() -> None:
    """Stopping does not wait for a silent answer to end."""
    server = EchoServer(Fault.stall())
    with server, httpx.Client(timeout=30) as client:
        failed: list[Exception] = []

        def ask() -> None:
            try:
                client.post(f"{server.base_url}/v1/chat/completions", json={"messages": HELLO})
            except httpx.HTTPError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while not server.requests:
            pass
        server.stopping.set()
        asking.join(120)
    assert not asking.is_alive()
    assert failed


def test_server_that_never_started() -> None:
    """Stopping a server that was not started, or twice, is nothing special."""
    server = EchoServer()
    server.stop()
    server.stop()


@pytest.mark.parametrize("body", [b"{", b"[]", b"[" * 100_000])
def test_requests_that_are_none(body: bytes) -> None:
    """What is no JSON object is answered with 400, on the wire too."""
    assert route("POST", "/v1/chat/completions", body, Script(())).status == 400
    with EchoServer() as server:
        assert httpx.post(f"{server.base_url}/v1/chat/completions", content=body).status_code == 400


def test_script_items_that_are_none() -> None:
    """A script of something else is the test author's mistake."""
    with pytest.raises(UsageError, match="cannot answer with int"):
        Script((3,)).next({})


def test_answer_in_pieces() -> None:
    """A body is written whole or in pieces, which join to it."""
    answer = Answer(b"abcdefg", piece_bytes=3)
    assert answer.pieces() == [b"abc", b"def", b"g"]
    assert Answer(b"").pieces() == []


def test_lone_surrogates_can_be_scripted() -> None:
    """Half a character goes over the wire as an escape, as some providers send it."""
    raw = Script(("\ud83d",)).next({}).body
    assert json.loads(raw)["choices"][0]["message"]["content"] == "\ud83d"
