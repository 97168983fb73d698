"""Determinism: time and chance, which enter a build only through these values.

`Clock` is the moment a build happens in; `Randomness` gives named streams of numbers from one seed. `noticing` tells whether
either was used: what was built without them is the same at any time.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo


_HINT: Final = "write it like 2026-01-15T12:34:56Z"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(msgspec.Struct, frozen=True):
    """A fixed, aware moment with a zone and a locale: it does not tick, since a build happens at one instant."""

    now: datetime
    locale: str = "en-US"

    @classmethod
    def at(cls, moment: datetime | str | None, locale: str = "en-US") -> Clock:
        """A clock at an aware moment, an ISO 8601 text, or (``None``) the wall clock. Naive moments are UTC.

        Raises `FormatError` for what is not a moment, or in a year that not every zone can write (1 and 9999).
        """
        if moment is None:
            return cls(utc_now(), locale)
        if isinstance(moment, str):
            moment = _parse(moment)
        if not isinstance(moment, datetime):
            raise FormatError(f"now must be a moment, not {kind_of(moment)}", hint=_HINT)
        if not MINYEAR < moment.year < MAXYEAR:
            raise FormatError(f"the year {moment.year} is out of range", hint=_HINT)
        return cls(moment if moment.tzinfo else moment.replace(tzinfo=UTC), locale)

    @property
    def epoch_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        delta = self.now - EPOCH
        return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000

    def in_zone(self, zone: tzinfo) -> datetime:
        """The same moment as another zone writes it."""
        return self.now.astimezone(zone)


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise FormatError(f"not an ISO 8601 moment: {text[:40]!r}", where=Where(path="now"), hint=_HINT) from error


_MASK = 0xFFFFFFFF


class RandomStream(Protocol):
    """A source of uniform numbers in [0, 1), in draw order."""

    def random(self) -> float:
        """The next number."""
        ...


class Mulberry32:
    """The public mulberry32 generator: 32 bits of state, equal on every platform."""

    __slots__ = ("_state", "draws")

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK
        self.draws = 0

    def random(self) -> float:
        """The next number in [0, 1), a multiple of 2**-32."""
        self.draws += 1
        self._state = (self._state + 0x6D2B79F5) & _MASK
        a = self._state
        t = ((a ^ (a >> 15)) * (a | 1)) & _MASK
        t = (t + (((t ^ (t >> 7)) * (t | 61)) & _MASK) & _MASK) ^ t
        return ((t ^ (t >> 14)) & _MASK) / 4294967296


def _named(seed: int, name: str) -> RandomStream:
    digest = hashlib.blake2b(f"{seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return Mulberry32(int.from_bytes(digest, "big"))


class Randomness:
    """Random streams by name, each with its own state: a draw from one never shifts another.

    ``make(seed, name)`` builds a stream; the default hashes both into a `Mulberry32`. Pass another to reproduce a
    foreign generator (one shared stream, for instance). One instance serves one build.
    """

    __slots__ = ("_make", "_streams", "seed")

    def __init__(self, seed: int = 0, make: Callable[[int, str], RandomStream] = _named) -> None:
        self.seed = seed
        self._make = make
        self._streams: dict[str, RandomStream] = {}

    @classmethod
    def shared(cls, seed: int) -> Randomness:
        """All names draw from one `Mulberry32` seeded with ``seed``, in call order."""
        stream = Mulberry32(seed)
        return cls(seed, lambda _seed, _name: stream)

    def stream(self, name: str) -> RandomStream:
        """The stream called ``name``; the same object for the same name."""
        if name not in self._streams:
            self._streams[name] = self._make(self.seed, name)
        return self._streams[name]


class Noticed:
    """The record of `noticing`: ``moment``, whether a build has read the time or drawn a number."""

    def __init__(self) -> None:
        self.moment = False


_NOTICED: Final[ContextVar[Noticed | None]] = ContextVar("innkeeper_noticed", default=None)


@contextmanager
def noticing() -> Iterator[Noticed]:
    """Notice whether builds inside the block read the time or draw numbers; those with a ``random`` of their own may."""
    seen = Noticed()
    token = _NOTICED.set(seen)
    try:
        yield seen
    finally:
        _NOTICED.reset(token)


def noticed(clock: Clock, chance: Randomness) -> tuple[Clock, Randomness]:
    """Both as a build gets them: themselves, or inside `noticing` such as give the same and tell."""
    seen = _NOTICED.get()
    if seen is None:
        return clock, chance
    return _NoticedClock(clock.now, clock.locale, seen), Randomness(
        chance.seed, lambda _seed, name: _NoticedStream(chance.stream(name), seen)
    )


class _NoticedClock(Clock, frozen=True):
    """A clock that tells when it is read."""

    seen: Noticed | None = None

    @property  # type: ignore[misc]  # the same field, read with a word about it
    def now(self) -> datetime:
        assert self.seen is not None  # noqa: S101 - `noticed` makes it with one
        self.seen.moment = True
        moment: datetime = Clock.now.__get__(self)  # type: ignore[attr-defined]  # the field's own descriptor
        return moment


class _NoticedStream:
    """A stream that tells when a number is drawn."""

    __slots__ = ("_seen", "_stream")

    def __init__(self, stream: RandomStream, seen: Noticed) -> None:
        self._stream, self._seen = stream, seen

    def random(self) -> float:
        self._seen.moment = True
        return self._stream.random()
