"""Judged events: no prompt is sent that the gate blocks. This is below every door; nothing turns it off.

The doors judge answers, too: when one has grown by half again, and at its end. What is only doubtful passes below: whether it
does at a door is the operator's word.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, closing
from typing import Any, Final

import msgspec

from innkeeper.gate.bodies import texts_of_body
from innkeeper.gate.gate import TextKind, block
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.response.events import ModelEvent, ReasoningDelta, TextDelta

Judge = Callable[[Mapping[str, str]], Any]
"""What raises `TierBlockedError` for texts that may not pass."""

_FIRST: Final = 400
"""Characters of an answer after which it is judged for the first time."""

_GROWTH: Final = 1.5
_LONG: Final = 4_000
"""From so many characters on, texts are judged in a thread: others go on meanwhile."""


def texts_of(request: ModelRequest) -> dict[str, str]:
    """The texts of a request; none of one that is no JSON, which no provider reads."""
    try:
        return texts_of_body(msgspec.json.decode(request.content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


async def judged_by(judge: Judge, texts: Mapping[str, str], *, waits: bool = False) -> None:
    """Judge texts, in a thread where they are long or the judge ``waits`` for another. Raises `TierBlockedError`."""
    if not waits and sum(map(len, texts.values())) < _LONG:
        judge(texts)
    else:
        import asyncio  # here, so that importing a blocking client does not load it

        await asyncio.to_thread(judge, texts)


async def judged_events(
    texts: Mapping[str, str],
    ask: Callable[[], AsyncGenerator[ModelEvent]],
    judge: Judge = block,
    *,
    waits: bool = False,
    answers: bool = True,
) -> AsyncGenerator[ModelEvent]:
    """The events of an answer to texts that may pass, while it may. Raises `TierBlockedError`.

    ``answers`` is off where whoever asks judges the answer, and records it.
    """
    await judged_by(judge, texts, waits=waits)
    output, due = "", _FIRST
    async with aclosing(ask()) as events:
        async for event in events:
            if answers and isinstance(event, (TextDelta, ReasoningDelta)):
                output += event.text
                if len(output) >= due:
                    due = int(len(output) * _GROWTH)
                    await judged_by(judge, {**texts, TextKind.MODEL_OUTPUT.value: output}, waits=waits)
            yield event
    if output:
        await judged_by(judge, {**texts, TextKind.MODEL_OUTPUT.value: output}, waits=waits)


def judged_answer(
    texts: Mapping[str, str], events: Generator[ModelEvent], judge: Judge = block
) -> Generator[ModelEvent]:
    """The events of an answer in a blocking program, while it may pass. Raises `TierBlockedError`."""
    output, due = "", _FIRST
    with closing(events):
        for event in events:
            if isinstance(event, (TextDelta, ReasoningDelta)):
                output += event.text
                if len(output) >= due:
                    due = int(len(output) * _GROWTH)
                    judge({**texts, TextKind.MODEL_OUTPUT.value: output})
            yield event
    if output:
        judge({**texts, TextKind.MODEL_OUTPUT.value: output})
