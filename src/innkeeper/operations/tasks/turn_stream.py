"""TurnStream: a turn whose answer is given while it is written: nothing of it before it has passed the gate.

What is written is held until a sentence or a few lines are there, looked at together with all that came before, and passed on
then. Where steps of the template may change more than the answer's beginning, it is passed on when it is whole. What is kept is
`TurnStream.answer`, whatever was passed on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from innkeeper.library.errors import FieldError, TierBlockedError
from innkeeper.library.templates.postprocessing import PostProcessing
from innkeeper.operations.tasks.execution import Flow
from innkeeper.operations.tasks.turn import PreparedTurn, TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turns import Turns, processed_of, require_answer

_SENTENCE: Final = re.compile(r"[.!?…。！？\n][\"'”’)*\]]*\s*\Z")
_HELD: Final = 240
"""Characters that are held at most before they are looked at."""

_LABEL: Final = 100
"""Characters in which a speaker's label ends, if there is one."""

_PREFIX_ONLY: Final = frozenset({"labels"})
"""Steps that change no more than the beginning."""


class TurnStream:
    """One turn under way. Make one with `begin`, read `texts` to their end, then `answer` is there."""

    def __init__(self, turns: Turns, turn: PreparedTurn | TurnAnswer, flow: Flow | None) -> None:
        self._turns, self._turn, self._flow = turns, turn, flow
        self._sent = ""
        self.answer: TurnAnswer | None = turn if isinstance(turn, TurnAnswer) else None

    @classmethod
    async def begin(cls, turns: Turns, request: TurnRequest) -> TurnStream:
        """Begin a turn. Raises what `Turns.take` raises before anything of an answer is there."""
        turn = await asyncio.to_thread(turns.begin, request)
        if isinstance(turn, TurnAnswer):
            return cls(turns, turn, None)
        try:
            return cls(turns, turn, await turns.tasks.flow(turn.task))
        except TierBlockedError:
            await asyncio.to_thread(turns.take_back, turn)
            raise

    async def texts(self) -> AsyncGenerator[str]:
        """The answer as it comes. Raises what `Turns.take` raises; what was passed on until then had passed the gate."""
        if self._flow is None or isinstance(self._turn, TurnAnswer):
            assert self.answer is not None  # noqa: S101 - it was answered before
            yield self.answer.text
            return
        async with aclosing(self._passed(self._flow, self._turn)) as texts:
            async for text in texts:
                yield text
        written = self._flow.written()
        require_answer(written)
        template = written.prepared.resolution.template
        processed = processed_of(template, written.text, self._turn.cast, refused=written.refused)
        done = await self._turns.tasks.finish(self._turn.task, written, text=processed.text)
        if processed.text.startswith(self._sent) and processed.text != self._sent:
            yield processed.text.removeprefix(self._sent)
        self.answer = await asyncio.to_thread(self._turns.keep, self._turn, done, processed)

    async def _passed(self, flow: Flow, turn: PreparedTurn) -> AsyncGenerator[str]:
        """What may be passed on before the answer is whole."""
        known, whole, held = flow.so_far(), "", ""
        template = known.prepared.resolution.template
        steps = _steps_of(template)
        async with aclosing(flow.texts()) as texts:
            async for text in texts:
                whole, held = whole + text, held + text
                ready = len(whole) >= _LABEL and (len(held) >= _HELD or _SENTENCE.search(held[-8:]) is not None)
                if not ready or steps is None or not steps <= _PREFIX_ONLY:
                    continue
                now = processed_of(template, whole, turn.cast, refused=False).text
                await self._turns.tasks.check(known, now)
                if not now.startswith(self._sent):
                    continue
                fresh, self._sent, held = now.removeprefix(self._sent), now, ""
                if fresh:
                    yield fresh


def _steps_of(template: object) -> frozenset[str] | None:
    """The steps of a template; None where nobody knows."""
    metadata = getattr(template, "metadata", None)
    try:
        return None if metadata is None else frozenset(name for name, _ in PostProcessing.of(metadata).steps)
    except FieldError:
        return frozenset()
