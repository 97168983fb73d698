"""AnswerDecoder: the bytes of an answer to events, for every `Reading`: server-sent events, lines of JSON, or one JSON body.

What the bytes begin with counts more than the content type, which servers get wrong. A stream is whole when its `Reading` says
so; one that ends before is `StreamCutError`, with the text that had come. Server-sent events are read as the WHATWG has them;
texts hold whole characters, also where a provider cuts between two surrogates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from innkeeper.inference.adapters.adapter import Reading
from innkeeper.inference.client.endpoint import Endpoint, decoded, error_of, sample
from innkeeper.inference.errors import MAX_EVENT_BYTES, DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.events import (
    CallDelta,
    ModelEvent,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    UsageReport,
)
from innkeeper.prompt import LimitError
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.text import whole_text

_Delta: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | CallDelta
_DELTAS: Final = (TextDelta, ReasoningDelta, RefusalDelta, CallDelta)


class SplitCharacters:
    """Holds half a character back until the delta that has its other half; a half that stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._held: _Delta | None = None

    def take(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """The events that are whole with this one."""
        before, self._held = self._held, None
        if before is None and (not isinstance(event, _DELTAS) or _delta_text(event).isascii()):
            yield event
            return
        half = _delta_text(before) if before is not None and _goes_on(before, event) else ""
        if before is not None and not half:
            yield _with(before, "\ufffd")
        if not isinstance(event, _DELTAS):
            yield event
            return
        text = half + _delta_text(event)
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held = _half(event, text[-1])
            text = text[:-1]
        whole = whole_text(text)
        yield event if whole == _delta_text(event) else _with(event, whole)

    def end(self) -> Iterator[ModelEvent]:
        """What was held back to the end."""
        if self._held is not None:
            yield _with(self._held, "\ufffd")


def _goes_on(before: _Delta, event: ModelEvent) -> bool:
    """Whether one text goes on where the other ended."""
    alike = all(getattr(before, name, None) == getattr(event, name, None) for name in ("index", "summary"))
    return type(before) is type(event) and alike and not (getattr(event, "new", 0) or getattr(event, "part", 0))


def _half(event: _Delta, half: str) -> _Delta:
    """Half a character of the text of ``event``, without what else it brought."""
    if isinstance(event, CallDelta):
        return CallDelta(index=event.index, arguments=half)
    if isinstance(event, ReasoningDelta):
        return ReasoningDelta(text=half, summary=event.summary)
    return type(event)(text=half)


def _delta_text(event: _Delta) -> str:
    return event.arguments if isinstance(event, CallDelta) else event.text


def _with(event: _Delta, text: str) -> Any:
    return msgspec.structs.replace(event, **{"arguments" if isinstance(event, CallDelta) else "text": text})


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


_DONE: Final = "[DONE]"
_FIELDS: Final = (b"data", b"event", b"id", b"retry", b":")


class AnswerDecoder:
    """Bytes of one answer to events. ``partial`` is the text so far."""

    def __init__(self, reading: Reading, endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> None:
        self._endpoint, self._status, self._headers = endpoint, status, headers
        self._reading = reading
        self._split = SplitCharacters()
        self._parser: EventParser | _Lines | None = None
        self._start = bytearray()
        self._whole = False
        self._count = 0
        self._last_id = ""
        self._texts: list[str] = []
        self.done = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    def feed(self, piece: bytes) -> Iterator[ModelEvent]:
        """The events that ``piece`` completes. Raises `DecodeError`, `ReplyError`, `LimitError`."""
        try:
            yield from self._fed(piece)
        except (DecodeError, ReplyError) as error:
            error.partial = self.partial
            raise

    def _fed(self, piece: bytes) -> Iterator[ModelEvent]:
        if self._parser is None:
            self._start += piece
            if self._whole or not self._begins():
                return
            piece = bytes(self._start)
        if self._parser is not None:
            for event in self._parser.feed(piece):
                yield from self._event(event)

    def close(self) -> Iterator[ModelEvent]:
        """The events that the end completes. Raises `StreamCutError` where the answer is not whole, `DecodeError`."""
        if self._parser is None and self._start.strip():
            response = decoded(self._status, self._headers, bytes(self._start), self._endpoint)
            if not isinstance(response.body, Mapping):
                raise DecodeError("the provider's answer is not a JSON object")
            yield from self._heard(self._reading.whole(response.body))
        else:
            left = None if self.done or self._parser is None else self._parser.close()
            if left is not None:
                yield from self._last(left)
            if self.done and not (self._reading.has_message or self._reading.finished):
                raise DecodeError("the provider's stream has no message", hint="is this the right kind of endpoint?")
            yield from self._heard(self._reading.end(marked=self.done))
            if not (self.done or self._reading.finished):
                raise self._cut()
        yield from self._noted(self._split.end())

    def _begins(self) -> bool:
        """Whether it is known what the bytes are; with that, what reads them."""
        start = bytes(self._start[:4096]).removeprefix(_BOM).lstrip()
        if not start or _BOM.startswith(start):
            return False
        kind = self._headers.get("content-type", "")
        if start.startswith(b"{") and "ndjson" in kind:
            self._parser = _Lines()
        elif start.startswith((b"{", b"[", b"<")):
            self._whole = True
        elif "event-stream" in kind or start.startswith(_FIELDS):
            self._parser = EventParser()
        return self._parser is not None

    def _event(self, event: Event) -> Iterator[ModelEvent]:
        repeated = bool(event.id) and event.id == self._last_id
        self._last_id = event.id
        self._count += 1
        text = event.data.strip()
        self.done = self.done or text == _DONE
        if self.done or repeated or not text:
            return
        chunk = self._json(event)
        failure = self._reading.failure(chunk, event.type)
        reported = None if failure is None else error_of(failure, self._endpoint)
        if reported is not None:
            raise reported
        yield from self._heard(self._reading.chunk(chunk, event.type))

    def _heard(self, events: Iterator[ModelEvent]) -> Iterator[ModelEvent]:
        try:
            for event in events:
                yield from self._noted(self._split.take(event))
        except FormatError as error:
            raise DecodeError(f"the provider's answer holds what JSON cannot say: {error.message}") from error

    def _noted(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        for event in events:
            self._reading.has_message = self._reading.has_message or not isinstance(event, (Started, UsageReport))
            if isinstance(event, TextDelta):
                self._texts.append(event.text)
            yield event

    def _json(self, event: Event) -> Mapping[str, Any]:
        try:
            chunk = _loaded(event.data)
        except (ValueError, RecursionError) as error:
            msg = f"event {self._count} of the stream is not JSON"
            raise DecodeError(msg, sample=sample(event.data, self._endpoint)) from error
        return chunk if isinstance(chunk, Mapping) else {}

    def _last(self, event: Event) -> Iterator[ModelEvent]:
        """An event without what should close it: taken if it is whole, else the stream was cut in it."""
        try:
            yield from self._event(event)
        except DecodeError as error:
            raise StreamCutError("the stream ended inside an event", partial=self.partial) from error

    def _cut(self) -> DecodeError | StreamCutError:
        if not self._count:
            return DecodeError("the stream held no events")
        return StreamCutError(
            "the stream ended without a finish reason or another mark of its end", partial=self.partial
        )


def _loaded(text: str) -> Any:
    """JSON; what the quick reader does not take (halves of characters, large numbers, NaN) is for the patient one."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return json.loads(text)


class _Lines:
    """Lines of JSON as events, one each."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[Event]:
        self._rest += piece
        if b"\n" not in piece:
            self._check()
            return []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        self._check()
        return [Event(line.decode("utf-8", "replace")) for line in lines if line.strip()]

    def close(self) -> Event | None:
        return Event(self._rest.decode("utf-8", "replace")) if self._rest.strip() else None

    def _check(self) -> None:
        size = len(self._rest)
        if size > MAX_EVENT_BYTES:
            raise LimitError("a line of the stream", limit="MAX_EVENT_BYTES", allowed=MAX_EVENT_BYTES, found=size)
