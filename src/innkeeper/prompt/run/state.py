"""State: the working object of one build: frozen inputs, each step's own scratch, and the growing result.

`Ports` are what a build may be handed besides its request: objects that are not data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import StrictModeError, UsageError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.payload.dialect import read_tools

if TYPE_CHECKING:
    from innkeeper.prompt.allowance import BuildLimits
    from innkeeper.prompt.block import Block
    from innkeeper.prompt.determinism import Clock, Randomness
    from innkeeper.prompt.note import Instrumenter
    from innkeeper.prompt.payload.dialect import Dialects, Tool
    from innkeeper.prompt.plan import Plan
    from innkeeper.prompt.request import BuildRequest
    from innkeeper.prompt.run.context import Context
    from innkeeper.prompt.run.extensions import HookRegistry, InjectionRegistry
    from innkeeper.prompt.run.pipeline import StepConfig
    from innkeeper.prompt.run.variables import StagedVariables, VariablesStore

T = TypeVar("T")


class TokenCounter(Protocol):
    """Counts tokens. `count` never raises on any text.

    A counter of one model may have ``framing``, the rule by which that model's messages are counted (`innkeeper.tokens.Framing`).
    """

    def count(self, text: str, model: str | None = None) -> int:
        """Tokens of ``text`` for ``model`` (an id or hint; ``None`` for the counter's default)."""
        ...

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        """Describe how ``model`` is counted: tokenizer, ``exact`` or the estimate's ± percent, and its source."""
        ...


class PassageSearch(Protocol):
    """Finds the texts that match a query. ``name`` is the method, for the plan's notes.

    Scores are from 0 to 1; thresholds of settings are compared with them.
    """

    @property
    def name(self) -> str:
        """The method of comparison, in a few words."""
        ...

    def search(self, texts: Sequence[str], query: str) -> Sequence[tuple[int, float]]:
        """The texts that fit, by their places, each with its score; the nearest first."""
        ...


class ExplainedPlan(Protocol):
    """A plan explained: as JSON-ready data, and as a table in plain text."""

    def to_dict(self) -> dict[str, Any]:
        """The same facts as JSON-ready data."""
        ...

    def render(self) -> str:
        """The same facts as lines of text."""
        ...


class PlanDifference(Protocol):
    """What one plan has that another has not: as JSON-ready data, as a page, and as text."""

    @property
    def same(self) -> bool:
        """Whether a model gets the same."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON-ready data."""
        ...

    def to_html(self) -> str:
        """The difference as a page."""
        ...

    def _repr_html_(self) -> str: ...


class PlannedCache(Protocol):
    """What a provider's cache will do for a prompt."""

    @property
    def read(self) -> int:
        """The tokens that are read from it."""
        ...

    def mark(self, plan: Plan) -> Plan:
        """Return the plan with marks for the cache."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON-ready data."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything non-serialisable a build uses. All optional; ``None`` means the tavern's default.

    ``warning_handler`` is called with each warning `Note` after it is recorded. ``random`` replaces the request's seed by
    a generator of your own: such a plan cannot be replayed and says so. ``media`` reads what a chat's message names by an
    address (``user/images/a.png``): its bytes, or ``None`` where it is not there or not to be read; without it none is read.
    ``max_limits`` is what no request may take more than.
    """

    token_counter: TokenCounter | None = None
    variables: VariablesStore | None = None
    instrumenter: Instrumenter | None = None
    hooks: HookRegistry | None = None
    injections: InjectionRegistry | None = None
    dialects: Dialects | None = None
    warning_handler: Callable[[Note], None] | None = None
    random: Callable[[int], Randomness] | None = None
    media: Callable[[str], bytes | None] | None = None
    vectors: PassageSearch | None = None
    max_limits: BuildLimits | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a build: the request, its context, time, randomness, the ports. Nothing here changes.

    ``assets`` is what the tavern's door has read the request's assets into, of a type of its own; ``dialects`` the registry that
    the plan will be rendered by.
    """

    request: BuildRequest
    context: Context
    clock: Clock
    random: Randomness
    ports: Ports = field(default_factory=Ports)
    assets: Any = None
    dialects: Dialects | None = None


@dataclass(slots=True)
class Result:
    """The results of the steps so far. The last step turns them into a `Plan`."""

    blocks: list[Block] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    outlets: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    stop: tuple[str, ...] = ()
    greeting: str | None = None
    greeting_index: int | None = None
    lore: Any = None
    carry: Any = None
    stored: dict[str, Any] | None = None
    dialect_options: dict[str, Any] = field(default_factory=dict)
    trim_report: Any = None
    model: str | None = None
    """The provider's name of the model, where the request has another."""
    offers_tools: bool = True
    """Whether the request's tools go along; they are neither counted nor sent where a step says that they do not."""
    media_read: bool = False
    """Whether the port for media gave anything, which is no part of the request."""
    plan: Plan | None = None


class ScratchKey(str, Generic[T]):
    """The name of a step, as the key of what that step leaves in the scratch: a value of the type ``T``."""

    __slots__ = ()


class Scratch(dict[str, Any]):
    """What the steps of one build have left, each under its own name. A `ScratchKey` makes it typed."""

    __slots__ = ()

    def __missing__(self, key: str) -> Any:
        """Raise `UsageError`: the pipeline's order is wrong."""
        raise UsageError(
            f"the result of step {str(key)!r} is needed, and that step has not run",
            hint="put it earlier in the pipeline",
        )

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: ScratchKey[T], /) -> T: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...
        def __getitem__(self, key: str, /) -> Any:
            """The result of a step. Raises `UsageError` where it has not run."""

        @overload  # type: ignore[override]  # a typed key beside those of a dict
        def get(self, key: ScratchKey[T], /) -> T | None: ...
        @overload
        def get(self, key: str, default: Any = None, /) -> Any: ...
        def get(self, key: str, default: Any = None, /) -> Any:
            """The result of a step, or ``default`` where it has not run."""

        @overload
        def __setitem__(self, key: ScratchKey[T], value: T, /) -> None: ...
        @overload
        def __setitem__(self, key: str, value: Any, /) -> None: ...
        def __setitem__(self, key: str, value: Any, /) -> None:
            """Leave the result of a step."""


