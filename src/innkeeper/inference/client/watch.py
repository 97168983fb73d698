"""Watch: how long a call may take and how much may come; `cancelled_by`: whether its caller still wants it.

A transport's own timeout starts anew with every byte, so a server that drips would keep a reader for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from innkeeper.inference.errors import MAX_RESPONSE_BYTES, ProviderTimeoutError, RequestCancelledError
from innkeeper.prompt import LimitError

if TYPE_CHECKING:
    from innkeeper.inference.client.endpoint import Endpoint


CANCEL: Final[ContextVar[Any]] = ContextVar("innkeeper_cancel", default=None)
"""What the blocking caller is cancelled by."""


@contextmanager
def cancelled_by(cancel: Any) -> Iterator[None]:
    """Calls of a client in this block raise `RequestCancelledError` soon after ``cancel`` says so.

    ``cancel`` is an event (anything with ``is_set``) or a function without arguments; ``None`` changes nothing.
    """
    token = CANCEL.set(cancel if cancel is not None else CANCEL.get())
    try:
        yield
    finally:
        CANCEL.reset(token)


def check_cancelled(cancel: Any) -> None:
    """Raise `RequestCancelledError` when ``cancel``, an event or a function, says so."""
    asked = getattr(cancel, "is_set", cancel)
    if asked is not None and asked():
        msg = "the request was cancelled"
        raise RequestCancelledError(msg)


class Watch:
    """Watches one call from the moment it is made."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._deadline = monotonic() + endpoint.total_timeout
        self._size = 0

    @property
    def left(self) -> float:
        """Seconds that are left of the call's total time."""
        return self._deadline - monotonic()

    def check(self, partial: str = "") -> None:
        """Raise `ProviderTimeoutError` when the total time is over; ``partial`` is the text so far."""
        if monotonic() > self._deadline:
            raise self.late(partial)

    def late(self, partial: str = "") -> ProviderTimeoutError:
        """Return the error of an answer that took too long."""
        msg = f"the answer from {self._endpoint.shown} took longer than {self._endpoint.total_timeout:g} s"
        error = ProviderTimeoutError(msg, phase="total", partial=partial)
        error.origin = self._endpoint.base_url
        return error

    def count(self, piece: bytes) -> None:
        """Count bytes that have come. Raises `LimitError` past `MAX_RESPONSE_BYTES`."""
        self._size += len(piece)
        if self._size > MAX_RESPONSE_BYTES:
            what = "the provider's answer"
            raise LimitError(what, limit="MAX_RESPONSE_BYTES", allowed=MAX_RESPONSE_BYTES, found=self._size)
