"""Chat completions over the one stack: what a call of OpenAI's protocol returns, whole or in pieces.

Answers are read as the events of `OpenAIChat`, as everywhere; `ChatRecording` puts the provider's own pieces together besides,
so that a `ChatReply` has the body that would have come whole, with all that only this provider says.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from innkeeper.inference.adapters.adapter import is_whole, mapping
from innkeeper.inference.adapters.openai_chat import ChatReading, choice_of
from innkeeper.inference.client.endpoint import Response
from innkeeper.inference.client.portal import portal
from innkeeper.inference.errors import MAX_TOOL_CALLS, HttpError
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.prompt import UsageError
from innkeeper.prompt.text import text_of, whole_text

CHAT: Final = "/chat/completions"

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
        """Return the reply in a completion's body. Raises `DecodeError` when it has no message."""
        return cls.with_choice(choice_of(response.body), response)

    @classmethod
    def with_choice(cls, choice: Mapping[str, Any], response: Response) -> ChatReply:
        """Return the reply in one choice of a completion."""
        reason, usage = choice.get("finish_reason"), response.body.get("usage")
        return cls(
            content=whole_text(text_of(choice["message"].get("content"))),
            usage=usage if isinstance(usage, Mapping) else None,
            finish_reason=reason if isinstance(reason, str) else None,
            response=response,
        )


def chat_body(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any], *, include_usage: bool
) -> dict[str, Any]:
    """Return the body of a streamed chat completion."""
    body = {"model": model, "messages": messages, **options, "stream": True}
    if include_usage:
        body["stream_options"] = {**(options.get("stream_options") or {}), "include_usage": True}
    return body


def refuses_streaming(error: HttpError) -> bool:
    """Whether a server turned a request down because it cannot stream: then the same request, unstreamed, is right."""
    body = error.body if isinstance(error.body, Mapping) else {}
    detail = body.get("error")
    param = detail.get("param") if isinstance(detail, Mapping) else None
    about = param in {"stream", "stream_options"} or _ABOUT_STREAMS.search(error.message) is not None
    return error.status in _REFUSALS and about


class AsyncChatStream:
    """The pieces of an answer's text as an asynchronous iterator; when it has ended, `reply` is the whole answer.

    ``events`` are those of the answer, ``reply`` makes the whole of it at their end.
    """

    def __init__(self, events: AsyncGenerator[ModelEvent], reply: Callable[[], ChatReply]) -> None:
        self._events, self._reply = events, reply
        self._texts: list[str] = []
        self._ended = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    @property
    def reply(self) -> ChatReply:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        if not self._ended:
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        return self._reply()

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        async for event in self._events:
            if isinstance(event, TextDelta) and event.text:
                self._texts.append(event.text)
                return event.text
        self._ended = True
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop here; the connection is closed, which stops the provider."""
        await self._events.aclose()


class ChatStream:
    """Iterate over it for the text as it comes; when it has ended, `reply` is the whole answer.

    Leaving it early (`close`, or the end of a ``with`` block) closes the connection, which stops the provider.
    """

    def __init__(self, stream: AsyncChatStream) -> None:
        self._stream = stream

    @property
    def partial(self) -> str:
        """The text so far."""
        return self._stream.partial

    @property
    def reply(self) -> ChatReply:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        return self._stream.reply

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        piece = portal().call(_next(self._stream))
        if piece is None:
            raise StopIteration
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here. What came so far stays in `partial`."""
        portal().finish(self._stream.close())


async def _next(stream: AsyncChatStream) -> str | None:
    return await anext(stream, None)


class ChatRecording(ChatReading):
    """Reads an answer, and keeps what the provider said in its own shape."""

    def __init__(self) -> None:
        super().__init__()
        self._fold = ChatFold()
        self._whole: Mapping[str, Any] | None = None

    @property
    def body(self) -> Mapping[str, Any]:
        """The answer in the shape of an unstreamed chat completion."""
        return self._fold.body() if self._whole is None else self._whole

    def reply(self, status: int, headers: Mapping[str, str]) -> ChatReply:
        """Return the whole answer, once all of it was read."""
        return ChatReply.with_choice(self.body["choices"][0], Response(status, headers, self.body))

    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        """The events of one piece of a stream."""
        if self._whole is None:
            self._fold.take(data)
        yield from super().chunk(data, kind)

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """The events of an answer that came at once."""
        self._whole = body
        yield from super().whole(body)


_TEXTS: Final = ("content", "reasoning", "reasoning_content", "refusal")
_APART: Final = frozenset({"object", "choices", "usage", "obfuscation"})
_DELTA: Final = frozenset({*_TEXTS, "role", "tool_calls", "function_call"})
_CALL: Final = frozenset({"index", "id", "type", "function", "custom"})
_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "logprobs"})


