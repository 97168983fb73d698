"""Sockets: connections of the sync client look at the watch of the call that uses them, and at nothing without one."""

from typing import Any

import httpcore
import httpx
import pytest

from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.sockets import watch_connections
from innkeeper.inference.client.watch import Watch, cancelled_by
from innkeeper.inference.errors import CANCEL_INTERVAL, ProviderTimeoutError, RequestCancelledError

LATE = Endpoint.of({"base_url": "http://h", "total_timeout": 1e-6}, None, {})
LONG = Endpoint.of({"base_url": "http://h", "total_timeout": 1000}, None, {})


class Recorded(httpcore.NetworkBackend):
    """A backend whose every wait runs out at once, and is recorded; so are its streams."""

    def __init__(self) -> None:
        self.waits: list[float | None] = []
        self.written: list[int] = []

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any) -> Any:
        self.waits.append(timeout)
        if host == "late":
            raise httpcore.ConnectTimeout
        return RecordedStream(self)

    def connect_unix_socket(self, path: str, timeout: float | None = None, *_: Any, **__: Any) -> Any:
        self.waits.append(timeout)
        return RecordedStream(self)


class RecordedStream(httpcore.NetworkStream):
    """See `Recorded`."""

    def __init__(self, backend: Recorded) -> None:
        self.backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.backend.waits.append(timeout)
        raise httpcore.ReadTimeout

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.backend.waits.append(timeout)
        self.backend.written.append(len(buffer))

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> Any:
        self.backend.waits.append(timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        return info

    def close(self) -> None:
        self.backend.waits.append(-1)


def watched() -> tuple[Recorded, Any]:
    """A recorded backend, and what the client has in its place."""
    client, recorded = httpx.Client(), Recorded()
    client._transport._pool._network_backend = recorded  # type: ignore[attr-defined]
    watch_connections(client)
    return recorded, client._transport._pool._network_backend  # type: ignore[attr-defined]


def test_without_a_watch() -> None:
    """Times go through as they are."""
    recorded, backend = watched()
    stream = backend.connect_tcp("h", 80, 5.0)
    stream.write(b"x", 4.0)
    with pytest.raises(httpcore.ReadTimeout):
        stream.read(1, 3.0)
    tls = stream.start_tls(None, "h", 2.0)
    assert tls.get_extra_info("socket") == "socket"
    tls.close()
    backend.connect_unix_socket("/x", None)
    assert recorded.waits == [5.0, 4.0, 3.0, 2.0, -1, None]


def test_waits_are_cut_to_what_is_left() -> None:
    """When the call's time is over, a timeout of the socket is the call's, and nothing more is begun."""
    recorded, backend = watched()
    watch = Watch(LATE)
    stream = backend.connect_tcp("h", 80, 5.0)
    with watch.reading():
        with pytest.raises(ProviderTimeoutError):
            backend.connect_tcp("h", 80, 5.0)
        with pytest.raises(ProviderTimeoutError):
            stream.write(b"x", 5.0)
        with pytest.raises(ProviderTimeoutError) as caught:
            stream.read(1, 5.0)
    assert caught.value.phase == "total"
    assert max(wait or 0 for wait in recorded.waits[1:]) < 1


def test_a_socket_that_is_late_in_time() -> None:
    """While the call has time, the socket's own timeouts are its own."""
    _, backend = watched()
    with Watch(LONG).reading(), pytest.raises(httpcore.ConnectTimeout):
        backend.connect_tcp("late", 80, 5.0)
    stream = backend.connect_tcp("h", 80, 5.0)
    with Watch(LONG).reading(), pytest.raises(httpcore.ReadTimeout):
        stream.read(1, 0.0)


def test_reads_look_whether_they_are_wanted() -> None:
    """Where somebody may cancel, a long read is many short ones."""
    recorded, backend = watched()
    stream = backend.connect_tcp("h", 80, None)
    asked = iter([False, False, True])
    with cancelled_by(lambda: next(asked)), Watch(LONG).reading(), pytest.raises(RequestCancelledError):
        stream.read(1, 100.0)
    assert recorded.waits[1:] == [CANCEL_INTERVAL] * 3


def test_large_bodies_are_written_in_parts() -> None:
    """So that what is left is looked at on the way."""
    recorded, backend = watched()
    backend.connect_tcp("h", 80, None).write(b"x" * 150_000, 1.0)
    assert recorded.written == [65_536, 65_536, 18_928]


def test_other_transports_stay() -> None:
    """A transport that is not httpx's own is left as it is."""
    transport = httpx.MockTransport(lambda _: httpx.Response(204))
    assert watch_connections(httpx.Client(transport=transport)).get("http://h").status_code == 204
