"""The provider matrix: each fault at each adapter, with both clients, has the one outcome that the documentation names.

One typed error or an answer, one reason, no wait beyond the time allowed and a second, a second attempt only where it is safe.
"""

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.clients import Retries
from innkeeper.inference.client.model_clients import AsyncModelClient, ModelClient
from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    StreamCutError,
)
from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.fake.script import Answer, Script
from innkeeper.inference.reasons import reason_of
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.prompt import ProviderError
from tests.inference.adapters.answers import WIRES, Said, Wire
from tests.shared import ROOT

KEY = "sk-test-0123456789"
PATIENCE = 120.0
SHORT = 0.25
SAID = Said(("It is ", "läte 你好."))
AGAIN = Retries(attempts=2, first_wait=0.0)
PAGE = ROOT / "docs" / "inference" / "faults.md"


@dataclass(frozen=True)
class Fault:
    """What a provider does: ``spoil`` changes its good answer. ``error`` None: there is an answer nevertheless.

    ``again``: whether the request is sent a second time.
    """

    spoil: Callable[[Answer], Answer]
    error: type[ProviderError] | None
    reason: str = ""
    again: bool = False
    streams: tuple[bool, ...] = (False, True)
    timeout: float = PATIENCE


def status(code: int, reason: str, body: Any = None, *, again: bool = False, **headers: str) -> Fault:
    """A status with an error body."""
    raw = json.dumps({"error": {"message": "It did not work."}} if body is None else body).encode()
    named = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Fault(lambda _: Answer(raw, code, named), HttpError, reason, again)


def spoilt(error: type[ProviderError] | None, reason: str = "", **changes: Any) -> Fault:
    """The good answer with other facts: a function of it, or a value, each."""
    told = {name: changes.pop(name) for name in ("again", "streams", "timeout") if name in changes}

    def spoil(answer: Answer) -> Answer:
        new = {name: value(answer) if callable(value) else value for name, value in changes.items()}
        return msgspec.structs.replace(answer, **new)

    return Fault(spoil, error, reason, **told)


