"""SplitCharacters: events whose texts hold whole characters only, where a provider cuts between two surrogates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from innkeeper.inference.response.events import CallDelta, ModelEvent, ReasoningDelta, RefusalDelta, TextDelta
from innkeeper.inference.texts import whole_text

_Delta: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | CallDelta
_DELTAS: Final = (TextDelta, ReasoningDelta, RefusalDelta, CallDelta)


class SplitCharacters:
    """Holds half a character back until the delta that has its other half; a half that stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._held: _Delta | None = None

    def take(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """The events that are whole with this one."""
        before, self._held = self._held, None
        if before is None and (not isinstance(event, _DELTAS) or _text(event).isascii()):
            yield event
            return
        half = _text(before) if before is not None and _goes_on(before, event) else ""
        if before is not None and not half:
            yield _with(before, "\ufffd")
        if not isinstance(event, _DELTAS):
            yield event
            return
        text = half + _text(event)
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held = _half(event, text[-1])
            text = text[:-1]
        whole = whole_text(text)
        yield event if whole == _text(event) else _with(event, whole)

    def end(self) -> Iterator[ModelEvent]:
        """What was held back to the end."""
        if self._held is not None:
            yield _with(self._held, "\ufffd")


def _goes_on(before: _Delta, event: ModelEvent) -> bool:
    """Whether one text goes on where the other ended."""
    alike = all(getattr(before, name, None) == getattr(event, name, None) for name in ("index", "summary"))
    return type(before) is type(event) and alike and not (getattr(event, "new", 0) or getattr(event, "part", 0))


def _half(event: _Delta, half: str) -> _Delta:
    """Half a character of the text of ``event``, without what else it brought."""
    if isinstance(event, CallDelta):
        return CallDelta(index=event.index, arguments=half)
    if isinstance(event, ReasoningDelta):
        return ReasoningDelta(text=half, summary=event.summary)
    return type(event)(text=half)


def _text(event: _Delta) -> str:
    return event.arguments if isinstance(event, CallDelta) else event.text


def _with(event: _Delta, text: str) -> Any:
    return msgspec.structs.replace(event, **{"arguments" if isinstance(event, CallDelta) else "text": text})
