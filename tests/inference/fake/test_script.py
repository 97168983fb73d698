"""Scripts of fake providers: what each item answers, and by which path."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.fake.script import Answer, FakeReply, Fault, Script, read_request, route

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello there"}]}


def message(answer: Answer) -> dict[str, Any]:
    """The message of an answer."""
    made: dict[str, Any] = json.loads(answer.body)["choices"][0]["message"]
    return made


def chunks(answer: Answer) -> list[Any]:
    """The chunks of a streamed answer, without its end."""
    *events, end = answer.body.decode().split("\n\n")[:-1]
    assert end == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def test_items_come_in_order() -> None:
    """Texts, replies and answers are dealt out one a request; after the last the request is echoed."""
    whole = Answer(b"{}", 201)
    script = Script(["one", FakeReply(content="two"), whole])
    made = [script.next(REQUEST) for _ in range(4)]
    assert [message(made[place])["content"] for place in (0, 1, 3)] == ["one", "two", "Hello there"]
    assert made[2] is whole
    assert json.loads(made[3].body)["id"] == "chatcmpl-4"


def test_calls() -> None:
    """Calls are pairs of a name and arguments, or whole; the answer then ends for them."""
    reply = FakeReply(content=None, tool_calls=(("look", {"far": True}), ("go", "{"), {"id": "own"}), reasoning="Hm.")
    made = message(reply.answer(REQUEST, 1))
    assert [call["id"] for call in made["tool_calls"]] == ["call_1", "call_2", "own"]
    assert [call["function"]["arguments"] for call in made["tool_calls"][:2]] == ['{"far": true}', "{"]
    assert made["reasoning"] == "Hm."
    assert json.loads(reply.answer(REQUEST, 1).body)["choices"][0]["finish_reason"] == "tool_calls"


@given(st.text(max_size=30))
def test_a_stream_says_the_same(content: str) -> None:
    """The pieces of a stream joined are the content of the whole answer."""
    reply = FakeReply(content=content)
    streamed = chunks(reply.answer({**REQUEST, "stream": True}, 1))
    told = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in streamed)
    assert told == message(reply.answer(REQUEST, 1))["content"]
    assert streamed[-1]["choices"][0]["finish_reason"] == "stop"


def test_usage_of_a_stream() -> None:
    """Figures count words, and end a stream only where they are asked for."""
    asked = {**REQUEST, "stream": True, "stream_options": {"include_usage": True}}
    last = chunks(FakeReply(content="It is late.").answer(asked, 1))[-1]
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 5)


@dataclass(frozen=True)
class Case:
    """A fault, and what it makes of the answer."""

    name: str
    fault: Fault
    facts: dict[str, Any]


CASES = (
    Case("status", Fault.status(429, retry_after=3), {"status": 429}),
    Case("html", Fault.html(502), {"status": 502, "headers": {"content-type": "text/html"}}),
    Case("refuse", Fault.refuse(), {"ending": "refuse"}),
    Case("stall", Fault.stall(), {"ending": "stall", "body": b""}),
    Case("cut", Fault.cut(1), {"ending": "cut", "body": b"{"}),
    Case("slow", Fault.slow(0.5), {"delay": 0.5}),
    Case("drip", Fault.drip(0.5), {"head_pause": 0.5, "pause": 0.0}),
    Case("drip of the body", Fault.drip(0.5, head=False), {"pause": 0.5, "piece_bytes": 1}),
    Case("raw", Fault.raw(b"abc", piece_bytes=2), {"body": b"abc", "piece_bytes": 2}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults(case: Case) -> None:
    """A fault spoils what would have been answered, and only in what it says."""
    answer = case.fault.answer(REQUEST, 1)
    assert {name: getattr(answer, name) for name in case.facts} == case.facts


def test_compressed() -> None:
    """A body that is compressed holds what would have been said; one that lies is not compressed."""
    packed, lie = Fault.gzip("Packed.").answer(REQUEST, 1), Fault.gzip_lie().answer(REQUEST, 1)
    assert packed.headers["content-encoding"] == lie.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body))["choices"][0]["message"]["content"] == "Packed."
    assert lie.body[:1] == b"{"


@pytest.mark.parametrize("size", [0, 1, 2, 5, 99])
def test_pieces_are_the_body(size: int) -> None:
    """However a body is cut, its pieces are the body; an empty one has none."""
    assert b"".join(Answer(b"abcde", piece_bytes=size).pieces()) == b"abcde"
    assert Answer(b"", piece_bytes=size).pieces() == []


@dataclass(frozen=True)
class Route:
    """A request, and the status of its answer."""

    method: str
    path: str
    status: int
    body: bytes = b"{}"
    authorised: bool = True


ROUTES = (
    Route("POST", "/v1/chat/completions?x=1", 200),
    Route("POST", "/any/prefix/completions", 200),
    Route("GET", "/v1/models", 200, b""),
    Route("GET", "/health", 200, b""),
    Route("POST", "/v1/embeddings", 200, b'{"input":["a","b"]}'),
    Route("GET", "/v1/chat/completions", 404, b""),
    Route("POST", "/v1/chat/completions", 400, b"["),
    Route("POST", "/v1/chat/completions", 400, b"[]"),
    Route("POST", "/v1/chat/completions", 401, authorised=False),
)


@pytest.mark.parametrize("case", ROUTES, ids=lambda case: f"{case.method} {case.path} {case.body!r} {case.status}")
def test_routes(case: Route) -> None:
    """Known paths are answered under any prefix, others are errors of the usual shape."""
    answer = route(case.method, case.path, case.body, Script([]), authorised=case.authorised)
    assert answer.status == case.status
    assert ("error" in json.loads(answer.body)) is (case.status != 200)


@given(st.binary(max_size=20) | st.just(b"[" * 99999))
def test_any_body_is_read(body: bytes) -> None:
    """A body is an object or it is none."""
    assert isinstance(read_request(body), dict | None)
