"""What a fake provider answers: replies, faults, and the script that deals them out one request at a time."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from innkeeper.prompt import FrozenDict, UsageError
from innkeeper.prompt.text import text_of

Ending = Literal["end", "cut", "stall", "refuse"]

_JSON: Final = FrozenDict({"content-type": "application/json"})
_EVENTS: Final = FrozenDict({"content-type": "text/event-stream; charset=utf-8"})
_WORD: Final = re.compile(r"\S+\s*|\s+")
_MESSAGES: Final = {
    400: "The prompt is too long for this model.",
    401: "The key is not valid.",
    404: "The model does not exist.",
    429: "Too many requests.",
}


class Answer(msgspec.Struct, frozen=True):
    """One HTTP answer as it goes over the wire: ``ending`` says how its body ends, ``delay`` (s) how late it begins.

    ``head_pause`` are seconds between two bytes of its head, ``pause`` between two pieces of its body.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = msgspec.field(default_factory=lambda: _JSON)
    ending: Ending = "end"
    delay: float = 0.0
    piece_bytes: int = 0
    head_pause: float = 0.0
    pause: float = 0.0

    def pieces(self) -> list[bytes]:
        """The body as it is written: whole, or in pieces of ``piece_bytes``."""
        size = self.piece_bytes or max(len(self.body), 1)
        return [self.body[start : start + size] for start in range(0, len(self.body), size)]


class FakeReply(msgspec.Struct, frozen=True, kw_only=True):
    """A completion. ``tool_calls`` are ``(name, arguments)`` pairs or whole calls in the provider's shape."""

    content: str | None = ""
    tool_calls: tuple[Any, ...] = ()
    finish_reason: str | None = None
    reasoning: str | None = None
    usage: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = {}

    def message(self) -> dict[str, Any]:
        """The assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content, **self.extra}
        if self.reasoning is not None:
            message["reasoning"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [_call(call, number) for number, call in enumerate(self.tool_calls, 1)]
        return message

    def answer(self, request: Mapping[str, Any], number: int) -> Answer:
        """The reply to ``request``, streamed if that asks for a stream."""
        reason = self.finish_reason or ("tool_calls" if self.tool_calls else "stop")
        usage = self.usage or _usage(request, self.content or "")
        body = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [{"index": 0, "message": self.message(), "finish_reason": reason}],
            "usage": usage,
        }
        return _streamed(body, request) if request.get("stream") else Answer(_json(body))


def _call(call: Any, number: int) -> Any:
    if isinstance(call, Mapping):
        return dict(call)
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}


def _usage(request: Mapping[str, Any], content: str) -> dict[str, int]:
    """Token figures that count words: simple to predict in a test."""
    prompt = sum(len(text_of(message.get("content")).split()) for message in request.get("messages", ()))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": len(content.split()),
        "total_tokens": prompt + len(content.split()),
    }


def _streamed(body: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
    choice = body["choices"][0]
    message = dict(choice["message"])
    words = _WORD.findall(message.pop("content") or "")
    calls = [{"index": index, **call} for index, call in enumerate(message.pop("tool_calls", ()))]
    deltas = [{**message, "content": ""}, *({"content": word} for word in words), *({"tool_calls": [c]} for c in calls)]
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": body["usage"]})
    events = [b"data: " + _json(chunk) + b"\n\n" for chunk in chunks]
    return Answer(b"".join([*events, b"data: [DONE]\n\n"]), headers=_EVENTS)


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong. ``reply`` is what would have been answered; `change` spoils it."""

    change: Callable[[Answer], Answer]
    reply: Any = "It would have been this."

    @classmethod
    def status(
        cls, code: int, message: str | None = None, *, retry_after: int | None = None, body: bytes | None = None
    ) -> Fault:
        """An HTTP status with an error body in the usual shape, or ``body``."""
        error = {"error": {"message": message or _MESSAGES.get(code, "It did not work."), "code": code}}
        headers = _JSON if retry_after is None else {**_JSON, "retry-after": str(retry_after)}
        answer = Answer(_json(error) if body is None else body, code, headers)
        return cls(lambda _: answer)

    @classmethod
    def raw(
        cls, body: bytes, content_type: str = "text/event-stream", *, status: int = 200, piece_bytes: int = 0
    ) -> Fault:
        """These bytes."""
        answer = Answer(body, status, {"content-type": content_type}, piece_bytes=piece_bytes)
        return cls(lambda _: answer)

    @classmethod
    def html(cls, status: int = 200) -> Fault:
        """A web page."""
        return cls.raw(b"<!doctype html><title>Welcome</title><p>Nothing here.", "text/html", status=status)

    @classmethod
    def refuse(cls) -> Fault:
        """The connection is closed without a word."""
        return cls(lambda answer: msgspec.structs.replace(answer, ending="refuse"))

    @classmethod
    def stall(cls, after_bytes: int = 0, reply: Any = "One two three.") -> Fault:
        """Silence after so many bytes of the body."""
        return cls(lambda a: msgspec.structs.replace(a, body=a.body[:after_bytes], ending="stall"), reply)

    @classmethod
    def cut(cls, after_bytes: int, reply: Any = "One two three.") -> Fault:
        """The connection breaks after so many bytes of the body."""
        return cls(lambda a: msgspec.structs.replace(a, body=a.body[:after_bytes], ending="cut"), reply)

    @classmethod
    def slow(cls, seconds: float, reply: Any = "At last.") -> Fault:
        """The answer begins late."""
        return cls(lambda answer: msgspec.structs.replace(answer, delay=seconds), reply)

    @classmethod
    def drip(cls, seconds: float, reply: Any = "Drop by drop.", *, head: bool = True) -> Fault:
        """So many seconds between two bytes: of the head, or of the body alone. Over a server only."""
        change = {"head_pause": seconds} if head else {"pause": seconds, "piece_bytes": 1}
        return cls(lambda answer: msgspec.structs.replace(answer, **change), reply)

    @classmethod
    def gzip_lie(cls) -> Fault:
        """A body that is said to be compressed and is not."""
        return cls(lambda a: msgspec.structs.replace(a, headers={**a.headers, "content-encoding": "gzip"}))

    @classmethod
    def gzip(cls, reply: Any = "Packed.") -> Fault:
        """No fault: a body that is compressed and says so."""
        packed = "content-encoding"
        return cls(
            lambda a: msgspec.structs.replace(a, body=gzip.compress(a.body), headers={**a.headers, packed: "gzip"}),
            reply,
        )

    def answer(self, request: Mapping[str, Any], number: int) -> Answer:
        """The spoiled answer to ``request``."""
        return self.change(_answer(self.reply, request, number))


