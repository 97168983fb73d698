"""One chat completion's answer, without I/O: a `ChatReply`, decoded whole or from a stream of events.

The events are server-sent events (the WHATWG *event stream* format), read from bytes in any pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, Self

import msgspec

from innkeeper.inference.client.chunks import ChatFold, chunk_of, text_of, whole_text
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.wire import Response, decoded, error_of, sample
from innkeeper.inference.errors import MAX_EVENT_BYTES, DecodeError, HttpError, StreamCutError
from innkeeper.prompt import LimitError, UsageError

__all__ = [
    "ChatDecoder",
    "ChatReply",
    "ChatStream",
    "Event",
    "EventParser",
    "Progress",
    "choice_of",
    "refuses_streaming",
]

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
        start = 0
        for end in _LINE_END.finditer(piece):
            self._rest += piece[start : end.start()]
            start = end.end()
            yield self._line()
        self._after_cr = piece.endswith(b"\r") or (self._after_cr and not piece)
        self._rest += piece[start:]
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
_WHOLE: Final = (b"{", b"[", b"<")
_CHAT_BOM: Final = b"\xef\xbb\xbf"
_REFUSALS: Final = frozenset({400, 405, 422, 501})
_ABOUT_STREAMS: Final = re.compile(r"\bstream(?:ing|_options)?\b", re.IGNORECASE)


class ChatReply(NamedTuple):
    """What a chat gave: the text, the provider's token figures, why it ended, and the response it came in."""

    content: str
    usage: Mapping[str, Any] | None
    finish_reason: str | None
    response: Response

    @classmethod
    def of(cls, response: Response) -> ChatReply:
        """The reply in a completion's body. Raises `DecodeError` when it has no message."""
        choice = choice_of(response.body)
        reason, usage = choice.get("finish_reason"), response.body.get("usage")
        return cls(
            content=whole_text(text_of(choice["message"].get("content"))),
            usage=usage if isinstance(usage, Mapping) else None,
            finish_reason=reason if isinstance(reason, str) else None,
            response=response,
        )


