"""Allowance: the limits of one build in steps of work, characters of output and seconds of processor time.

One value travels with a build, as the current one of its thread's context. Every engine (macros, patterns, automata, lore,
sandbox, templates, trimming, dialects) charges it *before* it works, also for work that then fails, and stops where it is
spent::

    charge("lore", steps=len(entries))  # before the loop
    charge("macros", made=count * len(text))  # before the text is made

A limit of one engine ("10,000 macros a build") says what is sensible there; the allowance says what all of them may cost
together. Steps and characters are the same on every machine, so a build that ends by them ends alike everywhere. Seconds are
a backstop for what no engine has foreseen: a build that has spent them fails as a whole, so that no prompt depends on how
quick a machine is. A full garbage collection is not counted among them: how long it takes depends on what the whole process
holds, and a host with a large heap would see small builds fail for it.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, thread_time
from typing import Annotated, Any, Final, NoReturn

import msgspec

from innkeeper.prompt.errors import LimitError, UsageError
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert

MAX_BUILD_STEPS: Final = 10_000_000
"""Steps of work in one build (`AllowanceError`). A step is about a tenth of a microsecond: one small operation of Python."""

MAX_BUILD_OUTPUT: Final = 32 * 1024 * 1024
"""Characters that all engines of one build may produce together (`AllowanceError`); text that is passed on unchanged is
not counted.
"""

MAX_BUILD_SECONDS: Final = 1.25
"""Seconds that one build may keep the processor busy (`AllowanceError`): time of its thread, not of the clock on the wall."""

_CHECK_EVERY: Final = 20_000
"""Steps between two comparisons with the clock: about 2 ms."""

_REFUSAL: Final = 100
"""Steps that a refused charge costs: about what raising and catching its error takes."""


class AllowanceError(LimitError):
    """A build has spent its allowance. ``engine`` asked for more; ``spent`` has the steps of each engine.

    Where a tavern's rule has a result without the part that was refused, the build goes on with a note; no build goes on
    beyond its seconds.
    """

    def __init__(self, what: str, *, limit: str, allowed: float, engine: str, spent: dict[str, int]) -> None:
        hint = "make the request smaller, or allow it more: limits={...}"
        super().__init__(
            f"what a build may take ({what}), asked for by {engine},",
            limit=limit,
            allowed=allowed,
            hint=hint,
            engine=engine,
            spent=spent,
        )
        self.engine = engine
        self.spent = spent


class BuildLimits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of a build; a field that is ``None`` leaves the default of this module.

    A request asks with it, an operator (`Ports.max_limits`) sets with it what no request may exceed.
    """

    steps: Annotated[int, msgspec.Meta(ge=1)] | None = None
    output: Annotated[int, msgspec.Meta(ge=1)] | None = None
    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None

    @classmethod
    def read(cls, texts: Iterable[str]) -> BuildLimits:
        """Limits from ``NAME=NUMBER`` texts, as a command line or a header has them. Raises `UsageError`."""
        named = {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts)}
        try:
            return convert(named, cls, strict=False)
        except Misfit as error:
            hint = "write it like seconds=5, steps=1000000 or output=1000000"
            near = did_you_mean(error.field, cls.__struct_fields__, hint)
            raise UsageError(f"not limits of a build: {error}", hint=near) from error

    def with_defaults(self, defaults: BuildLimits) -> BuildLimits:
        """These limits, with those of ``defaults`` where they say nothing."""
        return BuildLimits(
            **{name: _first(getattr(self, name), getattr(defaults, name)) for name in self.__struct_fields__}
        )

    def within(self, most: BuildLimits) -> BuildLimits:
        """These limits where they are below those of ``most``, else those; what both leave open stays open."""
        return BuildLimits(
            **{name: _lower(getattr(self, name), getattr(most, name)) for name in self.__struct_fields__}
        )


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _lower(one: Any, other: Any) -> Any:
    return _first(one, other) if one is None or other is None else min(one, other)


DEFAULT_LIMITS: Final = BuildLimits(steps=MAX_BUILD_STEPS, output=MAX_BUILD_OUTPUT, seconds=MAX_BUILD_SECONDS)
"""The limits of a build that sets none."""


