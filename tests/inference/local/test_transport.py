"""The embedded engine behind the client: the client's whole face, and an engine that stops when nobody listens."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.portal import cancelled_by
from innkeeper.inference.errors import DecodeError, HttpError, ReplyError, RequestCancelledError, StreamCutError
from innkeeper.inference.local import transport
from innkeeper.inference.local.model import LocalModel
from innkeeper.inference.local.transport import LocalTransport
from innkeeper.inference.local.turns import SECONDS
from innkeeper.prompt import ProviderError, UnavailableError

MESSAGES = [{"role": "user", "content": "hi"}]
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def delta(text: str | None = None, finish: str | None = None) -> dict[str, Any]:
    """A chunk as llama.cpp makes it."""
    return {"choices": [{"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}]}


ANSWER = [delta(None), delta("Hel"), delta("lo"), delta(None, "stop"), {"choices": [], "usage": USAGE}]


class FakeEngine:
    """Gives out chunks, or raises; notes what it was asked and whether it was told to stop."""

    def __init__(self, chunks: Sequence[dict[str, Any]] = ANSWER, error: Exception | None = None) -> None:
        self.chunks, self.error = chunks, error
        self.asked: list[dict[str, Any]] = []
        self.stopped_at: int | None = None

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> None:
        self.asked.append(request)
        if self.error:
            raise self.error
        for place, chunk in enumerate(self.chunks):
            if on_chunk(chunk):
                self.stopped_at = place
                return

    def post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """It has no tokenizer."""
        raise UnavailableError(path)

    def close(self) -> None:
        """It is no process."""


class EndlessEngine(FakeEngine):
    """Never ends by itself, and says when it has stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = threading.Event()

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> None:
        while not on_chunk(delta("again ")):
            pass
        self.stopped.set()


def test_stream() -> None:
    """Deltas come one by one; the reply has text, usage and the reason for the end."""
    heard: list[str] = []
    reply = LocalModel(FakeEngine()).chat("m", MESSAGES, stream=True, include_usage=True, on_delta=heard.append)
    assert heard == ["Hel", "lo"]
    assert (reply.content, reply.usage, reply.finish_reason) == ("Hello", USAGE, "stop")


def test_whole() -> None:
    """A whole answer is that of the stream, put together."""
    engine = FakeEngine()
    response = LocalModel(engine).chat_completions(model="m", messages=MESSAGES)
    assert response.status == 200
    assert response.body["choices"][0]["message"] == {"role": "assistant", "content": "Hello"}
    assert response.body["usage"] == USAGE
    assert engine.asked[0]["stream"] is True


def test_request_is_passed_on() -> None:
    """Messages and options reach the engine as they are."""
    engine = FakeEngine()
    LocalModel(engine).chat("m", MESSAGES, temperature=0, stop=["x"], max_tokens=7)
    asked = engine.asked[0]
    assert {key: asked[key] for key in ("messages", "temperature", "stop", "max_tokens")} == {
        "messages": MESSAGES,
        "temperature": 0,
        "stop": ["x"],
        "max_tokens": 7,
    }


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, {"max_tokens": 1024}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"max_completion_tokens": 9}, {"max_completion_tokens": 9}),
    ],
)
def test_answers_have_an_end(options: dict[str, Any], limit: dict[str, Any]) -> None:
    """A request that names no limit gets one: the next caller waits."""
    engine = FakeEngine()
    LocalModel(engine).chat("m", MESSAGES, **options)
    assert {name: value for name, value in engine.asked[0].items() if name.startswith("max_")} == limit


@pytest.mark.parametrize(
    ("options", "cached"), [({}, True), ({"seed": 1}, False), ({"seed": 1, "cache_prompt": True}, True)]
)
def test_seed_forgets(options: dict[str, Any], *, cached: bool) -> None:
    """A request with a seed does not depend on what was asked before, unless it says so."""
    engine = FakeEngine()
    LocalModel(engine).chat("m", MESSAGES, **options)
    assert engine.asked[0]["cache_prompt"] is cached


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("engine", "status", "says"),
    [
        (FakeEngine(error=ValueError("'messages' is required")), 400, "'messages' is required"),
        (FakeEngine([{"error": {"code": 400, "message": "too long"}}]), 400, "too long"),
        (FakeEngine([{"error": {"message": "broke"}}]), 500, "broke"),
        (FakeEngine([]), 400, "no answer"),
    ],
    ids=["raises", "refuses", "refuses without a code", "says nothing"],
)
def test_refusals(engine: FakeEngine, status: int, says: str, *, stream: bool) -> None:
    """What the engine refuses is an HTTP error with its words."""
    with pytest.raises(HttpError, match=says) as caught:
        LocalModel(engine).chat("m", MESSAGES, stream=stream)
    assert caught.value.status == status