class _Choice:
    """One alternative as far as it has come."""

    def __init__(self) -> None:
        self.role = "assistant"
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[int, dict[str, Any]] = {}
        self.latest: dict[int, int] = {}
        self.at_once: set[int] = set()
        self.extra: dict[str, Any] = {}
        self.beside: dict[str, Any] = {}
        self.finish_reason: str | None = None

    def take(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            self._delta(delta)
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        _keep(self.beside, choice, _CHOICE)
        if isinstance(choice.get("logprobs"), Mapping):
            _keep(self.beside.setdefault("logprobs", {}), choice["logprobs"])

    def _delta(self, delta: Mapping[str, Any]) -> None:
        if isinstance(delta.get("role"), str):
            self.role = delta["role"]
        for name in _TEXTS:
            if (content := delta.get(name)) and (text := text_of(content)):
                self.texts.setdefault(name, []).append(text)
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, Mapping):
                self._call(call, position)
        _keep(self.extra, delta, _DELTA)
        if isinstance(delta.get("function_call"), Mapping):
            _grow(self.extra.setdefault("function_call", {"name": "", "arguments": ""}), delta["function_call"])

    def _call(self, piece: Mapping[str, Any], position: int) -> None:
        index = piece.get("index")
        key = self._numbered(piece, index) if isinstance(index, int) else self._unnumbered(piece, position)
        if key not in self.calls and len(self.calls) >= MAX_TOOL_CALLS:
            return
        if key not in self.calls and is_whole(mapping(piece.get("function")).get("arguments")):
            self.at_once.add(key)
        call = self.calls.setdefault(key, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or piece.get("id") or ""
        call |= {name: value for name, value in piece.items() if name not in _CALL}
        if isinstance(piece.get("function"), Mapping):
            _grow(call["function"], piece["function"])
        if isinstance(custom := piece.get("custom"), Mapping):
            call.pop("function", None)
            call["type"], written = "custom", call.setdefault("custom", {"name": "", "input": ""})
            written["name"] = written["name"] or custom.get("name") or ""
            written["input"] += text_of(custom.get("input"))

    def _numbered(self, piece: Mapping[str, Any], index: int) -> int:
        """The number of a call: of two that begin under one number the second gets a new one."""
        key = self.latest.get(index, index)
        known, function = self.calls.get(key), piece.get("function")
        if known is not None and isinstance(function, Mapping) and function.get("name"):
            if piece.get("id"):
                key = self._unnumbered(piece, 0) if known["id"] and known["id"] != piece["id"] else key
            elif key in self.at_once:
                key = max(self.calls) + 1
            self.latest[index] = key
        return key

    def _unnumbered(self, piece: Mapping[str, Any], position: int) -> int:
        """The number of a call that has none: that of its id, else a new one for a new id, else its place."""
        known = {call["id"]: index for index, call in self.calls.items() if call["id"]}
        if piece.get("id"):
            return known.get(piece["id"], max(self.calls, default=-1) + 1)
        place = max(position, max(self.calls, default=0))
        return place + 1 if mapping(piece.get("function")).get("name") and place in self.at_once else place

    def message(self) -> dict[str, Any]:
        """The message so far, its texts whole; ``content`` is null beside tool calls when there was no text."""
        texts = {name: whole_text("".join(pieces)) for name, pieces in self.texts.items()}
        calls = [self.calls[index] for index in sorted(self.calls)]
        content = texts.pop("content", None if calls else "")
        called = {"tool_calls": calls} if calls else {}
        return {"role": self.role, "content": content, **texts, **called, **self.extra}


def _keep(fields: dict[str, Any], new: Mapping[str, Any], ruled: Collection[str] = ()) -> None:
    """Keep what has no rule of its own: lists grow, of anything else the last that is not null counts."""
    for name, value in new.items():
        if name in ruled or value is None:
            continue
        if isinstance(value, list) and isinstance(fields.get(name), list):
            fields[name].extend(value)
        else:
            fields[name] = list(value) if isinstance(value, list) else value


def _grow(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece of a call: the name where there is none yet, arguments at the end (whole where they are an object)."""
    name, arguments = piece.get("name"), piece.get("arguments")
    if isinstance(name, str) and not function["name"]:
        function["name"] = name
    if isinstance(arguments, str) and isinstance(function["arguments"], str):
        function["arguments"] += arguments
    elif isinstance(arguments, Mapping):
        function["arguments"] = dict(arguments)


class ChatFold:
    """Take the chunks of a stream one by one; `body` is the answer that would have come whole.

    Providers differ in what they repeat: ids and names of calls come once or with every piece, arguments as text, ``null`` or not
    at all, usage in a last chunk without choices or beside the finish. The fold takes them all.
    """

    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self._usage: Mapping[str, Any] | None = None

    def take(self, chunk: Mapping[str, Any]) -> None:
        """Take a chunk. Unknown fields are kept, odd shapes passed over."""
        _keep(self._top, chunk, _APART)
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping):
                index = choice.get("index")
                self._choices.setdefault(index if isinstance(index, int) else 0, _Choice()).take(choice)

    def body(self) -> dict[str, Any]:
        """Return the whole answer in the shape of an unstreamed chat completion."""
        choices = [
            {"index": index, "message": choice.message(), "finish_reason": choice.finish_reason, **choice.beside}
            for index, choice in sorted(self._choices.items())
        ]
        usage = {} if self._usage is None else {"usage": dict(self._usage)}
        return {"object": "chat.completion", **self._top, "choices": choices, **usage}
