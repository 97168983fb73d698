"""Judged events: an answer is judged while it grows and at its end, by one rule for blocking and asynchronous callers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.judged import judged_answer, judged_events
from innkeeper.inference.response.events import Finished, ModelEvent, ReasoningDelta, TextDelta
from innkeeper.prompt.tier import TierBlockedError

BLOCKED = "Mia is fourteen, and a romantic evening begins."
TEXTS = {"user_text": "Good evening."}

Judge = Callable[[Mapping[str, str]], None]
Caller = Callable[[list[ModelEvent], Judge | None], list[ModelEvent]]


def blocking(events: list[ModelEvent], judge: Judge | None = None) -> list[ModelEvent]:
    """What a blocking caller gets."""

    def made() -> Generator[ModelEvent]:
        yield from events

    return list(judged_answer(TEXTS, made(), *([] if judge is None else [judge])))


def awaiting(events: list[ModelEvent], judge: Judge | None = None) -> list[ModelEvent]:
    """What an asynchronous caller gets."""

    async def made() -> AsyncGenerator[ModelEvent]:
        for event in events:
            yield event

    async def heard() -> list[ModelEvent]:
        return [event async for event in judged_events(TEXTS, made, *([] if judge is None else [judge]))]

    return asyncio.run(heard())


CALLERS = pytest.mark.parametrize("caller", [blocking, awaiting])


@CALLERS
@pytest.mark.parametrize("kind", [TextDelta, ReasoningDelta])
def test_what_may_not_pass(caller: Caller, kind: type[TextDelta] | type[ReasoningDelta]) -> None:
    """A short answer is stopped at its end, in the text and in the thoughts; another one passes whole."""
    with pytest.raises(TierBlockedError):
        caller([kind(text=BLOCKED), Finished(reason="stop")], None)
    passes: list[ModelEvent] = [kind(text="The ferry goes at six."), Finished(reason="stop")]
    assert caller(passes, None) == passes


@CALLERS
def test_a_long_answer_is_stopped_on_its_way(caller: Caller) -> None:
    """Not only at its end: what comes behind is never given."""
    heard: list[str] = []

    def judge(texts: Mapping[str, str]) -> None:
        heard.append(texts.get("model_output", ""))
        if "stop here" in heard[-1]:
            raise TierBlockedError("block", "sfw")

    events: list[ModelEvent] = [TextDelta(text="word " * 20) for _ in range(10)]
    with pytest.raises(TierBlockedError):
        caller([*events, TextDelta(text="stop here " * 80), TextDelta(text="the rest")], judge)
    assert "the rest" not in "".join(heard)


@given(st.lists(st.text(max_size=300).map(lambda text: TextDelta(text=text)), max_size=20))
def test_both_callers_judge_the_same(deltas: list[ModelEvent]) -> None:
    """The same texts at the same moments, but for the request's own, which the asynchronous one judges before it asks."""

    def judged(caller: Caller) -> list[str]:
        seen: list[str] = []

        def judge(texts: Mapping[str, str]) -> None:
            seen.append(texts.get("model_output", ""))

        caller(deltas, judge)
        return seen

    assert judged(awaiting) == ["", *judged(blocking)]
