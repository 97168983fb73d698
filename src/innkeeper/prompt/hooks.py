"""HookRegistry: functions an application runs before and after a build (2-wave4-contracts, *HookRegistry Contract*)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol

from innkeeper.prompt.errors import UsageError

__all__ = ["AWAIT", "Hook", "HookContext", "HookRegistry", "InMemoryHooks", "settled"]

_BEFORE: Final = frozenset({"character", "user", "preset", "history", "user_message", "macro_vars"})
_AFTER: Final = frozenset({"plan"})


class HookContext:
    """What a hook sees: the build's inputs as attributes, of which a *before* hook may set six and an *after* hook ``plan``.

    Setting anything else raises `UsageError`. ``warn(message)`` records a warning as a step would.
    """

    __slots__ = ("_fields", "_settable", "warn")

    def __init__(self, fields: dict[str, Any], warn: Callable[[str], None], *, after: bool = False) -> None:
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_settable", _AFTER if after else _BEFORE)
        object.__setattr__(self, "warn", warn)

    def __getattr__(self, name: str) -> Any:
        """An input of the build."""
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Replace an input (before) or the plan (after)."""
        if name not in self._settable:
            msg = f"a hook may not set {name!r}"
            raise UsageError(msg, hint=f"it may set: {', '.join(sorted(self._settable))}")
        self._fields[name] = value

    def changed(self, original: dict[str, Any]) -> dict[str, Any]:
        """The settable fields that hooks replaced."""
        return {name: value for name, value in self._fields.items() if value is not original.get(name)}


Hook = Callable[[HookContext], Any]
"""What it returns has no effect, unless it can be awaited: see `settled`."""

AWAIT: Final[ContextVar[Callable[[Awaitable[Any]], Any] | None]] = ContextVar("innkeeper_await", default=None)
"""How a build awaits what an asynchronous hook returns; set by who builds for an event loop."""


def settled(value: Any) -> Any:
    """``value``, awaited where it can be. Raises `UsageError` for a build that is not made for an event loop."""
    if not inspect.isawaitable(value):
        return value
    wait = AWAIT.get()
    if wait is None:
        if inspect.iscoroutine(value):
            value.close()
        raise UsageError("an asynchronous hook was not awaited", hint="build with AsyncPromptRunner")
    return wait(value)


class HookRegistry(Protocol):
    """Runs hooks in the order they were registered. A hook's own exception fails the step that runs it."""

    def before_build(self, hook: Hook) -> Hook:
        """Register a hook that may replace inputs."""
        ...

    def after_build(self, hook: Hook) -> Hook:
        """Register a hook that may replace the plan."""
        ...

    def run_before_build(self, context: HookContext) -> object:
        """Run the *before* hooks. What it returns has no effect, but is awaited where it can be."""
        ...

    def run_after_build(self, context: HookContext) -> object:
        """Run the *after* hooks, in the same way."""
        ...


class InMemoryHooks:
    """A registry in two lists. Its methods serve as decorators: they return the hook."""

    def __init__(self) -> None:
        self._before: list[Hook] = []
        self._after: list[Hook] = []

    def before_build(self, hook: Hook) -> Hook:
        """Register a hook that may replace inputs."""
        self._before.append(_callable(hook))
        return hook

    def after_build(self, hook: Hook) -> Hook:
        """Register a hook that may replace the plan."""
        self._after.append(_callable(hook))
        return hook

    def run_before_build(self, context: HookContext) -> None:
        """Run the *before* hooks, first registered first."""
        for hook in self._before:
            settled(hook(context))

    def run_after_build(self, context: HookContext) -> None:
        """Run the *after* hooks, first registered first."""
        for hook in self._after:
            settled(hook(context))


def _callable(hook: Hook) -> Hook:
    if not callable(hook):
        msg = f"a hook must be callable, not {type(hook).__name__}"
        raise UsageError(msg)
    return hook
