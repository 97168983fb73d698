"""Server-sent events (the WHATWG *event stream* format), read from bytes in any pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from innkeeper.inference.errors import MAX_EVENT_BYTES
from innkeeper.prompt import LimitError

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event: its data lines joined by newlines, its type, and the id it was given itself."""

    data: str
    type: str = "message"
    id: str = ""


class EventParser:
    """Feed it bytes, get events. One parser serves one stream."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._type = b""
        self._id = b""
        self._after_cr = False
        self._first = True

    def feed(self, piece: bytes) -> list[Event]:
        """The events that ``piece`` completes. Raises `LimitError` for one past ``max_event_bytes``."""
        taken = [self._take(line) for line in self._lines(piece)]
        return [event for event in taken if event is not None]

    def close(self) -> Event | None:
        """What the stream's end left unfinished: an event without the blank line that ends it, or nothing.

        The standard drops it; some servers leave that line out of their last event, so the caller decides.
        """
        if self._rest:
            self._take(self._line())
        return self._ended()

    def _lines(self, piece: bytes) -> Iterator[bytes]:
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        *lines, rest = _LINE_END.split(piece)
        for line in lines:
            self._rest += line
            yield self._line()
        self._after_cr = piece.endswith(b"\r") or (self._after_cr and not piece)
        self._rest += rest
        self._check(len(self._rest))

    def _line(self) -> bytes:
        line = bytes(self._rest)
        self._rest.clear()
        self._check(len(line))
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        return line

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._ended()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._type = value
        elif name == b"error":  # llama.cpp names the field, not the type
            self._data, self._type = [value], b"error"
        elif name == b"id" and b"\0" not in value:
            self._id = value
        return None

    def _ended(self) -> Event | None:
        """The event whose lines were taken; nothing when none of them was data."""
        event = Event(_text(b"\n".join(self._data)), _text(self._type) or "message", _text(self._id))
        complete = event if self._data else None
        self._data, self._size, self._type, self._id = [], 0, b"", b""
        return complete

    def _check(self, more: int) -> None:
        if self._size + more > self._limit:
            what = "a server-sent event"
            raise LimitError(what, limit="MAX_EVENT_BYTES", allowed=self._limit, found=self._size + more)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
