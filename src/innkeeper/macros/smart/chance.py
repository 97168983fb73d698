"""Chance: the draws macros make (``{{random}}``, ``{{roll}}``, ``random.shuffle``), over any stream of numbers."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

from innkeeper.prompt.randomness import Randomness, Stream

__all__ = ["Chance", "StreamChance", "seeded"]

_T = TypeVar("_T")


class Chance(Protocol):
    """What macros draw from. Python's own ``random.Random`` fits, see `innkeeper.macros.outside.python_chance`."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def randint(self, a: int, b: int) -> int:
        """A whole number from ``a`` to ``b``, both included. Raises `ValueError` when there is none."""
        ...

    def choice(self, seq: Sequence[_T]) -> _T:
        """One of ``seq``. Raises `IndexError` when it is empty."""
        ...

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Put ``x`` into another order, in place."""
        ...


class StreamChance:
    """`Chance` over a stream of the house. Ranges beyond 2**32 are drawn with that many different results."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def random(self) -> float:
        """The stream's next number."""
        return self._stream.random()

    def randint(self, a: int, b: int) -> int:
        """A whole number from ``a`` to ``b``, both included. Raises `ValueError` when there is none."""
        width = b - a + 1
        if width < 1:
            msg = f"there is no whole number from {a} to {b}"
            raise ValueError(msg)
        return a + int(self._stream.random() * 2**32) * width // 2**32

    def choice(self, seq: Sequence[_T]) -> _T:
        """One of ``seq``. Raises `IndexError` when it is empty."""
        if not len(seq):
            msg = "there is nothing to choose from"
            raise IndexError(msg)
        return seq[self.randint(0, len(seq) - 1)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Put ``x`` into another order, in place."""
        for last in range(len(x) - 1, 0, -1):
            other = self.randint(0, last)
            x[last], x[other] = x[other], x[last]


def seeded(seed: int) -> StreamChance:
    """The chance of a seed; equal on every platform and in every process."""
    return StreamChance(Randomness(seed).stream("smart-macros"))
