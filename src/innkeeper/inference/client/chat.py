"""One chat completion's answer, without I/O: a `ChatReply` in the provider's own shape, decoded whole or from a stream of events.

How bytes become the pieces of an answer is the same as for every adapter (`innkeeper.inference.adapters.decoding`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, Self

from innkeeper.inference.adapters.adapter import Reading
from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.client.chunks import ChatFold, chunk_of, text_of, whole_text
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.wire import Response
from innkeeper.inference.errors import DecodeError, HttpError
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.prompt import UsageError

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
    """Bytes of an answer to text deltas: an event stream, or a whole JSON body as one delta. One decoder serves one answer."""

    def __init__(self, endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> None:
        self._status, self._headers = status, headers
        self._reading = _Texts()
        self._answer = AnswerDecoder(self._reading, endpoint, status, headers)

    @property
    def done(self) -> bool:
        """Whether the stream has said that nothing more will come."""
        return self._answer.done

    @property
    def partial(self) -> str:
        """The text so far."""
        return self._answer.partial

    def feed(self, piece: bytes) -> Iterator[str]:
        """The deltas that ``piece`` completes. Raises `DecodeError`, `ReplyError`, `LimitError`."""
        return (event.text for event in self._answer.feed(piece) if isinstance(event, TextDelta))

    def close(self) -> Iterator[str]:
        """The deltas that the end completes. Raises `StreamCutError` when the answer is not complete, `DecodeError`."""
        return (event.text for event in self._answer.close() if isinstance(event, TextDelta))

    def reply(self) -> ChatReply:
        """The whole answer, once `close` has passed."""
        fold = self._reading.fold
        return ChatReply(
            self.partial, fold.usage, fold.finish_reason, Response(self._status, self._headers, fold.body())
        )


class _Texts(Reading):
    """A chat completion as the pieces of its text; ``fold`` keeps all of it in the provider's own shape."""

    def __init__(self) -> None:
        self.fold = ChatFold()

    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        text = self.fold.take(data)
        self.finished = self.fold.finish_reason is not None
        if text:
            yield TextDelta(text=text)

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        choice_of(body)
        yield from self.chunk(chunk_of(body), "message")
        yield from self.end(marked=True)

    def end(self, *, marked: bool) -> Iterator[ModelEvent]:
        if text := self.fold.end():
            yield TextDelta(text=text)


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
        whole = getattr(self.decoder, "reply", None)
        if not self._ended or whole is None:
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        reply: ChatReply = whole()
        return reply


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
