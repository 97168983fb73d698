"""Connections that wait no longer than the `Watch` of their call allows, and go only where an `Egress` lets them.

The asynchronous client needs no watch, since its calls can be cancelled from outside.
httpx has no public way to its transports' sockets; transports of other kinds (for tests) are left as they are.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpcore

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.client.watch import Watch
from innkeeper.inference.errors import AddressRefusedError

if TYPE_CHECKING:
    import httpx


_WRITTEN_AT_ONCE: Final = 65_536


def watch_connections(client: httpx.Client) -> httpx.Client:
    """``client`` with its connections watched."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - see above
        pool: Any = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001 - see above
    return client


class _Backend(httpcore.NetworkBackend):
    """Opens streams that are watched."""

    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *more: Any, **rest: Any) -> _Stream:
        with _capped(timeout) as seconds:
            return _Stream(self._inner.connect_tcp(host, port, seconds, *more, **rest))

    def connect_unix_socket(self, path: str, timeout: float | None = None, *more: Any, **rest: Any) -> _Stream:
        with _capped(timeout) as seconds:
            return _Stream(self._inner.connect_unix_socket(path, seconds, *more, **rest))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A stream whose every wait looks at the watch."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = Watch.current()
        if watch is None or timeout is None:
            return self._inner.read(max_bytes, timeout)
        end = monotonic() + timeout
        while True:
            try:
                return self._inner.read(max_bytes, watch.until_check(end - monotonic()))
            except httpcore.ReadTimeout:
                watch.check()
                if monotonic() >= end:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
            with _capped(timeout) as seconds:
                self._inner.write(buffer[start : start + _WRITTEN_AT_ONCE], seconds)

    def close(self) -> None:
        self._inner.close()

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> _Stream:
        with _capped(timeout) as seconds:
            return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@contextmanager
def _capped(timeout: float | None) -> Iterator[float | None]:
    """``timeout`` cut to what is left of the call's time; a timeout after that is the call's."""
    watch = Watch.current()
    if watch is None or timeout is None:
        yield timeout
        return
    watch.check()
    try:
        yield watch.within(timeout)
    except httpcore.TimeoutException:
        watch.check()
        raise


_Client = TypeVar("_Client", bound="httpx.Client | httpx.AsyncClient")


def guard_connections(client: _Client, egress: Egress) -> _Client:
    """``client`` with its connections going only where they may; it has to be made with ``trust_env=False``."""
    pool: Any = getattr(client._transport, "_pool", None)  # noqa: SLF001 - httpx has no other way
    inner = getattr(pool, "_network_backend", None)
    if inner is not None:
        guarded = _AsyncGuarded if isinstance(inner, httpcore.AsyncNetworkBackend) else _Guarded
        pool._network_backend = guarded(inner, egress)  # noqa: SLF001 - httpx has no other way
    return client


def _listed(known: list[Any]) -> list[str]:
    """The addresses of an answer of the resolver."""
    return [str(place[0]) for *_, place in known]


@contextmanager
def _unresolved() -> Iterator[None]:
    """A name that cannot be resolved is a connection that cannot be made."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error


class _Guarded(httpcore.NetworkBackend):
    """Resolves and looks before it connects."""

    def __init__(self, inner: httpcore.NetworkBackend, egress: Egress) -> None:
        self._inner, self._egress = inner, egress

    def connect_tcp(self, host: str, port: int, *more: Any, **rest: Any) -> httpcore.NetworkStream:
        with _unresolved():
            known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        *others, last = self._egress.choose(host, port, _listed(known))
        for address in others:
            try:
                return self._inner.connect_tcp(address, port, *more, **rest)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._inner.connect_tcp(last, port, *more, **rest)

    def connect_unix_socket(self, *more: Any, **rest: Any) -> httpcore.NetworkStream:
        raise AddressRefusedError("a socket of this machine")

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _AsyncGuarded(httpcore.AsyncNetworkBackend):
    """See `_Guarded`."""

    def __init__(self, inner: httpcore.AsyncNetworkBackend, egress: Egress) -> None:
        self._inner, self._egress = inner, egress

    async def connect_tcp(self, host: str, port: int, *more: Any, **rest: Any) -> httpcore.AsyncNetworkStream:
        with _unresolved():
            known = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        *others, last = self._egress.choose(host, port, _listed(known))
        for address in others:
            try:
                return await self._inner.connect_tcp(address, port, *more, **rest)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(last, port, *more, **rest)

    async def connect_unix_socket(self, *more: Any, **rest: Any) -> httpcore.AsyncNetworkStream:
        raise AddressRefusedError("a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
