"""A small fuzzer: it changes known inputs, keeps those that lead somewhere new, and watches for what must not happen.

What must not happen to a parser, whatever the bytes: an exception that is not an `InnkeeperError`, a hang, and more memory
than a limit. An input is new when it ends in a place, an error or a value of a kind, where none ended before.
"""

import faulthandler
import hashlib
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, NamedTuple, NoReturn

from innkeeper.prompt.errors import InnkeeperError

__all__ = ["Crash", "Fuzzer", "HangError", "Report", "Target", "mutate", "outcome"]

INPUT_SECONDS: Final = 10
"""Of the processor; an input that takes longer hangs. So does one that has no answer in twelve times as long by the clock."""

MEMORY_BYTES: Final = 512 * 1024 * 1024
"""More than this, over what the process had before, is too much."""

MAX_INPUT: Final = 256 * 1024
"""Inputs do not grow beyond this."""

KEPT: Final = 2_000
"""How many inputs that led somewhere new are kept."""

FRAMES: Final = 3
"""How many of the last frames of an error tell one place from another."""

HALF: Final = 0.5
MOSTLY: Final = 0.7

NUMBERS: Final = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
WORDS: Final = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\\",
        b"\\u",
        b"\\ud800",
        b"null",
        b"true",
        b"1e999",
        b"NaN",
        b"-",
        b"\n",
    ),
    *(
        b"{{",
        b"}}",
        b"{%",
        b"%}",
        b"::",
        b"//",
        b"@@",
        b"/i",
        b"\0",
        b"\xff",
        b"\xe2\x80\xae",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98\x80",
    ),
    *(
        b"PK\3\4",
        b"PK\1\2",
        b"PK\5\6",
        b"../",
        b"chara\0",
        b"ccv3\0",
        b"tEXt",
        b"zTXt",
        b"iTXt",
        b"IEND",
        b"data: ",
        b"[DONE]",
    ),
)


class HangError(BaseException):
    """Raised inside a parser that takes too long; no parser catches it."""


class Target(NamedTuple):
    """A parser to fuzz.

    ``run`` takes any bytes and raises nothing but `InnkeeperError`; ``seeds`` gives sound inputs to begin with; ``mend``
    puts right what would only be refused at the door, such as a checksum; ``change`` makes a change that the format
    allows, and is used for half of the inputs; ``few`` is how many inputs the tests try.
    """

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    mend: Callable[[bytes], bytes] | None = None
    change: Callable[[bytes, random.Random], bytes] | None = None
    few: int = 400


@dataclass(frozen=True)
class Crash:
    """An input that did what must not happen."""

    target: str
    kind: str
    detail: str
    data: bytes

    @property
    def name(self) -> str:
        """A file name for the input."""
        return f"{self.target}-{self.kind}-{hashlib.sha256(self.data).hexdigest()[:12]}"


@dataclass
class Report:
    """What a run of one target came to."""

    target: str
    seed: int
    runs: int = 0
    seconds: float = 0.0
    places: int = 0
    peak: int = 0
    crashes: list[Crash] = field(default_factory=list)

    def __str__(self) -> str:
        """One line."""
        rate = self.runs / self.seconds if self.seconds else 0
        return (
            f"{self.target}: {self.runs:,} inputs in {self.seconds:.0f} s ({rate:,.0f}/s), {self.places} places, "
            f"peak +{self.peak // 2**20} MiB, {len(self.crashes)} crashes (seed {self.seed})"
        )


