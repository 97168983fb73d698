"""AnswerDecoder: the bytes of an answer to events, for every `Reading`: server-sent events, lines of JSON, or one JSON body.

What the bytes begin with counts more than the content type, which servers get wrong. A stream is whole when its `Reading` says
so; one that ends before is `StreamCutError`, with the text that had come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.adapters.adapter import Reading
from innkeeper.inference.adapters.characters import SplitCharacters
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.events import Event, EventParser
from innkeeper.inference.client.wire import decoded, error_of, sample
from innkeeper.inference.errors import MAX_EVENT_BYTES, DecodeError, StreamCutError
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.prompt import LimitError
from innkeeper.prompt.errors import FormatError

_DONE: Final = "[DONE]"
_BOM: Final = b"\xef\xbb\xbf"
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
            yield from self._heard(self._reading.end(marked=self.done))
            if not (self.done or self._reading.finished):
                raise self._cut()
        yield from self._told(self._split.end())

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
                yield from self._told(self._split.take(event))
        except FormatError as error:
            raise DecodeError(f"the provider's answer holds what JSON cannot say: {error.message}") from error

    def _told(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        for event in events:
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
