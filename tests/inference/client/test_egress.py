"""Egress: where requests go whose address somebody else has said."""

import asyncio
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpcore
import httpx
import pytest
from httpcore._backends.auto import AutoBackend
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.client.egress import LOOPBACK, Egress, is_public
from innkeeper.inference.client.sockets import guard_connections
from innkeeper.inference.errors import AddressRefusedError, ProviderConnectionError
from innkeeper.prompt.errors import ConfigError


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0",  # noqa: S104 - named to be refused
        "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.100.100.200", "168.63.129.16", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:0a00:1::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_not_public(address: str) -> None:
    """This machine, private networks, clouds' own services, and what wraps their addresses are not the open internet."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8"]
)
def test_public(address: str) -> None:
    """Others are."""
    assert is_public(address)


@pytest.mark.parametrize(
    ("url", "passes"),
    [
        ("https://api.example.org/v1", True),
        ("http://1.1.1.1", True),
        ("http://127.0.0.1:11434", False),
        ("http://localhost:11434", False),
        ("http://LOCALHOST./", False),
        ("http://inn.localhost/", False),
        ("http://[::1]/", False),
        ("http://127.1/", False),
        ("http://0x7f.1/", False),
        ("http://2130706433/", False),
        ("http://0177.0.0.1/", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("http://user@10.0.0.1/", False),
        ("http://[::ffff:127.0.0.1]/", False),
        ("file:///etc/passwd", False),
        ("gopher://1.1.1.1/", False),
        ("//1.1.1.1", False),
        ("http://", False),
        ("http://[::1", False),
        ("http://h:99999/", False),
    ],
)
def test_urls(url: str, passes: bool) -> None:
    """What can be told from an address alone is told before anything is resolved; old spellings of numbers are numbers."""
    if passes:
        Egress().check(url)
    else:
        with pytest.raises(AddressRefusedError) as caught:
            Egress().check(url)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("allowed", "host", "port", "addresses", "passes"),
    [
        (("localhost:11434",), "localhost", 11434, ["127.0.0.1"], True),
        (("localhost:11434",), "localhost", 8080, ["127.0.0.1"], False),
        (("localhost",), "LOCALHOST.", 1, ["127.0.0.1", "::1"], True),
        (("ollama.lan",), "ollama.lan", 80, ["192.168.1.9"], True),
        (("ollama.lan",), "evil.example", 80, ["192.168.1.9"], False),
        (("10.1.0.0/16",), "inside.example", 80, ["10.1.2.3"], True),
        (("10.1.0.0/16",), "inside.example", 80, ["10.1.2.3", "10.2.2.3"], False),
        (("[::1]:8080",), "::1", 8080, ["::1"], True),
        (("::1",), "::1", 8080, ["::1"], True),
        ((), "rebinding.example", 80, ["1.1.1.1", "127.0.0.1"], False),
        (LOOPBACK, "metadata.example", 80, ["169.254.169.254"], False),
    ],
)
def test_allowed(allowed: tuple[str, ...], host: str, port: int, addresses: list[str], passes: bool) -> None:
    """The operator allows by name, address, network and port; of a name's addresses all have to pass."""
    if passes:
        assert Egress(allowed).choose(host, port, addresses) == addresses
    else:
        with pytest.raises(AddressRefusedError):
            Egress(allowed).choose(host, port, addresses)


@pytest.mark.parametrize("text", ["", "http://localhost", "10.0.0.0/99", ":80", "a/b"])
def test_no_host(text: str) -> None:
    """What is no host is refused when the service starts."""
    with pytest.raises(ConfigError):
        Egress((text,))


@given(st.text(max_size=60) | st.from_regex(r"https?://[0-9a-fx.:\[\]%]{0,30}(/.*)?", fullmatch=True))
def test_any_url(url: str) -> None:
    """Any text passes or is refused, and a literal address that passes is a public one."""
    try:
        Egress().check(url)
    except AddressRefusedError:
        return
    try:
        host = httpx.URL(url).host if url.isascii() else ""
        socket.inet_pton(socket.AF_INET, host)
    except (OSError, ValueError, httpx.InvalidURL):
        return
    assert is_public(host)


