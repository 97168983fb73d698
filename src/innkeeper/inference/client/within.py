"""within: a time limit for what seldom has to wait: its timer is made only where it does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


@coroutine
def within(seconds: float, work: Coroutine[Any, Any, _T]) -> Generator[Any, Any, _T]:
    """What ``work`` gives. Raises `TimeoutError` where it waits longer than ``seconds``; then it is cancelled."""
    try:
        waits = work.send(None)
    except StopIteration as end:
        value: _T = end.value
        return value
    return (yield from _timed(seconds, work, waits).__await__())


async def _timed(seconds: float, work: Coroutine[Any, Any, _T], waits: Any) -> _T:
    async with asyncio.timeout(seconds):
        return await _rest(work, waits)


@coroutine
def _rest(work: Coroutine[Any, Any, _T], waits: Any) -> Generator[Any, Any, _T]:
    """The rest of work that has begun and waits: what it is sent and what is thrown goes to it, as with ``yield from``."""
    try:
        while True:
            try:
                sent = yield waits
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the work is told
                waits = work.throw(error)
            else:
                waits = work.send(sent)
    except StopIteration as end:
        value: _T = end.value
        return value
