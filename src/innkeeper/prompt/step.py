"""Step: one named stage of a pipeline: a frozen config struct and a function over the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from innkeeper.prompt.context import step_key
from innkeeper.prompt.errors import ConfigError, InnkeeperError, UsageError, Where
from innkeeper.prompt.frozen import freeze
from innkeeper.prompt.state import State

__all__ = ["NoConfig", "Step", "StepConfig"]


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
            msg = f"a step's name must be snake case: {self.name!r}"
            raise UsageError(msg)
        if not callable(self.run) or not (isinstance(self.config, type) and issubclass(self.config, StepConfig)):
            msg = f"step {self.name!r} needs a callable run and a StepConfig class"
            raise UsageError(msg)

    def configure(self, values: Mapping[str, Any] | StepConfig) -> C:
        """A config from plain values, or the config itself. Raises `ConfigError` naming the step and the key."""
        if isinstance(values, self.config):
            return values
        try:
            return msgspec.convert(_options(values), self.config, dec_hook=_keep)
        except (msgspec.ValidationError, InnkeeperError, TypeError, ValueError) as error:
            place = Where(asset="configuration", path=self.name)
            known = ", ".join(self.config.__struct_fields__) or "none"
            raise ConfigError(
                f"invalid config for step {self.name}: {error}", where=place, hint=f"keys: {known}"
            ) from error


def _options(values: Any) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    raise UsageError(f"expected a mapping, got {type(values).__name__}")


def _keep(kind: type, value: Any) -> Any:
    """Pass callables and our own values through; freeze mappings."""
    if isinstance(value, kind):
        return value
    if isinstance(value, Mapping):
        return freeze(dict(value))
    msg = f"expected {kind.__name__}, got {type(value).__name__}"
    raise msgspec.ValidationError(msg)
