"""Growth: what twice the input costs, in time of the processor and in memory; shared by the tests of this folder.

A `Family` is a hostile input that grows with a number. Doubled, it may take 2.5 times the time and memory of the single one,
unless a limit or the allowance ends it before. What its language makes it pay more for (a list that is read and written as
JSON for each item) is charged for as much. Seconds are never compared with a number: both are measured on this machine, now,
as the best of several runs, so that neither a slow machine nor a busy one fails a test.
"""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import thread_time
from typing import Any, Final

from innkeeper.prompt.allowance import Allowance, AllowanceError, BuildLimits, allowed
from innkeeper.prompt.errors import InnkeeperError

__all__ = ["Family", "fresh", "held", "spending", "stops"]

MOST: Final = 2.5
"""How many times the time and memory of an input its double may take."""

_MUCH: Final = BuildLimits(steps=10**9, output=10**9, seconds=60.0)
_STEEP: Final = 3
_ROUNDS: Final = 3
_MOST_ROUNDS: Final = 60
_MEMORY_ROUNDS: Final = 9
_SMALL_SECONDS: Final = 0.001
_SMALL_BYTES: Final = 256 * 1024
_NUMBERS: Final = itertools.count()


@dataclass(frozen=True)
class Family:
    """An input by its size, what ``run`` does with it, and a size that takes some 10 ms. ``engine`` is who is charged.

    ``steep``: it costs more than twice as much, and is charged for that.
    """

    name: str
    run: Callable[[int], Any]
    size: int
    engine: str
    steep: bool = False


def fresh() -> str:
    """A text that no cache has seen."""
    return f"n{next(_NUMBERS)}"


def _once(family: Family, size: int) -> float:
    with suppress(InnkeeperError), allowed():
        start = thread_time()
        try:
            family.run(size)
        finally:
            seconds = thread_time() - start
    return seconds


def _quick(family: Family) -> bool:
    """Whether the best times of both, which are measured in turn, keep to `MOST`; further rounds only where they do not.

    The single one is run twice: a busy machine interrupts what takes long more often, and caches are filled anew each time.
    """
    single = double = inf
    gc.collect()
    gc.disable()
    try:
        for round_ in range(_MOST_ROUNDS):
            single = min(single, (_once(family, family.size) + _once(family, family.size)) / 2)
            double = min(double, _once(family, 2 * family.size))
            if round_ + 1 >= _ROUNDS and double <= MOST * single + _SMALL_SECONDS:
                return True
    finally:
        gc.enable()
    return False


def _compact(family: Family) -> bool:
    """The same of memory, which other threads of this process take at the same time, too."""
    single = double = inf
    for _ in range(_MEMORY_ROUNDS):
        single, double = min(single, _peak(family, family.size)), min(double, _peak(family, 2 * family.size))
        if double <= MOST * single + _SMALL_BYTES:
            return True
    return False


def _peak(family: Family, size: int) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        _once(family, size)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def held(family: Family) -> bool:
    """Whether the doubled input keeps to `MOST`, in time and in memory."""
    if family.steep:
        return _steps(family, 2 * family.size) >= _STEEP * _steps(family, family.size)
    _once(family, family.size)
    return _quick(family) and _compact(family)


def _steps(family: Family, size: int) -> int:
    with allowed(_MUCH) as allowance, suppress(InnkeeperError):
        family.run(size)
    return allowance.spent[family.engine]


def spending(family: Family) -> dict[str, int]:
    """The steps that each engine has taken for the input."""
    with allowed(_MUCH) as allowance, suppress(InnkeeperError):
        family.run(family.size)
    return allowance.spent


def stops(family: Family) -> int:
    """How often the input asks for more where next to nothing is left: each time an error is made, and caught or passed on."""
    errors: list[Any] = []

    class Counting(Allowance):
        __slots__ = ()

        def _error(self, *args: Any) -> AllowanceError:
            errors.append(args)
            return super()._error(*args)

    import innkeeper.prompt.allowance as module

    own, module.Allowance = module.Allowance, Counting  # type: ignore[misc]  # only while the input runs
    try:
        with suppress(InnkeeperError), allowed(BuildLimits(steps=100)):
            family.run(family.size)
    finally:
        module.Allowance = own  # type: ignore[misc]  # as above
    return len(errors)