@dataclass(slots=True)
class State:
    """One build at work. A step reads ``inputs`` and other steps' ``scratch``, and writes its own scratch and the result.

    ``variables`` is a staged view: what steps write there reaches the caller's store only when the build succeeds. ``configs``
    are the configurations that the steps of this build run with, by their names.
    """

    inputs: Inputs
    variables: StagedVariables
    scratch: Scratch = field(default_factory=Scratch)
    result: Result = field(default_factory=Result)
    configs: Mapping[str, StepConfig] = EMPTY
    step: str | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered."""
        return read_tools(self.request.tools) if self.request.tools and self.result.offers_tools else ()

    @property
    def request(self) -> BuildRequest:
        """The request of this build."""
        return self.inputs.request

    @property
    def context(self) -> Context:
        """The application's snapshot."""
        return self.inputs.context

    def close(self) -> None:
        """Drop what the steps left, which refers back to this state: the cycle would live until a garbage collection."""
        self.scratch, self.result = Scratch(), Result()

    def warn(
        self,
        message: str,
        *,
        kind: NoteKind = NoteKind.WARNING,
        where: Where | None = None,
        hint: str | None = None,
        data: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Record a warning, tell the instrumenter, then raise `StrictModeError` (strict) or call the handler."""
        note = Note(kind, message, self.step, where, hint, FrozenDict(data))
        self.result.warnings.append(note)
        self.instrument("warning", message=message)
        if self.request.strict:
            raise StrictModeError(message, where=where, hint=hint)
        if self.inputs.ports.warning_handler is not None:
            self.inputs.ports.warning_handler(note)

    def note(
        self,
        kind: NoteKind,
        message: str,
        *,
        where: Where | None = None,
        hint: str | None = None,
        data: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Record a fact that is no fault of the data: an ignored input, an estimate, a repair. Never raises."""
        self.result.notes.append(Note(kind, message, self.step, where, hint, FrozenDict(data)))

    def instrument(self, event: str, lazy: Callable[[], Mapping[str, Any]] | None = None, /, **payload: Any) -> None:
        """Send an event to the instrumenter, if there is one. ``lazy`` is only then called, for costly payloads."""
        sink = self.inputs.ports.instrumenter
        if sink is None:
            return
        if event in ("warning", "stat"):
            payload.setdefault("step", self.step)
        sink(event, **payload, **(lazy() if lazy is not None else {}))

    def stat(self, key: str, value: Any) -> None:
        """Send one ``stat`` event of the current step."""
        self.instrument("stat", key=key, value=value)