def _answer(item: Any, request: Mapping[str, Any], number: int) -> Answer:
    """The answer that one item of a script stands for."""
    if isinstance(item, (Fault, FakeReply)):
        return item.answer(request, number)
    if isinstance(item, Answer):
        return item
    if isinstance(item, str):
        return FakeReply(content=item).answer(request, number)
    if isinstance(item, Mapping):
        return Answer(_json(item))
    if callable(item):
        return _answer(item(request), request, number)
    msg = f"a fake cannot answer with {type(item).__name__}"
    raise UsageError(msg, hint="use text, a FakeReply, a Fault, a body, or a function of the request")


class Script:
    """Answers in order; after the last, the echo of what was said last. Safe between threads."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = list(items)
        self._number = 0
        self._lock = threading.Lock()

    def next(self, request: Mapping[str, Any]) -> Answer:
        """The answer to one chat completion request."""
        with self._lock:
            item = self._items.pop(0) if self._items else _echo
            self._number += 1
            number = self._number
        return _answer(item, request, number)


def _echo(request: Mapping[str, Any]) -> str:
    messages = request.get("messages") or [{}]
    return text_of(messages[-1].get("content"))


_MODELS: Final = frozenset({"completions", "responses", "messages", "chat", "completion", "generate", "stream"})
_VERBS: Final = (":generateContent", ":streamGenerateContent")
"""How the addresses end at which models answer, of all protocols."""


def route(method: str, path: str, body: bytes, script: Script, *, authorised: bool = True) -> Answer:
    """The answer of a fake provider to one HTTP request, under any prefix."""
    request = read_request(body)
    if not authorised or request is None:
        fault = Fault.status(400, "The body is not a JSON object.") if authorised else Fault.status(401)
        return fault.answer({}, 0)
    match method, path.partition("?")[0].rpartition("/")[2]:
        case "POST", end if end in _MODELS or end.endswith(_VERBS):
            return script.next(request)
        case "POST", "embeddings":
            return Answer(_json(_embeddings(request)))
        case "GET", "models":
            return Answer(_json({"object": "list", "data": [{"id": "echo", "object": "model"}]}))
        case "GET", "health":
            return Answer(_json({"status": "ok"}))
    return Fault.status(404, f"There is no {method} {path}.").answer({}, 0)


def read_request(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a request's body, which may be absent; ``None`` for anything else."""
    try:
        request = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None


def _embeddings(request: Mapping[str, Any]) -> dict[str, Any]:
    """Vectors of eight numbers, made of each text's digest."""
    items = request.get("input")
    texts = [items] if isinstance(items, str) else items if isinstance(items, list) else []
    vectors = [[byte / 255 for byte in hashlib.blake2b(str(text).encode(), digest_size=8).digest()] for text in texts]
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "model": request.get("model"), "data": data}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
