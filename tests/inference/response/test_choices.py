"""Several answers to one request: put together side by side, written with their numbers, and stopped together."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import wraps
from typing import Any

import pytest

from innkeeper.inference.errors import ProviderTimeoutError
from innkeeper.inference.response.choices import Choice, ChoicesFold, ChoicesView, summed, together
from innkeeper.inference.response.events import CallDelta, Finished, ModelEvent, TextDelta, UsageReport
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import Usage
from innkeeper.inference.response.views.chat import CHAT
from innkeeper.inference.response.views.completion import COMPLETION

ONE: list[ModelEvent] = [
    TextDelta(text="One"),
    UsageReport(usage=Usage(input_tokens=2, output_tokens=1)),
    Finished(reason="stop"),
]
TWO: list[ModelEvent] = [
    TextDelta(text="Two"),
    UsageReport(usage=Usage(input_tokens=2, output_tokens=3)),
    Finished(reason="length"),
]


def waited(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """A test that is carried out in an event loop of its own."""

    @wraps(test)
    def call() -> None:
        async def run() -> None:
            await test()

        asyncio.run(run())

    return call


def folds(count: int = 2) -> ChoicesFold:
    """Answers that have not begun."""
    return ChoicesFold([ResponseFold("resp_1", "inn", 7) for _ in range(count)])


def woven() -> list[Choice]:
    """Both answers, in turns."""
    pairs = [Choice(at, event) for pair in zip(ONE, TWO, strict=True) for at, event in enumerate(pair)]
    return [*pairs, Choice(1, None), Choice(0, None)]


def test_whole() -> None:
    """One object: the answers in order, and one usage."""
    fold = folds()
    for choice in woven():
        fold.take(choice)
    body = ChoicesView(CHAT).whole(fold.responses())
    assert [(it["index"], it["message"]["content"], it["finish_reason"]) for it in body["choices"]] == [
        (0, "One", "stop"),
        (1, "Two", "length"),
    ]
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (4, 4)
    assert fold.response().usage == Usage(input_tokens=4, output_tokens=4)
    assert [it["text"] for it in ChoicesView(COMPLETION).whole(fold.responses())["choices"]] == ["One", "Two"]


@pytest.mark.parametrize("include_usage", [False, True])
def test_streamed(include_usage: bool) -> None:
    """Each chunk has the number of its answer; each answer ends with its reason, the stream with one usage and one last word."""
    fold = folds()
    writer = ChoicesView(CHAT).stream(fold, include_usage=include_usage)
    sent = [*writer.start(), *(event for choice in woven() for event in writer.take(choice)), *writer.end()]
    assert sent[-1].data == "[DONE]"
    chunks: list[Any] = [json.loads(event.encode()[6:]) for event in sent[:-1]]
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    pieces = [choice for chunk in chunks for choice in chunk["choices"]]
    texts = ["".join(it["delta"].get("content") or "" for it in pieces if it["index"] == at) for at in (0, 1)]
    assert texts == ["One", "Two"]
    assert [it["index"] for it in pieces if it["delta"].get("role")] == [0, 1]
    assert [(it["index"], it["finish_reason"]) for it in pieces if it["finish_reason"]] == [(1, "length"), (0, "stop")]
    assert [chunk["usage"]["total_tokens"] for chunk in chunks if chunk.get("usage")] == ([8] if include_usage else [])
    assert all(("usage" in chunk) is include_usage for chunk in chunks)


def test_calls_stay_with_their_answer() -> None:
    """Two answers that call the same tool do not mix."""
    fold = folds()
    for at in (0, 1, 0, 1):
        fold.take(Choice(at, CallDelta(index=0, call_id=f"c{at}", name="look", arguments="{}"[at : at + 1])))
    assert [[call.arguments for call in it.calls] for it in fold.responses()] == [["{{"], ["}}"]]


def test_usage_is_not_made_up() -> None:
    """Where one answer does not tell what it took, nobody knows what all of them took."""
    assert summed([Usage(input_tokens=1, output_tokens=2), None]) is None
    assert summed([Usage(input_tokens=1, output_tokens=2), Usage(input_tokens=3)]) == Usage(input_tokens=4)


class Source:
    """An answer that says when it has been stopped."""

    def __init__(self, *events: ModelEvent | Exception, stalls: bool = False) -> None:
        self.closed = False
        self._events, self._stalls = events, stalls

    async def events(self) -> AsyncGenerator[ModelEvent]:
        """The events, then nothing more for a long time."""
        try:
            for event in self._events:
                if isinstance(event, Exception):
                    raise event
                yield event
            if self._stalls:
                await asyncio.Event().wait()
        finally:
            self.closed = True


@waited
async def test_together() -> None:
    """All events of all answers, and the end of each."""
    events, first = await together([Source(*ONE).events(), Source(*TWO).events()])
    found = [first, *[choice async for choice in events]]
    assert sorted((it.at, type(it.event).__name__) for it in found) == sorted(
        (at, name) for at in (0, 1) for name in ("TextDelta", "UsageReport", "Finished", "NoneType")
    )


@waited
async def test_one_that_fails_before_it_begins() -> None:
    """It is an error before anything is said, and nobody goes on."""
    sources = [Source(*ONE, stalls=True), Source(ProviderTimeoutError("late", phase="read"))]
    with pytest.raises(ProviderTimeoutError):
        await together([source.events() for source in sources])
    assert all(source.closed for source in sources)


@waited
async def test_one_that_fails_on_its_way() -> None:
    """It ends all of them."""
    sources = [Source(*ONE, stalls=True), Source(ONE[0], ProviderTimeoutError("late", phase="read"))]
    events, _ = await together([source.events() for source in sources])
    with pytest.raises(ProviderTimeoutError):
        [choice async for choice in events]
    assert all(source.closed for source in sources)


@waited
async def test_closing_stops_all() -> None:
    """Also those that were not read from any more."""
    sources = [Source(*ONE, stalls=True) for _ in range(8)]
    events, _ = await together([source.events() for source in sources])
    await events.aclose()
    assert all(source.closed for source in sources)


@waited
async def test_waiting_in_vain_can_be_stopped() -> None:
    """A client that goes away before any answer has begun stops all of them."""
    sources = [Source(stalls=True), Source(stalls=True)]
    task = asyncio.ensure_future(together([source.events() for source in sources]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(source.closed for source in sources)