class Silent(BaseHTTPRequestHandler):
    """A server that answers, or sends on to somebody else."""

    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        self.send_response(302 if "away" in self.path else 200)
        self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/secret")  # type: ignore[attr-defined]
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    """A server on this machine."""
    made = HTTPServer(("127.0.0.1", 0), Silent)
    made.paths = []  # type: ignore[attr-defined]
    Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def ask(url: str, egress: Egress, kind: str) -> int:
    """The status of a provider's list of models."""
    if kind == "sync":
        with Client(url, egress=egress) as client:
            return client.models().status

    async def run() -> int:
        async with AsyncClient(url, egress=egress) as client:
            return (await client.models()).status

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_clients(server: HTTPServer, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means this machine is refused before anything is sent; one that is allowed is asked. No proxy is used."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    url = f"http://localhost:{server.server_port}"
    with pytest.raises(AddressRefusedError):
        ask(url, Egress(), kind)
    assert not server.paths  # type: ignore[attr-defined]
    assert ask(url, Egress((f"localhost:{server.server_port}",)), kind) == 200
    with pytest.raises(ProviderConnectionError):
        ask("http://no-such-host.invalid", Egress(), kind)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_pinned(server: HTTPServer, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is resolved once: what it means afterwards is not asked, and the connection goes to what was looked at."""
    answers = [["127.0.0.1"], ["169.254.169.254"]]

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if host in {"127.0.0.1", "169.254.169.254"}:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert ask(f"http://twice.example:{server.server_port}", Egress(("127.0.0.1",)), kind) == 200
    assert len(answers) == 1


def test_no_redirects(server: HTTPServer) -> None:
    """An answer that sends on is an answer: nobody goes there."""
    egress = Egress(("127.0.0.1",))
    client = guard_connections(httpx.Client(trust_env=False), egress)
    with client:
        assert client.get(f"http://127.0.0.1:{server.server_port}/away").status_code == 302
    assert server.paths == ["/away"]  # type: ignore[attr-defined]


def test_unix_sockets() -> None:
    """A socket of this machine is no way around."""
    client = guard_connections(httpx.Client(transport=httpx.HTTPTransport(uds="no.sock"), trust_env=False), Egress())
    with client, pytest.raises(AddressRefusedError):
        client.get("http://1.1.1.1/")


def test_second_address(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a host has several addresses the next is tried, as without a guard."""
    real = httpcore.SyncBackend.connect_tcp
    tried: list[str] = []

    def connect(self: Any, host: str, *more: Any, **rest: Any) -> Any:
        tried.append(host)
        if host == "127.0.0.2":
            raise httpcore.ConnectError
        return real(self, host, *more, **rest)

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        names = ["127.0.0.2", "127.0.0.1"] if host == "two.example" else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in names]

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with guard_connections(httpx.Client(trust_env=False), Egress(LOOPBACK)) as client:
        assert client.get(f"http://two.example:{server.server_port}/v1/models").status_code == 200
    assert tried == ["127.0.0.2", "127.0.0.1"]


def test_second_address_of_a_client(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with a client."""
    real = AutoBackend.connect_tcp
    tried: list[str] = []

    async def connect(self: Any, host: str, *more: Any, **rest: Any) -> Any:
        tried.append(host)
        if host == "127.0.0.2":
            raise httpcore.ConnectError
        return await real(self, host, *more, **rest)

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        names = ["127.0.0.2", "127.0.0.1"] if host == "two.example" else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in names]

    monkeypatch.setattr(AutoBackend, "connect_tcp", connect)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with Client(f"http://two.example:{server.server_port}", egress=Egress(LOOPBACK)) as client:
        assert client.models().status == 200
    assert tried == ["127.0.0.2", "127.0.0.1"]