def choice_of(body: Any) -> Mapping[str, Any]:
    """The first choice of a completion's body, which has a message. Raises `DecodeError` otherwise."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    first = choices[0] if isinstance(choices, (list, tuple)) and choices else None
    if not isinstance(first, Mapping) or not isinstance(first.get("message"), Mapping):
        msg = "the provider's answer has no message (choices[0].message)"
        raise DecodeError(msg, hint="is this a chat completions endpoint?")
    return first


class ChatDecoder:
    """Bytes of an answer to text deltas. Takes an event stream, or a whole JSON body as one delta.

    What the first byte says counts more than the content type, which servers get wrong. One decoder serves one answer.
    """

    def __init__(self, endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        self._status = status
        self._headers = headers
        self._parser = EventParser()
        self._fold = ChatFold()
        self._start = bytearray()
        self._streams: bool | None = None
        self._events = 0
        self._last_id = ""
        self.done = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return self._fold.text

    def feed(self, piece: bytes) -> Iterator[str]:
        """The deltas that ``piece`` completes. Raises `DecodeError`, `ReplyError`, `LimitError`."""
        if self._streams is None:
            self._start += piece
            self._streams = _is_stream(bytes(self._start[:64]), self._headers)
            piece = bytes(self._start)
        elif not self._streams:
            self._start += piece
        if self._streams:
            for event in self._parser.feed(piece):
                yield from self._event(event)

    def close(self) -> Iterator[str]:
        """The deltas that the end completes. Raises `StreamCutError` when the answer is not complete, `DecodeError`."""
        if not self._streams and self._start.strip():
            yield from self._body()
        else:
            left = None if self.done else self._parser.close()
            if left is not None:
                yield from self._last(left)
            self._complete()
        yield from filter(None, [self._fold.end()])

    def reply(self) -> ChatReply:
        """The whole answer, once `close` has passed."""
        body = self._fold.body()
        usage = self._fold.usage
        return ChatReply(self.partial, usage, self._fold.finish_reason, Response(self._status, self._headers, body))

    def _body(self) -> Iterator[str]:
        response = decoded(self._status, self._headers, bytes(self._start), self._endpoint)
        choice_of(response.body)
        yield from filter(None, [self._fold.take(chunk_of(response.body))])

    def _event(self, event: Event) -> Iterator[str]:
        repeated = bool(event.id) and event.id == self._last_id
        self._last_id = event.id
        self._events += 1
        if event.data.strip() == _DONE:
            self.done = True
        if self.done or repeated or not event.data.strip():
            return
        chunk = self._json(event)
        failure = error_of(
            {"error": chunk} if event.type == "error" and "error" not in chunk else chunk, self._endpoint
        )
        if failure is not None:
            raise failure
        yield from filter(None, [self._fold.take(chunk)])

    def _json(self, event: Event) -> Mapping[str, Any]:
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError) as error:
            msg = f"event {self._events} of the stream is not JSON"
            raise DecodeError(msg, sample=sample(event.data, self._endpoint)) from error
        return chunk if isinstance(chunk, Mapping) else {}

    def _last(self, event: Event) -> Iterator[str]:
        """An event without its closing blank line: taken if it is whole, else the stream was cut in it."""
        try:
            yield from self._event(event)
        except DecodeError as error:
            msg = "the stream ended inside an event"
            raise StreamCutError(msg, partial=self.partial) from error

    def _complete(self) -> None:
        if self.done or self._fold.finish_reason is not None:
            return
        if not self._events:
            msg = "the stream held no events"
            raise DecodeError(msg)
        msg = "the stream ended without a finish reason or [DONE]"
        raise StreamCutError(msg, partial=self.partial)


def _is_stream(start: bytes, headers: Mapping[str, str]) -> bool | None:
    """Whether bytes begin an event stream; ``None`` while there is nothing but white space."""
    start = start.removeprefix(_CHAT_BOM).lstrip()
    if not start or _CHAT_BOM.startswith(start):
        return None
    if start.startswith(_WHOLE):
        return False
    if "event-stream" in headers.get("content-type", ""):
        return True
    return None if any(field.startswith(start) for field in _FIELDS[:-1]) else start.startswith(_FIELDS)


def refuses_streaming(error: HttpError) -> bool:
    """Whether a server turned a request down because it cannot stream: then the same request, unstreamed, is right."""
    body = error.body if isinstance(error.body, Mapping) else {}
    detail = body.get("error")
    param = detail.get("param") if isinstance(detail, Mapping) else None
    about = param in {"stream", "stream_options"} or _ABOUT_STREAMS.search(error.message) is not None
    return error.status in _REFUSALS and about


class _Decoder(Protocol):
    @property
    def partial(self) -> str: ...


class Progress:
    """How far a streamed answer has come; shared by the stream and its asynchronous twin, which set ``_ended``."""

    decoder: _Decoder | None = None
    _ended = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return self.arrived or ""

    @property
    def arrived(self) -> str | None:
        """The text so far; ``None`` while there is no answer at all."""
        return None if self.decoder is None else self.decoder.partial

    @property
    def reply(self) -> ChatReply:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        if not self._ended or not isinstance(self.decoder, ChatDecoder):
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        return self.decoder.reply()


class ChatStream(Progress):
    """Iterate over it for the text as it comes; when it has ended, `reply` is the whole answer.

    Leaving it early (`close`, or the end of a ``with`` block) closes the connection, which stops the provider.
    """

    def __init__(self, pieces: Callable[[ChatStream], Iterator[str]]) -> None:
        self._pieces: Any = pieces(self)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            piece: str = next(self._pieces)
        except StopIteration:
            self._ended = True
            raise
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here. What came so far stays in `partial`."""
        self._pieces.close()
