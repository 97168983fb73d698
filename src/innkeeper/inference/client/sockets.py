"""Connections of the sync client that wait no longer than the `Watch` of the call that uses them allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import httpcore

from innkeeper.inference.client.watch import Watch

if TYPE_CHECKING:
    import httpx

__all__ = ["watch_connections"]

_WRITTEN_AT_ONCE: Final = 65_536


def watch_connections(client: httpx.Client) -> httpx.Client:
    """``client`` with its connections watched.

    httpx has no public way to its transports' sockets; transports of other kinds are left as they are.
    """
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