class Allowance:
    """What a build has left of its limits. Mutable, for one thread; `spent` lists the steps by engine.

    ``since``: the time of the thread (`time.thread_time`) at which the work began, where that was before now.
    """

    __slots__ = ("_collecting", "_not_before", "_until", "expired", "limits", "next_check", "output", "spent", "steps")

    def __init__(self, limits: BuildLimits | None = None, since: float | None = None) -> None:
        self.limits = DEFAULT_LIMITS if limits is None else limits.with_defaults(DEFAULT_LIMITS)
        self.steps: int = self.limits.steps  # type: ignore[assignment]
        self.output: int = self.limits.output  # type: ignore[assignment]
        self.spent: dict[str, int] = defaultdict(int)
        self.expired: AllowanceError | None = None
        """The error of seconds that are spent: the whole build fails with it, whatever went on without a part."""
        now = thread_time()
        self._until = (now if since is None else since) + self.limits.seconds  # type: ignore[operator]
        self._not_before = perf_counter() + self._until - now
        """No thread works longer than the clock on the wall runs, which is much quicker to look at."""
        self._collecting = 0.0
        self.next_check = max(self.steps - _CHECK_EVERY, 0)
        """The steps left at which the clock is looked at next."""

    def seconds_left(self) -> float:
        """Seconds of the processor that are left; never below 0."""
        return max(self._until - thread_time(), 0.0)

    def collects(self, phase: str) -> None:
        """A full garbage collection starts or stops in the thread of the build: its time is given back."""
        now = thread_time()
        if phase == "start":
            self._collecting = now
        else:
            self.give_back(now - self._collecting)

    def give_back(self, seconds: float) -> None:
        """Do not count these seconds, which the thread has worked."""
        self._until += seconds
        self._not_before += seconds

    def check_time(self, engine: str) -> None:
        """Look at the clock now. Raises `AllowanceError` when the seconds are spent."""
        if self.expired is None and perf_counter() < self._not_before:
            return
        if self.expired is not None or thread_time() >= self._until:
            self.expire(engine)

    def expire(self, engine: str) -> NoReturn:
        """Have no second left: a library has used what it was given of them, by its own clock. Raises `AllowanceError`."""
        if self.expired is None:
            self.expired = self._error("seconds", "MAX_BUILD_SECONDS", self.limits.seconds, engine)
        raise self.expired

    def refuse(self, engine: str, steps: int) -> NoReturn:
        """Raise the `AllowanceError` of a charge for which less is left. Asking costs a little."""
        refused = steps > self.steps
        self.steps = max(self.steps - _REFUSAL, 0)
        self.check_time(engine)
        if refused:
            raise self._error("steps", "MAX_BUILD_STEPS", self.limits.steps, engine)
        raise self._error("characters made", "MAX_BUILD_OUTPUT", self.limits.output, engine)

    def _error(self, what: str, limit: str, allowed: Any, engine: str) -> AllowanceError:
        return AllowanceError(what, limit=limit, allowed=allowed, engine=engine, spent=dict(self.spent))


_CURRENT: Final[ContextVar[Allowance | None]] = ContextVar("innkeeper_allowance", default=None)
_current: Final = _CURRENT.get

_FULL: Final = 2
"""The generation of a full garbage collection."""


def _collects(phase: str, info: Mapping[str, int]) -> None:
    """Count a full garbage collection for the build of the thread in which it happens."""
    if info["generation"] == _FULL and (allowance := _current()) is not None:
        allowance.collects(phase)


def current_allowance() -> Allowance | None:
    """The allowance of the build at work in this context, if any."""
    return _CURRENT.get()


@contextmanager
def allowed(limits: BuildLimits | None = None, *, since: float | None = None) -> Iterator[Allowance]:
    """Return the allowance that work inside the block is charged to: the current one, else a new one.

    So a door (a build, an operation of the service, a command) opens it, and doors called by doors share it. A door that must
    read before it knows the limits says ``since`` when (`Allowance`). Raises at the
    end of the block that opened it the `AllowanceError` of seconds that ran out, also where an engine went on without a part.
    """
    outer = _CURRENT.get()
    if outer is not None:
        yield outer
        return
    allowance = Allowance(limits, since)
    if _collects not in gc.callbacks:
        gc.callbacks.append(_collects)
    token = _CURRENT.set(allowance)
    try:
        yield allowance
    finally:
        _CURRENT.reset(token)
    if allowance.expired is not None:
        raise allowance.expired


@contextmanager
def apart() -> Iterator[Allowance]:
    """Return an allowance of its own, within the seconds that are left of the current one.

    For one of many builds of a call, each of which may take what a build of its own may.
    """
    outer = _CURRENT.get()
    token = _CURRENT.set(Allowance(None if outer is None else BuildLimits(seconds=outer.seconds_left())))
    try:
        with allowed() as allowance:
            yield allowance
    finally:
        _CURRENT.reset(token)


def charge(engine: str, steps: int = 1, made: int = 0) -> None:
    """Take ``steps`` of work and ``made`` characters for an engine from the current allowance, if there is one.

    What is refused is not taken, so that a part that asked for too much leaves the others theirs. Raises `AllowanceError`.
    """
    allowance = _current()
    if allowance is None:
        return
    left = allowance.steps - steps
    if left < 0 or made > allowance.output:
        allowance.refuse(engine, steps)
    allowance.spent[engine] += steps
    allowance.steps = left
    if made:
        allowance.output -= made
    if left < allowance.next_check:
        allowance.next_check = max(left - _CHECK_EVERY, 0)
        allowance.check_time(engine)


def end_build(engine: str) -> None:
    """Fail the build at work, if there is one: a library that cannot count its steps has used up the time it was given.

    Time may end a build, but never decide what is in it. Raises `AllowanceError`.
    """
    allowance = _current()
    if allowance is not None:
        allowance.expire(engine)


def seconds_left(most: float) -> float:
    """Seconds that one search or one call of a library may take: ``most``, or what is left of the build when that is less."""
    allowance = _CURRENT.get()
    return most if allowance is None else min(most, allowance.seconds_left())
