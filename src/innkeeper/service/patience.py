"""Patience: how long a connection may do nothing before it is hung up on."""

from __future__ import annotations

import asyncio

__all__ = ["Patience"]


class Patience:
    """One connection's. `wait` begins to count, `stop` ends it; a client that still takes its reply is waited for."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._unsent = 0
        self._timer: asyncio.TimerHandle | None = None

    def wait(self) -> None:
        """Hang up in so many seconds, unless stopped."""
        self.stop()
        self._unsent = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._late)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        left = self._transport.get_write_buffer_size()
        if not left:
            self._transport.close()
        elif left < self._unsent:
            self.wait()  # a slow reader of a large reply
        else:
            self._transport.abort()
