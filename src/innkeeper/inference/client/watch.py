"""Watch: how long a call may take, how much may come, and whether its caller still wants it.

A socket's own timeout starts anew with every byte, so a server that drips keeps a reader for ever, and a reader that waits
cannot be told to stop. The sync client therefore reads through `innkeeper.inference.client.sockets`: each wait is cut to
what is left of the call's time and, where somebody may cancel, to `CANCEL_INTERVAL`. The asynchronous client has its event
loop for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from innkeeper.inference.errors import CANCEL_INTERVAL, MAX_RESPONSE_BYTES, ProviderTimeoutError, RequestCancelledError
from innkeeper.prompt import LimitError

if TYPE_CHECKING:
    from innkeeper.inference.client.endpoint import Endpoint


_CANCEL: Final[ContextVar[Any]] = ContextVar("innkeeper_cancel", default=None)
_WATCH: Final[ContextVar[Watch | None]] = ContextVar("innkeeper_watch", default=None)

_LEAST: Final = 0.001


@contextmanager
def cancelled_by(cancel: Any) -> Iterator[None]:
    """Calls of a client in this block raise `RequestCancelledError` soon after ``cancel`` says so.

    ``cancel`` is an event (anything with ``is_set``) or a function without arguments; ``None`` changes nothing.
    """
    token = _CANCEL.set(cancel if cancel is not None else _CANCEL.get())
    try:
        yield
    finally:
        _CANCEL.reset(token)


def check_cancelled(cancel: Any) -> None:
    """Raise `RequestCancelledError` when ``cancel``, an event or a function, says so."""
    asked = getattr(cancel, "is_set", cancel)
    if asked is not None and asked():
        msg = "the request was cancelled"
        raise RequestCancelledError(msg)


def pause(seconds: float) -> None:
    """Wait. Raises `RequestCancelledError` soon after the caller's `cancelled_by` says so."""
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        check_cancelled(_CANCEL.get())
        sleep(left if _CANCEL.get() is None else min(left, CANCEL_INTERVAL))
    check_cancelled(_CANCEL.get())


class Watch:
    """Watches one call. ``arrived`` says what text there is so far, where it is a stream."""

    def __init__(self, endpoint: Endpoint, arrived: Callable[[], str | None] = lambda: None) -> None:
        self._endpoint = endpoint
        self._arrived = arrived
        self._deadline = monotonic() + endpoint.total_timeout
        self._cancel = _CANCEL.get()
        self._size = 0

    @property
    def left(self) -> float:
        """Seconds that are left of the call's total time."""
        return self._deadline - monotonic()

    def within(self, seconds: float) -> float:
        """``seconds``, cut to what is left."""
        return max(_LEAST, min(seconds, self.left))

    def until_check(self, seconds: float) -> float:
        """How much of ``seconds`` may be waited before the next `check`."""
        return self.within(seconds if self._cancel is None else min(seconds, CANCEL_INTERVAL))

    @contextmanager
    def shortly(self, seconds: float) -> Iterator[None]:
        """In this block no more than ``seconds`` are left."""
        before = self._deadline
        self._deadline = min(before, monotonic() + seconds)
        try:
            yield
        finally:
            self._deadline = before

    def check(self) -> None:
        """Raise `RequestCancelledError`, or `ProviderTimeoutError` when the total time is over."""
        if self._cancel is not None:
            check_cancelled(self._cancel)
        if monotonic() > self._deadline:
            raise self.late()

    def late(self) -> ProviderTimeoutError:
        """The error of an answer that took too long."""
        msg = f"the answer from {self._endpoint.shown} took longer than {self._endpoint.total_timeout:g} s"
        error = ProviderTimeoutError(msg, phase="total", partial=self._arrived() or "")
        error.origin = self._endpoint.base_url
        return error

    def take(self, piece: bytes) -> bytes:
        """``piece``, counted. Raises `LimitError` past `MAX_RESPONSE_BYTES`, and what `check` raises."""
        self._size += len(piece)
        if self._size > MAX_RESPONSE_BYTES:
            what = "the provider's answer"
            raise LimitError(what, limit="MAX_RESPONSE_BYTES", allowed=MAX_RESPONSE_BYTES, found=self._size)
        self.check()
        return piece

    @staticmethod
    def current() -> Watch | None:
        """The watch of the call that uses a connection now."""
        return _WATCH.get()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Connections that are used in this block are watched."""
        token = _WATCH.set(self)
        try:
            yield
        finally:
            _WATCH.reset(token)
