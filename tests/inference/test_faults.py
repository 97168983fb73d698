"""The provider matrix: each fault, whole and streamed, with each client, is one documented, typed error, without a retry."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
    StreamCutError,
)
from innkeeper.inference.fake.provider import EchoServer, FakeClient
from innkeeper.inference.fake.script import Fault
from innkeeper.prompt import ProviderError

HELLO = [{"role": "user", "content": "Hello"}]
KEY = "sk-test-0123456789"
PATIENCE = 120.0

Ask = Callable[..., str]


def with_fake(_url: str, fault: Any, stream: bool, timeout: float = PATIENCE) -> str:
    """The text that the client in this process gets."""
    with FakeClient(fault, api_key=KEY, timeout=timeout) as client:
        try:
            return client.chat("m", HELLO, stream=stream).content
        finally:
            assert len(client.requests) == 1


def with_client(url: str, _fault: Any, stream: bool, timeout: float = PATIENCE) -> str:
    """The text that the client gets from a server."""
    with Client(url, api_key=KEY, timeout=timeout) as client:
        return client.chat("m", HELLO, stream=stream).content


def with_async_client(url: str, _fault: Any, stream: bool, timeout: float = PATIENCE) -> str:
    """The text that the asynchronous client gets from a server."""

    async def ask() -> str:
        async with AsyncClient(url, api_key=KEY, timeout=timeout) as client:
            return (await client.chat("m", HELLO, stream=stream)).content

    return asyncio.run(ask())


asks = pytest.mark.parametrize("ask", [with_fake, with_client, with_async_client], ids=["fake", "client", "async"])
streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@dataclass(frozen=True)
class Case:
    fault: Fault
    whole: type[ProviderError]
    stream: type[ProviderError] | None = None
    status: int | None = None


def status(code: int, **options: Any) -> Case:
    """A status and the error that it is."""
    return Case(Fault.status(code, **options), HttpError, status=code)


CASES = {
    "400_too_long": status(400),
    "401": status(401),
    "403": status(403),
    "404_model": status(404),
    "408": status(408),
    "409": status(409),
    "413": status(413),
    "422": status(422),
    "429_with_retry_after": status(429, retry_after=3),
    "429_without": status(429),
    "500": status(500),
    "502_html": Case(Fault.html(502), HttpError, status=502),
    "503_empty": status(503, body=b""),
    "529": status(529),
    "302": status(302),
    "refused_after_connect": Case(Fault.refuse(), ProviderConnectionError),
    "silence": Case(Fault.stall(), ProviderTimeoutError),
    "stall_in_the_middle": Case(Fault.stall(250), ProviderTimeoutError),
    "cut_at_once": Case(Fault.cut(0), ProviderConnectionError, StreamCutError),
    "cut_in_the_middle": Case(Fault.cut(250), ProviderConnectionError, StreamCutError),
    "cut_in_a_character": Case(
        Fault.cut(320, reply="你好你好你好 你好你好你好"), ProviderConnectionError, StreamCutError
    ),
    "html": Case(Fault.html(), DecodeError),
    "empty": Case(Fault.raw(b"", "application/json"), DecodeError),
    "empty_stream": Case(Fault.raw(b""), DecodeError),
    "json_cut": Case(Fault.raw(b'{"choices": [{', "application/json"), DecodeError),
    "no_message": Case(Fault.raw(b'{"choices": []}', "application/json"), DecodeError),
    "error_in_a_200": Case(Fault.raw(b'{"error": {"message": "Full."}}', "application/json"), ReplyError),
    "gzip_lie": Case(Fault.gzip_lie(), DecodeError),
}


@asks
@streams
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fault(case: Case, ask: Ask, stream: bool) -> None:
    """One fault, one outcome, one request; and the key is in none of it."""
    expected = (case.stream or case.whole) if stream else case.whole
    timeout = 0.2 if expected is ProviderTimeoutError else PATIENCE
    with EchoServer(case.fault, api_key=None) as server:
        with pytest.raises(expected) as caught:
            ask(server.base_url, case.fault, stream, timeout)
        assert len(server.requests) <= 1
    assert type(caught.value) is expected
    assert caught.value.status == case.status
    assert KEY not in caught.value.render() + repr(caught.value) + str(caught.value.to_dict())


@asks
@streams
def test_slow_first_byte(ask: Ask, stream: bool) -> None:
    """An answer that begins late, but within the time, is an answer."""
    fault = Fault.slow(0.1)
    with EchoServer(fault) as server:
        assert ask(server.base_url, fault, stream) == "At last."


@asks
@streams
def test_compressed(ask: Ask, stream: bool) -> None:
    """An answer that is compressed, and says so, is read."""
    fault = Fault.gzip()
    with EchoServer(fault) as server:
        assert ask(server.base_url, fault, stream) == "Packed."


@asks
def test_server_that_does_not_stream(ask: Ask) -> None:
    """Where streaming is turned down, the whole answer is asked for, once; JSON for a stream is taken as it is."""
    whole = Fault.raw(b'{"choices": [{"message": {"content": "Whole."}}]}', "application/json")
    with EchoServer(Fault.status(400, "stream is not supported"), whole, whole) as server:
        assert ask(server.base_url, whole, True) == "Whole."
        assert [request.body.get("stream") for request in server.requests][1:] in ([], [None])


def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


UNREACHABLE = {
    "refused": lambda: f"http://127.0.0.1:{closed_port()}",
    "no_such_name": lambda: "http://innkeeper.invalid",
    "name_that_cannot_be": lambda: "http://a..b",
    "label_too_long": lambda: f"http://{'a' * 70}.invalid",
}


@pytest.mark.parametrize("ask", [with_client, with_async_client], ids=["client", "async"])
@streams
@pytest.mark.parametrize("url", UNREACHABLE.values(), ids=UNREACHABLE)
def test_unreachable(url: Callable[[], str], ask: Ask, stream: bool) -> None:
    """Where there is no server there is a connection error with a hint, streamed or not, and it is no cut stream."""
    with pytest.raises(ProviderConnectionError) as caught:
        ask(url(), None, stream)
    assert type(caught.value) is ProviderConnectionError
    assert caught.value.hint == "check base_url and that the server runs"


@pytest.mark.parametrize("ask", [with_client, with_async_client], ids=["client", "async"])
def test_tls_that_fails(ask: Ask) -> None:
    """A server that speaks no TLS where it should is a connection error."""
    with EchoServer() as server, pytest.raises(ProviderConnectionError):
        ask(server.base_url.replace("http:", "https:"), None, False)


def test_connection_that_does_not_open() -> None:
    """A server that does not take connections is a timeout in the phase `open`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        client = Client(f"http://127.0.0.1:{port}", open_timeout=0.2, timeout=0.2)
        with pytest.raises(ProviderTimeoutError) as caught:
            client.chat("m", HELLO)
        client.close()
        for one in waiting:
            one.close()
    assert caught.value.phase in {"open", "read"}
