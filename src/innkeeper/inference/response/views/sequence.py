"""Sequence: the events of an answer so that one item is whole before the next begins.

Calls may come interleaved, and several surfaces have no way to go back to an item: until the arguments of the call that is open
are whole, what belongs to other items waits.
"""

from __future__ import annotations

import json
from typing import Final

from innkeeper.inference.response.events import (
    CallDelta,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
)

_CONTENT: Final = (TextDelta, RefusalDelta, ReasoningDelta, CallDelta, OtherOutput)
_SHORT: Final = 4096
"""Arguments that are looked at anew with each piece; longer ones when they have grown by an eighth."""


class Sequence:
    """Give it each event; it gives those that may come now."""

    def __init__(self) -> None:
        self._open: int | None = None
        self._text = ""
        self._look_at = 0
        self._waiting: list[ModelEvent] = []

    def take(self, event: ModelEvent) -> list[ModelEvent]:
        """The events that may come now."""
        if not isinstance(event, _CONTENT):
            return [event]
        if isinstance(event, CallDelta) and event.index == self._open:
            self._text += event.arguments
            return [event, *self._freed()]
        if self._waiting or not self._is_whole():
            self._waiting.append(event)
            return self._freed()
        self._begin(event)
        return [event]

    def end(self) -> list[ModelEvent]:
        """The events that still wait, those of each call together."""
        freed = []
        while self._waiting:
            freed += self._released()
        return freed

    def _freed(self) -> list[ModelEvent]:
        freed: list[ModelEvent] = []
        while self._waiting and self._is_whole():
            freed += self._released()
        return freed

    def _released(self) -> list[ModelEvent]:
        """The first event that waits; of a call, all that waits of it."""
        first = self._waiting[0]
        self._begin(first)
        if not isinstance(first, CallDelta):
            return [self._waiting.pop(0)]
        mine = [event for event in self._waiting if _is_of(event, first.index)]
        self._waiting = [event for event in self._waiting if not _is_of(event, first.index)]
        self._text = "".join([event.arguments for event in mine if isinstance(event, CallDelta)])
        return mine

    def _begin(self, event: ModelEvent) -> None:
        self._open = event.index if isinstance(event, CallDelta) else None
        self._text = event.arguments if isinstance(event, CallDelta) else ""
        self._look_at = 0

    def _is_whole(self) -> bool:
        """Whether nothing is open, or a call whose arguments are JSON."""
        if self._open is None:
            return True
        if len(self._text) < self._look_at:
            return False
        try:
            json.loads(self._text)
        except (ValueError, RecursionError):
            self._look_at = len(self._text) * 9 // 8 if len(self._text) > _SHORT else 0
            return False
        return True


def _is_of(event: ModelEvent, index: int) -> bool:
    return isinstance(event, CallDelta) and event.index == index
