"""Bodies: how large the headers and the body of a request may be, and the one reader of bodies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from innkeeper.inference.client.within import within
from innkeeper.prompt.text import shorten
from innkeeper.service.errors import (
    MAX_HEADERS,
    MAX_UPLOAD,
    BodyLimitError,
    EncodingError,
    HeaderLimitError,
    SlowBodyError,
)
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.guard.work import Ticket


def check_size(scope: Mapping[str, Any]) -> None:
    """Let a request pass whose line and headers are not too large. Raises `HeaderLimitError`."""
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    size += len(scope.get("raw_path", b"")) + len(scope.get("query_string", b""))
    if size > MAX_HEADERS:
        hint = "send less in headers and path"
        raise HeaderLimitError("the headers", limit="MAX_HEADERS", allowed=MAX_HEADERS, found=size, hint=hint)


def check_encoding(headers: Mapping[str, str]) -> None:
    """Let a request pass whose body is as it is. Raises `EncodingError`."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise EncodingError(f"a body encoded as {shorten(encoding, 40)!r}")


class BodyReader:
    """One request's body, charged to its ticket while it arrives."""

    def __init__(
        self, receive: Callable[[], Awaitable[Any]], settings: Settings, ticket: Ticket, *, upload: bool = False
    ) -> None:
        self._limit, self._most = ("MAX_UPLOAD", MAX_UPLOAD) if upload else ("MAX_BODY", settings.max_body)
        self._receive = receive
        self._settings = settings
        self._ticket = ticket

    async def read(self, headers: Mapping[str, str]) -> bytes:
        """The whole body.

        Raises:
            BodyLimitError: it is larger than allowed, by its announcement or by what arrived.
            OverloadError: all bodies together are.
            SlowBodyError: it did not arrive in time, or the client went away.
        """
        self._allow(announced(headers))
        try:
            return await within(self._settings.body_seconds, self._collect())
        except TimeoutError:
            raise SlowBodyError("the body did not arrive in time", hint="send it at once") from None

    async def _collect(self) -> bytes:
        parts: list[bytes] = []
        while True:
            event = await self._receive()
            if event["type"] != "http.request":
                raise SlowBodyError("the client went away in the middle of the body")
            part = event.get("body", b"")
            self._allow(self._ticket.size + len(part))
            self._ticket.carry(len(part))
            parts.append(part)
            if not event.get("more_body"):
                return b"".join(parts)

    def _allow(self, size: int) -> None:
        if size > self._most:
            hint = "send less at once"
            raise BodyLimitError("the body", limit=self._limit, allowed=self._most, found=size, hint=hint)


def announced(headers: Mapping[str, str]) -> int:
    """What ``content-length`` says, or 0."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004 - digits of 2**63
