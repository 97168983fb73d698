"""Notes and traces: what a build reports about itself.

A `Note` is one typed fact that is not the first choice: ignored, lossy, estimated, repaired, failed. A `Trace` is what each step
read, decided and took, told to an `Instrumenter` in events (1-vibetavern-pipeline, *Instrumentation*): ``step_start`` (name),
``step_finish`` (name), ``step_error`` (name, error), ``warning`` (message, step), ``stat`` (key, value, step); ``expand``
(stage, text): the macros of a text are replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import UsageError, Where


class NoteKind(StrEnum):
    """The kinds of compromise that a `Note` reports. One list for the whole engine."""

    WARNING = "warning"
    """Something in outside data is not right; best effort went on."""
    IGNORED = "ignored"
    """An accepted input has no effect in this tavern."""
    LOSS = "loss"
    """A dialect cannot carry something the plan holds."""
    REPAIR = "repair"
    """Something was changed so that it could be used: lone surrogates, role order."""
    EVICTED = "evicted"
    """A block was dropped to fit the window."""
    ESTIMATE = "estimate"
    """A figure is an estimate, not an exact count."""
    FALLBACK = "fallback"
    """Another source, model or template than the requested one."""
    QUIRK = "quirk"
    """A compatibility switch decided something."""
    MACRO = "macro"
    """A macro or template could not be evaluated; its text was left."""
    LORE = "lore"
    """A lorebook entry could not be used as written."""
    MOVED = "moved"
    """Text was moved: a message of the history into the list of recalled passages."""
    DUE = "due"
    """Something is for the application to do next, with what it needs in the data: a summary of the chat."""
    LIMIT = "limit"
    """A named limit cut something short."""


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fact: ``kind``, a sentence, the step that reported it, its position, and its numbers in ``data``."""

    kind: NoteKind
    message: str
    step: str | None = None
    where: Where | None = None
    hint: str | None = None
    data: FrozenDict = EMPTY

    def __str__(self) -> str:
        """The sentence, with its place in front when that is known."""
        return self.where.before(self.message) if self.where else self.message

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, without the absent ones."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return facts


EVENTS: Final = {
    "step_start": frozenset({"name"}),
    "step_finish": frozenset({"name", "stats"}),
    "step_error": frozenset({"name", "error"}),
    "warning": frozenset({"message", "step"}),
    "stat": frozenset({"key", "value", "step"}),
    "expand": frozenset({"stage", "text"}),
}
"""Every event and the payload keys it may carry."""


class Instrumenter(Protocol):
    """A callable that receives events. ``None`` instead of one costs nothing: lazy payloads are never built."""

    def __call__(self, event: str, /, **payload: Any) -> None:
        """Receive one event."""
        ...


class TraceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step: its times in milliseconds (``own_ms`` without the steps inside it), its stats and warnings."""

    name: str
    own_ms: float
    total_ms: float
    stats: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    error: str | None = None


class Expansion(msgspec.Struct, frozen=True):
    """A text whose macros were replaced: its beginning, and the stage of the build's order of evaluation."""

    stage: str
    text: str


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The steps of one build in the order they started, and the texts whose macros were replaced, in that order.

    ``fingerprint`` is the plan's where whoever made the trace gave it: a build does not, since it costs a rendering.
    """

    steps: tuple[TraceStep, ...]
    fingerprint: str | None = None
    expansions: tuple[Expansion, ...] = ()

    @property
    def duration_ms(self) -> float:
        """The sum of all own times."""
        return sum(step.own_ms for step in self.steps)

    @property
    def success(self) -> bool:
        """Whether no step failed."""
        return all(step.error is None for step in self.steps)

    @property
    def total_warnings(self) -> int:
        """The number of warnings of all steps."""
        return sum(len(step.warnings) for step in self.steps)

    def step(self, name: str) -> TraceStep | None:
        """The step called ``name``."""
        return next((step for step in self.steps if step.name == name), None)


@dataclass(slots=True)
class _Frame:
    name: str
    started: float
    inner: float = 0.0
    own: float = 0.0
    total: float = 0.0
    stats: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None

    def close(self, now: float) -> None:
        spent = now - self.started
        self.total += spent
        self.own += spent - self.inner
        self.inner = 0.0


class TraceCollector:
    """An instrumenter that builds a `Trace`. Use one per build.

    Raises `UsageError` for an unknown event or payload key, and when steps finish out of order. A step that runs twice
    (its work and its closing) is one entry with summed times.
    """

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self._frames: dict[str, _Frame] = {}
        self._open: list[_Frame] = []
        self._expansions: list[Expansion] = []

    def __call__(self, event: str, /, **payload: Any) -> None:
        """Receive one event."""
        allowed = EVENTS.get(event)
        if allowed is None or not allowed.issuperset(payload):
            raise UsageError(
                f"unknown event or payload: {event} {sorted(payload)}", hint=f"events: {', '.join(EVENTS)}"
            )
        getattr(self, "_" + event)(**payload)

    def _step_start(self, name: str) -> None:
        frame = self._frames.setdefault(name, _Frame(name, 0.0))
        frame.started = self._timer()
        self._open.append(frame)

    def _step_finish(self, name: str, stats: dict[str, Any] | None = None) -> None:
        if not self._open or self._open[-1].name != name:
            msg = (
                f"instrumentation mismatch: {name!r} finishes, {self._open[-1].name if self._open else None!r} is open"
            )
            raise UsageError(msg)
        frame = self._open.pop()
        before = frame.total
        frame.close(self._timer())
        frame.stats |= stats or {}
        if self._open:
            self._open[-1].inner += frame.total - before

    def _step_error(self, name: str, error: BaseException) -> None:
        self._step_finish(name)
        self._frames[name].error = type(error).__name__

    def _frame(self, step: str | None) -> _Frame:
        if step is None and self._open:
            return self._open[-1]
        return self._frames.setdefault(step or "build", _Frame(step or "build", 0.0))

    def _warning(self, message: str, step: str | None = None) -> None:
        self._frame(step).warnings.append(message)

    def _stat(self, key: str, value: Any, step: str | None = None) -> None:
        self._frame(step).stats[key] = value

    def _expand(self, stage: str, text: str) -> None:
        self._expansions.append(Expansion(stage, text))

    def to_trace(self, fingerprint: str | None = None) -> Trace:
        """Return the trace collected so far."""
        return Trace(tuple(_trace_step(frame) for frame in self._frames.values()), fingerprint, tuple(self._expansions))


def _trace_step(frame: _Frame) -> TraceStep:
    return TraceStep(
        frame.name, frame.own * 1000, frame.total * 1000, dict(frame.stats), tuple(frame.warnings), frame.error
    )