@pytest.mark.parametrize("stream", [False, True])
def test_error_on_the_way(*, stream: bool) -> None:
    """An error after the first token is an error, not an end."""
    engine = FakeEngine([delta("Hel"), {"error": {"message": "out of memory"}}])
    with pytest.raises(ReplyError, match="out of memory"):
        LocalModel(engine).chat("m", MESSAGES, stream=stream)


def test_cut_short() -> None:
    """A stream without an end is not taken for a whole answer."""
    with pytest.raises(StreamCutError) as caught:
        LocalModel(FakeEngine([delta("Hel")])).chat("m", MESSAGES, stream=True)
    assert caught.value.partial == "Hel"


def test_leaving_a_stream_stops_the_engine() -> None:
    """Whoever leaves a stream early has the engine stopped before the next line runs."""
    engine = EndlessEngine()
    with LocalModel(engine).chat_stream("m", MESSAGES) as pieces:
        assert next(pieces) == "again "
    assert engine.stopped.wait(120)


def test_interrupt_stops_the_engine() -> None:
    """An exception in the caller's callback, Ctrl-C for instance, stops the engine and comes through."""
    engine = EndlessEngine()

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalModel(engine).chat("m", MESSAGES, stream=True, on_delta=interrupt)
    assert engine.stopped.wait(120)


def test_one_at_a_time() -> None:
    """The next answer begins when the one before has ended or was left."""
    engine = EndlessEngine()
    model = LocalModel(engine)
    for _ in range(2):
        engine.stopped.clear()
        with model.chat_stream("m", MESSAGES) as pieces:
            next(pieces)
        assert engine.stopped.wait(120)


def test_closed() -> None:
    """A closed model answers nothing, with an error that says so; its counter estimates."""
    model = LocalModel(FakeEngine())
    model.close()
    model.close()
    with pytest.raises(HttpError, match="closed"):
        model.chat("m", MESSAGES)
    assert model.counter().count("some text") > 0


def test_rest_of_the_face() -> None:
    """Models and health are answered; what a local model has not is a 404."""
    model = LocalModel(FakeEngine(), name="tiny")
    assert model.health()
    assert [entry["id"] for entry in model.models().body["data"]] == ["tiny"]
    with pytest.raises(ProviderError, match="404"):
        model.embeddings(model="m", input="x")


def test_no_message() -> None:
    """An engine that ends without a message gives the client's own error."""
    with pytest.raises(DecodeError):
        LocalModel(FakeEngine([{"choices": []}])).chat("m", MESSAGES)


class SilentEngine(FakeEngine):
    """Reads a prompt for ever, and says when it has stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.stopped = threading.Event(), threading.Event()

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> None:
        self.begun.set()
        self.stopped.wait(30)


@pytest.mark.parametrize("stream", [False, True])
def test_cancel_before_the_first_chunk(stream: bool) -> None:
    """A request that waits for the engine stops when it is told to, before a chunk has come."""
    engine = SilentEngine()
    with cancelled_by(engine.begun), pytest.raises(RequestCancelledError):
        LocalModel(engine).chat("m", MESSAGES, stream=stream)
    engine.stopped.set()


def test_an_answer_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has said by then is kept, with the reason of a limit; where it has said nothing, that is an error."""
    ticks = itertools.count()
    monkeypatch.setattr(transport, "monotonic", lambda: float(next(ticks)))

    async def answer(engine: FakeEngine, seconds: float) -> httpx.Response:
        SECONDS.set(seconds)
        async with httpx.AsyncClient(transport=LocalTransport(engine, "m")) as client:
            return await client.post("http://localhost/v1/chat/completions", json={"messages": MESSAGES})

    engine = EndlessEngine()
    choice = asyncio.run(answer(engine, 9.0)).json()["choices"][0]
    assert (set(choice["message"]["content"].split()), choice["finish_reason"]) == ({"again"}, "length")
    assert engine.stopped.wait(120)
    late = asyncio.run(answer(FakeEngine(), 0.0))
    assert (late.status_code, "0 s" in late.json()["error"]["message"]) == (504, True)
    assert asyncio.run(answer(FakeEngine(), 100.0)).json()["choices"][0]["finish_reason"] == "stop"
