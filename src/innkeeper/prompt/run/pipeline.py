"""Pipeline: an immutable sequence of steps with their options. It resolves all configurations, then runs the steps.

A `Step` is one named stage: a frozen config struct and a function over the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from innkeeper.prompt.allowance import AllowanceError, current_allowance
from innkeeper.prompt.data import EMPTY, FrozenDict, deep_merge, freeze, thaw
from innkeeper.prompt.errors import (
    ConfigError,
    InnkeeperError,
    PipelineError,
    StrictModeError,
    UnknownNameError,
    UsageError,
    Where,
)
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.context import step_key
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import kind_of, type_words
from innkeeper.prompt.typed.once import convert


class StepConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of step configurations. Unknown keys and wrong types fail before the first step runs."""


class NoConfig(StepConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The configuration of a step that takes none: any key is an error."""


C = TypeVar("C", bound=StepConfig)


@dataclass(frozen=True, slots=True)
class Step(Generic[C]):
    """A stage. ``run(state, config)`` does its work; ``finish``, if any, runs after all steps, in reverse order.

    Steps hold no data of a build: what they make goes to ``state.scratch[name]`` and ``state.result``.
    """

    name: str
    run: Callable[[State, C], None]
    config: type[C]
    finish: Callable[[State, C], None] | None = None

    def __post_init__(self) -> None:
        """Refuse what could only fail later."""
        if self.name != step_key(self.name) or not self.name:
            raise UsageError(f"a step's name must be snake case: {self.name!r}")
        if not callable(self.run) or not (isinstance(self.config, type) and issubclass(self.config, StepConfig)):
            raise UsageError(f"step {self.name!r} needs a callable run and a StepConfig class")

    def configure(self, values: Mapping[str, Any] | StepConfig) -> C:
        """A config from plain values, or the config itself. Raises `ConfigError` naming the step and the key."""
        if isinstance(values, self.config):
            return values
        try:
            return convert(_options(values), self.config, dec_hook=_keep)
        except (msgspec.ValidationError, InnkeeperError, TypeError, ValueError) as error:
            where = Where(asset="configuration", path=self.name)
            known = ", ".join(self.config.__struct_fields__) or "none"
            raise ConfigError(
                f"invalid config for step {self.name}: {error}", where=where, hint=f"keys: {known}"
            ) from error


def _options(values: Any) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    raise UsageError(f"must be an object, not {kind_of(values)}")


def _keep(kind: type, value: Any) -> Any:
    """Pass callables and our own values through; freeze mappings."""
    if isinstance(value, kind):
        return value
    if isinstance(value, Mapping):
        return freeze(dict(value))
    msg = f"Expected `{type_words(kind)}`, got `{type(value).__name__}`"
    raise TypeError(msg)  # msgspec adds the path


@dataclass(frozen=True, slots=True)
class _StepEntry:
    step: Step[Any]
    config: StepConfig
    """The step's configuration where no layer sets another."""
    options: FrozenDict = EMPTY


class Pipeline:
    """An ordered tuple of steps with unique names. Every method returns a new pipeline; none changes this one."""

    __slots__ = ("_entries",)

    def __init__(self, *steps: Step[Any]) -> None:
        self._entries: tuple[_StepEntry, ...] = ()
        for step in steps:
            self._entries = self._placed(len(self._entries), step, {})

    @property
    def names(self) -> tuple[str, ...]:
        """The steps' names in order."""
        return tuple(entry.step.name for entry in self._entries)

    def __iter__(self) -> Iterator[Step[Any]]:
        """The steps in order."""
        return (entry.step for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        """Whether a step of this name is in it."""
        return name in self.names

    def __getitem__(self, name: str) -> Step[Any]:
        """The step called ``name``. Raises `UnknownNameError`."""
        return self._entries[self._index(name)].step

    def append(self, step: Step[Any], **options: Any) -> Pipeline:
        """With ``step`` at the end."""
        return self._of(self._placed(len(self._entries), step, options))

    def insert_before(self, anchor: str, step: Step[Any], **options: Any) -> Pipeline:
        """With ``step`` before the step called ``anchor``."""
        return self._of(self._placed(self._index(anchor), step, options))

    def insert_after(self, anchor: str, step: Step[Any], **options: Any) -> Pipeline:
        """With ``step`` after the step called ``anchor``."""
        return self._of(self._placed(self._index(anchor) + 1, step, options))

    def replace(self, name: str, step: Step[Any], **options: Any) -> Pipeline:
        """Return a pipeline with ``step`` instead of the step called ``name``, whose options are dropped."""
        index = self._index(name)
        rest = self.without(name)
        return (
            rest.insert_before(rest.names[index], step, **options)
            if index < len(rest)
            else rest.append(step, **options)
        )

    def without(self, name: str) -> Pipeline:
        """Without the step called ``name``."""
        index = self._index(name)
        return self._of(self._entries[:index] + self._entries[index + 1 :])

    def configure(self, name: str, **options: Any) -> Pipeline:
        """With ``options`` deep-merged over the step's own. Raises `ConfigError` when they do not fit."""
        index = self._index(name)
        entry = self._entries[index]
        merged = deep_merge(thaw(entry.options), options)
        changed = replace(entry, config=entry.step.configure(merged), options=freeze(merged))
        return self._of((*self._entries[:index], changed, *self._entries[index + 1 :]))

    def options(self, name: str) -> FrozenDict:
        """The static options of the step called ``name``."""
        return self._entries[self._index(name)].options

    def configs(self, *layers: Mapping[str, Mapping[str, Any]]) -> dict[str, StepConfig]:
        """Each step's config: its options with the ``layers`` (step name → keys) merged over them, first to last.

        Raises `ConfigError`. Layers' unknown step names are left to the caller.
        """
        named = [_named(layer) for layer in layers]
        return {entry.step.name: _config(entry, named) for entry in self._entries}

    def run(self, state: State, assets: Callable[[State], Any] | None = None) -> State:
        """Resolve all configs, read the ``assets``, run each step in order, then each ``finish`` in reverse order.

        Configs come from the pipeline's options, the request's ``step_options``, the context's ``module_configs``, in that
        order. Raises `ConfigError` before anything runs, and `PipelineError` naming the step that failed. No step begins when
        the seconds of the build are spent (`AllowanceError`).
        """
        layers = (state.request.step_options, state.context.module_configs)
        configs = state.configs = self.configs(*layers)
        for layer in layers:
            for name in layer:
                if step_key(name) not in configs:
                    state.note(NoteKind.IGNORED, f"configuration for {name!r}: this pipeline has no such step")
        if assets is not None:
            _read_assets(state, assets)
        for entry in self._entries:
            _run(entry.step, entry.step.run, state, configs)
        for entry in reversed(self._entries):
            if entry.step.finish is not None:
                _run(entry.step, entry.step.finish, state, configs)
        return state

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError("step", name, self.names)
        return self.names.index(name)

    def _placed(self, index: int, step: Step[Any], options: Mapping[str, Any]) -> tuple[_StepEntry, ...]:
        if not isinstance(step, Step):
            raise UsageError(f"a pipeline holds Step values, not {kind_of(step)}")
        if step.name in self.names:
            raise UsageError(f"the pipeline already has a step called {step.name!r}", hint="use replace()")
        entry = _StepEntry(step, step.configure(options), freeze(dict(options)))
        return (*self._entries[:index], entry, *self._entries[index:])

    def _of(self, entries: tuple[_StepEntry, ...]) -> Pipeline:
        pipeline = Pipeline()
        pipeline._entries = entries
        return pipeline


def _named(layer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    named: dict[str, Mapping[str, Any]] = {}
    for key, values in layer.items():
        name = step_key(key)
        if not isinstance(values, Mapping):
            raise ConfigError(
                f"invalid config for step {name}: it must be a mapping, not {kind_of(values)}",
                where=Where(asset="configuration", path=name),
            )
        named[name] = deep_merge(named.get(name, {}), thaw(values))
    return named


def _config(entry: _StepEntry, layers: list[dict[str, Mapping[str, Any]]]) -> StepConfig:
    step_layers = [layer[entry.step.name] for layer in layers if entry.step.name in layer]
    if not step_layers:
        return entry.config
    merged: dict[str, Any] = thaw(entry.options)
    for options in step_layers:
        merged = deep_merge(merged, options)
    config: StepConfig = entry.step.configure(merged)
    return config


def _run(step: Step[Any], work: Any, state: State, configs: dict[str, StepConfig]) -> None:
    """Do a step's work: warnings, trace and errors carry its name. An `AllowanceError` is of the whole build."""
    allowance = current_allowance()
    if allowance is not None:
        allowance.check_time(step.name)
    name, outer = step.name, state.step
    state.step = name
    state.instrument("step_start", name=name)
    try:
        work(state, configs[name])
    except Exception as error:
        state.instrument("step_error", name=name, error=error)
        # A warning that `strict` raised does not name its step yet.
        is_bare = isinstance(error, StrictModeError) and error.step is None
        if isinstance(error, (PipelineError, AllowanceError)) and not is_bare:
            raise
        raise _wrapped(error, name) from error
    else:
        state.instrument("step_finish", name=name)
    finally:
        state.step = outer


def _read_assets(state: State, read: Callable[[State], Any]) -> None:
    """Warnings and failures name ``assets`` as their step."""
    outer, state.step = state.step, "assets"
    try:
        state.inputs = replace(state.inputs, assets=read(state))
    except AllowanceError:
        raise
    except Exception as error:
        raise _wrapped(error, "assets") from error
    finally:
        state.step = outer


def _wrapped(error: Exception, step: str) -> PipelineError:
    if not isinstance(error, InnkeeperError):
        return PipelineError(f"{type(error).__name__}: {error}", step=step)
    kind = StrictModeError if isinstance(error, StrictModeError) else PipelineError
    details = {key: value for key, value in error.details.items() if key not in ("message", "step", "where", "hint")}
    failure = kind(error.message, step=step, where=error.where, hint=error.hint, **details)
    failure.exit_code, failure.http_status = error.exit_code, error.http_status
    return failure
