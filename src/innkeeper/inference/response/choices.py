"""Choices: several answers to one request beside one another: their events, what they come to, and how they are written.

Each is an answer of its own, so that it is put together and written as one alone would be; here they get their numbers, and their
usage becomes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.inference.response.views.chat import DONE, envelope, wire_usage
from innkeeper.inference.response.views.view import ErrorFacts, ServerEvent, StreamView, View, noted

_WAITING: Final = 64


class Choice(NamedTuple):
    """An event of the answer of this number; None: it has ended."""

    at: int
    event: ModelEvent | None


class ChoicesFold:
    """The answers as far as they have come. ``id``, ``model`` and ``created`` are those of the first."""

    def __init__(self, folds: Sequence[ResponseFold]) -> None:
        self.folds = folds
        self.id, self.model, self.created = folds[0].id, folds[0].model, folds[0].created

    def take(self, choice: Choice) -> None:
        """Add one event."""
        if choice.event is not None:
            self.folds[choice.at].take(choice.event)

    def responses(self) -> tuple[ModelResponse, ...]:
        """All answers."""
        return tuple([fold.response() for fold in self.folds])

    def response(self, *, cancelled: bool = False) -> ModelResponse:
        """The first answer, with what all of them took."""
        first = self.folds[0].response(cancelled=cancelled)
        return msgspec.structs.replace(first, usage=summed([fold.usage for fold in self.folds]))


def summed(usages: Sequence[Usage | None]) -> Usage | None:
    """What several answers took together. A figure that one of them does not tell is not known."""
    reported = [usage for usage in usages if usage is not None]
    if len(reported) < len(usages):
        return None
    figures = {name: [getattr(usage, name) for usage in reported] for name in Usage.__struct_fields__}
    return Usage(**{name: None if None in each else sum(each) for name, each in figures.items()})


class ChoicesView:
    """Several answers in the words of a surface that has ``choices``."""

    def __init__(self, view: View) -> None:
        self._view = view

    def whole(self, responses: Sequence[ModelResponse]) -> dict[str, Any]:
        """All of them at once."""
        bodies = [self._view.whole(response) for response in responses]
        choices = [{**choice, "index": at} for at, body in enumerate(bodies) for choice in body["choices"]]
        usage = wire_usage(summed([response.usage for response in responses]))
        notes = dict.fromkeys(note for response in responses for note in self._view.left_out(response))
        head = {name: value for name, value in bodies[0].items() if name != "innkeeper"}
        return noted({**head, "choices": choices, "usage": usage}, [*notes])

    def stream(self, fold: ChoicesFold, *, include_usage: bool = False) -> ChoicesStream:
        """What writes all of them as one stream."""
        return ChoicesStream(fold, self._view, include_usage=include_usage)


class ChoicesStream:
    """A `StreamView` of several answers: each chunk has the number of its own."""

    def __init__(self, fold: ChoicesFold, view: View, *, include_usage: bool) -> None:
        self.fold = fold
        self._writers: list[StreamView] = [view.stream(one) for one in fold.folds]
        self._include_usage = include_usage
        self._head: Mapping[str, Any] = {}

    def start(self) -> list[ServerEvent]:
        """What a stream begins with."""
        return [sent for at, writer in enumerate(self._writers) for sent in self._numbered(at, writer.start())]

    def take(self, choice: Choice) -> list[ServerEvent]:
        """What an event becomes; the end of an answer is why it has ended."""
        writer = self._writers[choice.at]
        return self._numbered(choice.at, writer.end() if choice.event is None else writer.take(choice.event))

    def end(self) -> list[ServerEvent]:
        """What all of them took, where that was asked for, and the last word."""
        if not self._include_usage:
            return [DONE]
        usage = wire_usage(self.fold.response().usage)
        return [ServerEvent({**self._head, "choices": [], "usage": usage}), DONE]

    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        """What a stream ends with in which something went wrong."""
        return [ServerEvent(envelope(error))]

    def _numbered(self, at: int, events: list[ServerEvent]) -> list[ServerEvent]:
        return [self._one(at, sent.data) for sent in events if isinstance(sent.data, Mapping)]

    def _one(self, at: int, data: Mapping[str, Any]) -> ServerEvent:
        choices = [{**choice, "index": at} for choice in data["choices"]]
        self._head = self._head or {name: data[name] for name in ("id", "object", "created", "model")}
        usage = {"usage": None} if self._include_usage else {}
        return ServerEvent({**data, "choices": choices, **usage})


async def together(answers: Sequence[AsyncGenerator[ModelEvent]]) -> tuple[AsyncGenerator[Choice], Choice]:
    """The events of all answers as they come, and the first of them, once each has begun.

    What one fails with ends them all; closing the events stops whoever makes them.
    """
    firsts = [asyncio.ensure_future(_first(events)) for events in answers]
    try:
        merged = _merged(answers, await asyncio.gather(*firsts))
        return merged, await anext(merged)
    except BaseException:
        for first in firsts:
            first.cancel()
        await asyncio.gather(*firsts, return_exceptions=True)
        for events in answers:
            await events.aclose()
        raise


async def _first(events: AsyncGenerator[ModelEvent]) -> ModelEvent | None:
    return await anext(events, None)


async def _merged(
    answers: Sequence[AsyncGenerator[ModelEvent]], firsts: Sequence[ModelEvent | None]
) -> AsyncGenerator[Choice]:
    queue: asyncio.Queue[Choice | Exception] = asyncio.Queue(_WAITING)

    async def drained(at: int, events: AsyncGenerator[ModelEvent]) -> None:
        try:
            async with aclosing(events):
                if (first := firsts[at]) is not None:
                    await queue.put(Choice(at, first))
                async for event in events:
                    await queue.put(Choice(at, event))
            await queue.put(Choice(at, None))
        except Exception as error:  # noqa: BLE001 - passed on to whoever reads
            await queue.put(error)

    tasks = [asyncio.ensure_future(drained(at, events)) for at, events in enumerate(answers)]
    left = len(tasks)
    try:
        while left:
            item = await queue.get()
            if isinstance(item, Exception):
                raise item
            left -= item.event is None
            yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for events in answers:  # a task that was cancelled before its first step has closed nothing
            await events.aclose()
