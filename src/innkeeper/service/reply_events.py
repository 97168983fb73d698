"""The events of a model's answer, with its text as the tavern keeps it: for profiles and the inspector alike."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec

from innkeeper.conversation.reply import ReplyRules, ReplyStream
from innkeeper.inference.response.events import Finished, ModelEvent, TextDelta

Finish = Callable[[str], Awaitable[str]]
"""What runs scripts over a whole answer, and returns it as it is kept."""


async def finished_events(
    events: AsyncGenerator[ModelEvent], rules: ReplyRules, finish: Finish, *, stops: bool = True
) -> AsyncGenerator[ModelEvent]:
    """Give the events of an answer; its text is what the tavern keeps.

    ``finish`` is called where the rules have scripts. With ``stops`` the model is stopped where somebody else begins to speak.
    """
    reply = _ReplyEvents(ReplyStream(rules))
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                delta = reply.take(event)
                if delta is not None:
                    yield delta
                if reply.stream.is_cut and stops:
                    yield Finished(reason="stop", word="stop")
                    return
                continue
            if isinstance(event, Finished) and (rest := await reply.rest(finish)) is not None:
                yield rest
            yield event
    if (rest := await reply.rest(finish)) is not None:
        yield rest


class _ReplyEvents:
    """An answer's events of text, trimmed by a `ReplyStream`."""

    def __init__(self, stream: ReplyStream) -> None:
        self.stream = stream
        self._first: TextDelta | None = None

    def take(self, event: TextDelta) -> TextDelta | None:
        """Return what can be shown; where an item begins is told with its first words."""
        text = self.stream.feed(event.text)
        first, self._first = self._first or event, None
        if not text and (self.stream.rules.holds or not event.annotations):
            self._first = first
            return None
        return msgspec.structs.replace(
            event,
            text=text,
            logprobs=event.logprobs if text == event.text else (),
            new=first.new or event.new,
            part=first.part or event.part,
            item_id=event.item_id or first.item_id,
        )

    async def rest(self, finish: Finish) -> TextDelta | None:
        """Return the event that brings the rest of the text; None where there is none, and the second time."""
        stream, first = self.stream, self._first
        scripted = stream.rules.scripts and stream.raw and not stream.is_ended
        text = stream.end(await finish(stream.raw) if scripted else None)
        if not text:
            return None
        if first is None or self.stream.rules.holds:
            return TextDelta(text=text, item_id="" if first is None else first.item_id)
        return msgspec.structs.replace(first, text=text, logprobs=())