def half(answer: Answer) -> bytes:
    """The first half."""
    return answer.body[: len(answer.body) // 2]


def in_a_character(answer: Answer) -> bytes:
    """Up to the middle of the last character of several bytes, or of its escape."""
    place = max(answer.body.rfind("好".encode()), answer.body.rfind(b"\\u597d"))
    return answer.body[: place + 2]


def in_an_event(answer: Answer) -> bytes:
    """Up to the middle of the second piece of a stream."""
    sign = b"\n" if "ndjson" in answer.headers["content-type"] else b"\n\n"
    return answer.body[: answer.body.index(sign) + 12]


def twice(answer: Answer) -> bytes:
    """With its last piece once more."""
    sign = b"\n" if "ndjson" in answer.headers["content-type"] else b"\n\n"
    pieces = answer.body.split(sign)
    done = [piece for piece in pieces if b"[DONE]" in piece]
    rest = [piece for piece in pieces if piece and b"[DONE]" not in piece]
    return sign.join([*rest, rest[-1], *done, b""])


def unknown(answer: Answer) -> bytes:
    """With a piece of a kind that nobody knows, and a comment, in front."""
    if "ndjson" in answer.headers["content-type"]:
        return b'{"news": 1}\n' + answer.body
    return b': hello\n\nevent: news\ndata: {"type": "news", "what": 1}\n\n' + answer.body


def without_usage(answer: Answer) -> bytes:
    """Without figures."""
    return re.sub(
        rb'"(usage|usageMetadata|prompt_eval_count|eval_count|tokens_\w+|\w+_tokens)": ', b'"x": ', answer.body
    )


HTML = b"<!doctype html><title>Welcome</title><p>Nothing here."
LONG = {"error": {"message": "prompt is too long: 9 tokens > 8 maximum", "type": "invalid_request_error"}}

FAULTS = {
    "400": status(400, "bad_request"),
    "400, prompt too long": status(400, "context_length", LONG),
    "401": status(401, "authentication"),
    "403": status(403, "authentication"),
    "404": status(404, "not_found"),
    "408": status(408, "timeout", again=True),
    "409": status(409, "conflict", again=True),
    "413": status(413, "context_length"),
    "422": status(422, "bad_request"),
    "429 with Retry-After": status(429, "rate_limit", again=True, retry_after="0"),
    "429 with a Retry-After past the budget": status(429, "rate_limit", retry_after="86400"),
    "429 without": status(429, "rate_limit", again=True),
    "429, no credit": status(429, "quota", {"error": {"message": "No.", "code": "insufficient_quota"}}),
    "500": status(500, "server", again=True),
    "502, HTML": Fault(lambda _: Answer(HTML, 502, {"content-type": "text/html"}), HttpError, "server", again=True),
    "503, empty": Fault(lambda _: Answer(b"", 503), HttpError, "overloaded", again=True),
    "529": status(529, "overloaded", again=True),
    "closed without an answer": spoilt(ProviderConnectionError, "connection", ending="refuse"),
    "slow first byte": spoilt(None, delay=0.02),
    "first byte too late": spoilt(ProviderTimeoutError, "timeout", delay=PATIENCE, timeout=SHORT),
    "stall": spoilt(ProviderTimeoutError, "timeout", body=half, ending="stall", timeout=SHORT),
    "connection breaks": spoilt(StreamCutError, "cut_stream", body=half, ending="cut"),
    "connection breaks in a character": spoilt(StreamCutError, "cut_stream", body=in_a_character, ending="cut"),
    "stream ends in an event": spoilt(StreamCutError, "cut_stream", body=in_an_event, streams=(True,)),
    "whole answer ends in its JSON": spoilt(DecodeError, "bad_answer", body=half, streams=(False,)),
    "empty": spoilt(DecodeError, "bad_answer", body=b""),
    "duplicate event": spoilt(None, body=twice, streams=(True,)),
    "unknown event": spoilt(None, body=unknown, streams=(True,)),
    "no usage": spoilt(None, body=without_usage),
    "HTML": Fault(lambda _: Answer(HTML, 200, {"content-type": "text/html"}), DecodeError, "bad_answer"),
    "said to be gzip, and is not": spoilt(
        DecodeError, "bad_answer", headers=lambda answer: {**answer.headers, "content-encoding": "gzip"}
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[EchoServer]:
    """One provider on this machine."""
    with EchoServer() as echo:
        yield echo


def good(wire: Wire, *, stream: bool) -> Answer:
    """What the provider would answer."""
    if not stream:
        return Answer(wire.whole(wire.fit(SAID)))
    return Answer(wire.stream(wire.fit(SAID)), headers={"content-type": wire.kind})


def ask(wire: Wire, url: str, *, stream: bool, timeout: float, way: str) -> ModelResponse:
    """The response that one of the clients gets."""
    adapter = ADAPTERS[wire.adapter]
    fold = ResponseFold("resp_1", "m", 0)
    request = ModelRequest.of(adapter, {"model": "m"}, model="m", stream=stream)
    options: dict[str, Any] = {"key": KEY, "timeout": timeout, "retries": AGAIN}

    async def listen() -> None:
        async with AsyncModelClient(adapter, url, **options, quick=way == "quick") as client:
            async for event in client.events(request):
                fold.take(event)

    if way != "blocking":
        asyncio.run(listen())
    else:
        with ModelClient(adapter, url, **options) as client:
            for event in client.events(request):
                fold.take(event)
    return fold.response()


IN_LOOPS = ("openai-chat", "ollama-chat")
"""Adapters whose every fault is tried in an event loop, too; what the clients do apart has nothing to do with protocols."""
LOOPS = [(name, way) for name in IN_LOOPS for way in ("async", "quick")]
doors = pytest.mark.parametrize(
    ("wire", "way"),
    [(wire, "blocking") for wire in WIRES.values()] + [(WIRES[name], way) for name, way in LOOPS],
    ids=[*WIRES, *(f"{name}-{way}" for name, way in LOOPS)],
)


@pytest.mark.sampled(3)
@doors
@pytest.mark.parametrize("name", FAULTS)
def test_fault(wire: Wire, name: str, way: str, server: EchoServer) -> None:
    """One fault, one outcome: an error of one type and reason, or the answer; asked for again only where that is safe."""
    fault = FAULTS[name]
    for stream in fault.streams:
        server.script = Script([fault.spoil(good(wire, stream=stream))] * 3)
        server.requests.clear()
        if fault.error is None:
            response = ask(wire, server.base_url, stream=stream, timeout=fault.timeout, way=way)
            assert (response.text, response.finish, response.error) == ("It is läte 你好.", "stop", None)
        else:
            with pytest.raises(ProviderError) as caught:
                ask(wire, server.base_url, stream=stream, timeout=fault.timeout, way=way)
            assert (type(caught.value), reason_of(caught.value)) == (fault.error, fault.reason)
            assert KEY not in caught.value.render() + repr(caught.value) + str(caught.value.to_dict())
        assert len(server.requests) == 1 + fault.again


def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


NOBODY = "innkeeper.invalid"

UNREACHABLE: dict[str, Callable[[EchoServer], str]] = {
    "connection refused": lambda _: f"http://127.0.0.1:{closed_port()}",
    "no such name": lambda _: f"http://{NOBODY}",
    "no TLS": lambda server: server.base_url.replace("http:", "https:"),
}


@doors
@pytest.mark.parametrize("name", UNREACHABLE)
def test_unreachable(wire: Wire, name: str, way: str, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no connection comes about, the error says so, and the request may be sent again."""
    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **rest: _known(known, host, *more, **rest))
    with pytest.raises(ProviderConnectionError) as caught:
        ask(wire, UNREACHABLE[name](server), stream=True, timeout=PATIENCE, way=way)
    assert (type(caught.value), reason_of(caught.value)) == (ProviderConnectionError, "connection")
    assert (caught.value.opened, caught.value.details["attempts"]) == (False, 2)


def _known(lookup: Callable[..., Any], host: Any, *more: Any, **rest: Any) -> Any:
    if str(host).strip("b'") == NOBODY:  # the machine's own look-up may take seconds
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return lookup(host, *more, **rest)


def rows() -> list[tuple[str, str, str, str]]:
    """The table of the page: each fault with its outcome. ``python -m tests.faults.test_adapters`` writes it."""
    listed = [
        (name, fault.error.__name__ if fault.error else "the answer", fault.reason, "yes" if fault.again else "no")
        for name, fault in FAULTS.items()
    ]
    return listed + [(name, "ProviderConnectionError", "connection", "yes") for name in UNREACHABLE]


def test_the_page_says_so() -> None:
    """The documented table has each fault with its outcome."""
    found = [tuple(cell.strip().strip("`") for cell in line.split("|")[1:-1]) for line in _table(PAGE)]
    assert found == rows()


def _table(page: Path) -> list[str]:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    start = next(number for number, line in enumerate(lines) if line.startswith("| fault"))
    return [line for line in lines[start + 1 :] if line.count("|") == 5]


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    head, rest = text.split("<!-- faults: begin -->\n")
    lines = ["| fault | outcome | reason | sent again |", "|---|---|---|---|"]
    for fault, outcome, reason, again in rows():
        shown = outcome if outcome == "the answer" else f"`{outcome}`"
        lines.append(f"| {fault} | {shown} | {f'`{reason}`' if reason else ''} | {again} |")
    tail = rest.split("<!-- faults: end -->")[1]
    PAGE.write_text(f"{head}<!-- faults: begin -->\n" + "\n".join(lines) + f"\n<!-- faults: end -->{tail}", "utf-8")
