"""GroupCommit: writes that threads want at the same time, in one transaction.

A commit waits for the disk, and everybody who commits for himself waits in turn. Here whoever comes first writes; those who come
while he does are written together by the next. Nobody is answered before what he wanted is committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

MOST: Final = 64
"""Writes of one transaction (no error: the rest is written by the next)."""

_T = TypeVar("_T")
_R = TypeVar("_R")


class _Waiting(Generic[_T, _R]):
    """An item, and the thread that waits for it: until it is answered, or until it is to write for those who wait with it."""

    __slots__ = ("answer", "item", "leads", "turn")

    def __init__(self, item: _T) -> None:
        self.item = item
        self.answer: list[_R] = []
        self.leads = False
        self.turn = threading.Event()


class GroupCommit(Generic[_T, _R]):
    """Called with an item by any thread, it returns what ``write`` answers for it, once that is committed.

    Args:
        write: writes items in one transaction, all or none, and answers for each in their order. What fails for several is done
            again for each alone, so that nobody fails through others; it must be harmless to write the same item twice.
    """

    def __init__(self, write: Callable[[Sequence[_T]], Sequence[_R]]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._writing = False
        self._waiting: list[_Waiting[_T, _R]] = []

    def __call__(self, item: _T) -> _R:
        """Write one item. Raises what ``write`` raises for it."""
        mine: _Waiting[_T, _R] = _Waiting(item)
        with self._lock:
            self._waiting.append(mine)
            mine.leads, self._writing = not self._writing, True
        if not mine.leads:
            mine.turn.wait()
        if mine.leads:
            self._lead()
        return mine.answer[0] if mine.answer else self._write([item])[0]

    def _lead(self) -> None:
        """Write for all who wait, and leave the lead to the first who came meanwhile."""
        with self._lock:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        try:
            if len(batch) > 1:
                self._answer(batch)
            else:
                batch[0].answer.append(self._write([batch[0].item])[0])
        finally:
            with self._lock:
                following = self._waiting[0] if self._waiting else None
                self._writing = following is not None
            for one in batch:
                one.turn.set()
            if following is not None:
                following.leads = True
                following.turn.set()

    def _answer(self, batch: list[_Waiting[_T, _R]]) -> None:
        try:
            answers = self._write([one.item for one in batch])
        except Exception:  # noqa: BLE001 - each writes its own alone then, and gets the error that is its own
            return
        for one, answer in zip(batch, answers, strict=True):
            one.answer.append(answer)
