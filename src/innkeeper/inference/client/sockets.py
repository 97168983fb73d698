"""Connections that go only where an `Egress` lets them.

httpx has no public way to its transports' sockets; transports of other kinds (for tests) are left as they are.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import httpcore

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import AddressRefusedError

if TYPE_CHECKING:
    import httpx


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
    return [str(address[0]) for *_, address in known]


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