class Fuzzer:
    """Fuzzes one target.

    Args:
        target: what to fuzz.
        seed: the same seed, target and corpus give the same inputs.
        corpus: more inputs to begin with.
    """

    def __init__(self, target: Target, seed: int = 0, corpus: list[bytes] | None = None) -> None:
        self.target = target
        self.random = random.Random(f"{target.name} {seed}")  # noqa: S311 - not for secrets
        self.kept = [*target.seeds(), *(corpus or [])] or [b""]
        self.places: set[Any] = set()
        self.report = Report(target.name, seed)
        self._before = _peak()

    def run(self, *, seconds: float | None = None, inputs: int | None = None) -> Report:
        """Try inputs for a time or a number of them, the sound ones first."""
        start = time.monotonic()
        for data in list(self.kept):
            self.try_one(data)
        while not self._is_done(start, seconds, inputs):
            self.try_one(self._next())
        self.report.seconds = time.monotonic() - start
        self.report.places = len(self.places)
        return self.report

    def try_one(self, data: bytes) -> None:
        """One input: note where it ends, and whether that must not happen."""
        self.report.runs += 1
        place, crash = outcome(self.target, data)
        grown = _peak() - self._before
        self.report.peak = max(self.report.peak, grown)
        if grown > MEMORY_BYTES:
            self.report.crashes.append(Crash(self.target.name, "memory", f"{grown:,} bytes", data))
            self._before = _peak()  # what comes after it is held against a limit of its own
        if place not in self.places:
            self.places.add(place)
            self.report.crashes += [crash] if crash else []
            if len(self.kept) < KEPT:
                self.kept.append(data)

    def _next(self) -> bytes:
        data, other = self.random.choice(self.kept), self.random.choice(self.kept)
        mend, change = self.target.mend, self.target.change
        if change is not None and self.random.random() < HALF:
            return change(data, self.random)
        data = mutate(data, other, self.random)
        return mend(data) if mend is not None and self.random.random() < MOSTLY else data

    def _is_done(self, start: float, seconds: float | None, inputs: int | None) -> bool:
        is_late = seconds is not None and time.monotonic() - start >= seconds
        return is_late or (inputs is not None and self.report.runs >= inputs)


def outcome(target: Target, data: bytes) -> tuple[Any, Crash | None]:
    """Where an input ends, and the crash if it is one."""
    try:
        with _time_limit():
            value = target.run(data)
    except InnkeeperError as error:
        return (type(error).__name__, _frames(error)), None
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it must not happen
        kind = "hang" if isinstance(error, HangError) else "exception"
        detail = "".join(traceback.format_exception(error)[-6:])
        return (kind, type(error).__name__, _frames(error)), Crash(target.name, kind, detail, data)
    rules = frozenset(finding.rule for finding in getattr(value, "findings", ()))
    return ("value", type(value).__name__, str(getattr(value, "kind", "")), rules), None


def mutate(data: bytes, other: bytes, source: random.Random) -> bytes:
    """A changed input: one to eight small changes, in the way that formats get broken."""
    for _ in range(2 ** source.randrange(4)):
        data = source.choice(_CHANGES)(data, other, source)
    return data[:MAX_INPUT]


def _flip(data: bytes, _other: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ (1 << source.randrange(8))]) + data[at + 1 :] if data else b"\0"


def _cut(data: bytes, _other: bytes, source: random.Random) -> bytes:
    start, end = _span(data, source)
    return data[:start] + data[end:]


def _repeat(data: bytes, _other: bytes, source: random.Random) -> bytes:
    start, end = _span(data, source)
    return data[:start] + data[start:end] * source.choice((2, 3, 50)) + data[end:]


def _graft(data: bytes, other: bytes, source: random.Random) -> bytes:
    (start, end), (first, last) = _span(data, source), _span(other, source)
    return data[:start] + other[first:last] + data[end:]


def _word(data: bytes, _other: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data) + 1)
    return data[:at] + source.choice(WORDS) * source.choice((1, 1, 1, 2, 100)) + data[at:]


def _number(data: bytes, _other: bytes, source: random.Random) -> bytes:
    size, at = source.choice((1, 2, 4)), source.randrange(len(data) + 1)
    value = source.choice(NUMBERS) & ((1 << 8 * size) - 1)
    return data[:at] + value.to_bytes(size, source.choice(("big", "little"))) + data[at + size :]


def _truncate(data: bytes, _other: bytes, source: random.Random) -> bytes:
    return data[: source.randrange(len(data) + 1)]


_CHANGES: Final = (_flip, _flip, _cut, _repeat, _graft, _word, _word, _number, _truncate)


def _span(data: bytes, source: random.Random) -> tuple[int, int]:
    start = source.randrange(len(data) + 1)
    return start, min(len(data), start + source.choice((1, 2, 4, 16, 64, 1024)))


def _frames(error: BaseException) -> tuple[Any, ...]:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return tuple((frame.filename, frame.lineno) for frame in frames)


def _peak() -> int:
    """The most memory this process has had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def _time_limit(seconds: float = INPUT_SECONDS) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise HangError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(seconds * 12, exit=True)  # for code that no signal reaches
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
