"""Progress: what is done, the rate and the time left, on one line of a terminal's standard error, while work takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import click

Item = TypeVar("Item")
Step = Callable[[int], None]
"""Is told how much more is done."""

SILENT_SECONDS: Final = 1.0
"""Seconds of work before anything is shown: what is quick needs no line."""

_SHOWN_EVERY: Final = 0.1


class ProgressLine:
    """The line. ``total`` is how much there is to do, if that is known; ``clock`` gives seconds."""

    def __init__(self, unit: str, total: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.unit, self.total, self.done = unit, total, 0
        self._clock = clock
        self._begun = clock()
        self._next = self._begun + SILENT_SECONDS

    def add(self, count: int) -> None:
        """Say that this much more is done."""
        self.show(self.done + count)

    def show(self, done: int, more: str = "") -> None:
        """Say how much is done in all, and ``more`` in words."""
        self.done, now = done, self._clock()
        if now < self._next:
            return
        self._next = now + _SHOWN_EVERY
        rate = max(done / (now - self._begun), 1e-6)
        whole = "" if self.total is None else f" of {self.total:,}"
        left = "" if self.total is None else f", {max(self.total - done, 0) / rate:,.0f} s left"
        click.echo(f"\r\x1b[K{done:,}{whole} {self.unit}, {rate:,.0f} a second{left}{more}", nl=False, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._next != self._begun + SILENT_SECONDS:
            click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def progress_line(unit: str, total: int | None, *, quiet: bool) -> Iterator[ProgressLine | None]:
    """Open a line and take it away at the end; None if ``quiet``, or where standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    line = ProgressLine(unit, total)
    try:
        yield line
    finally:
        line.clear()


@contextmanager
def progress(unit: str, total: int | None, *, quiet: bool) -> Iterator[Step]:
    """As `progress_line`, for work that only counts."""
    with progress_line(unit, total, quiet=quiet) as line:
        yield (lambda _: None) if line is None else line.add


def counted(items: Iterable[Item], step: Step) -> Iterator[Item]:
    """Yield the items; ``step`` is told of each when it is done with."""
    for item in items:
        yield item
        step(1)
