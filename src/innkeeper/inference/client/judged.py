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


class _GrowingAnswer:
    """The texts of a request with what was answered so far, each time that is to be judged."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts, self._output, self._due = texts, "", _FIRST

    def after(self, event: ModelEvent) -> dict[str, str] | None:
        """Take an event; return the texts to judge, where the answer has grown enough since the last time."""
        if isinstance(event, (TextDelta, ReasoningDelta)):
            self._output += event.text
            if len(self._output) >= self._due:
                self._due = int(len(self._output) * _GROWTH)
                return self.whole()
        return None

    def whole(self) -> dict[str, str] | None:
        """Return the texts to judge at the end; None of an answer without a text."""
        return {**self._texts, TextKind.MODEL_OUTPUT.value: self._output} if self._output else None


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
    answer = _GrowingAnswer(texts)
    async with aclosing(ask()) as events:
        async for event in events:
            if answers and (grown := answer.after(event)) is not None:
                await judged_by(judge, grown, waits=waits)
            yield event
    if (whole := answer.whole()) is not None:
        await judged_by(judge, whole, waits=waits)


def judged_answer(
    texts: Mapping[str, str], events: Generator[ModelEvent], judge: Judge = block
) -> Generator[ModelEvent]:
    """The events of an answer in a blocking program, while it may pass. Raises `TierBlockedError`."""
    answer = _GrowingAnswer(texts)
    with closing(events):
        for event in events:
            if (grown := answer.after(event)) is not None:
                judge(grown)
            yield event
    if (whole := answer.whole()) is not None:
        judge(whole)
