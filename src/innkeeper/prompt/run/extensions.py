"""Extensions: what an application adds to builds: text put into the prompt, and functions run before and after.

The registries are those of 2-wave4-contracts, *InjectionRegistry Contract* and *HookRegistry Contract*.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import FormatError, InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import kind_of, shorten
from innkeeper.prompt.typed.once import convert

DEFAULT_DEPTH: Final = 4
"""SillyTavern's default injection depth."""


class InjectionPosition(StrEnum):
    """Where an injection goes. Aliases and SillyTavern's numbers are read by `InjectionPosition.of`."""

    BEFORE = "before"
    """Before the main prompt."""
    AFTER = "after"
    """After the main prompt, still before the chat history."""
    CHAT = "chat"
    """In the chat, at a depth."""
    NONE = "none"
    """Only scanned for lore; not in the prompt."""

    @classmethod
    def of(cls, value: Any) -> InjectionPosition:
        """A position from a name, an alias or SillyTavern's number. Raises `UnknownNameError`."""
        if isinstance(value, cls):
            return value
        is_number = type(value) is int and value.bit_length() < _NUMBER_BITS
        name = value if isinstance(value, str) else str(value) if is_number else type(value).__name__
        position = _POSITIONS.get(name.strip().lower())
        if position is None:
            raise UnknownNameError("injection position", name, _POSITIONS)
        return position


_NUMBER_BITS: Final = 64
"""Larger numbers are not written out."""

_ROLES: Final = ("system", "user", "assistant")
_ST_ROLES: Final = {"0": "system", "1": "user", "2": "assistant"}
"""SillyTavern's numbers for roles."""

_POSITIONS: Final = {
    "before": InjectionPosition.BEFORE,
    "after": InjectionPosition.AFTER,
    "chat": InjectionPosition.CHAT,
    "none": InjectionPosition.NONE,
    "before_prompt": InjectionPosition.BEFORE,
    "in_prompt": InjectionPosition.AFTER,
    "in_chat": InjectionPosition.CHAT,
    "2": InjectionPosition.BEFORE,
    "0": InjectionPosition.AFTER,
    "1": InjectionPosition.CHAT,
    "-1": InjectionPosition.NONE,
}


class Injection(msgspec.Struct, frozen=True, omit_defaults=True):
    """One injection. ``depth`` 0 is after the last message, N before the Nth from the end.

    ``role`` is ``system``, ``user`` or ``assistant``. ``scan`` lets lore keys match in it; ``ephemeral`` asks the application to
    remove it after this generation.
    """

    id: str
    content: str
    position: InjectionPosition = InjectionPosition.AFTER
    role: str = "system"
    depth: int = DEFAULT_DEPTH
    scan: bool = False
    ephemeral: bool = False

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        if not self.id:
            raise FormatError("an injection needs an id")
        if self.depth < 0:
            raise FormatError(f"injection {shorten(self.id, 40)!r}: depth must not be negative")
        role = str(self.role).strip().lower()
        if role not in _ROLES:
            raise UnknownNameError("injection role", str(self.role), _ROLES)
        msgspec.structs.force_setattr(self, "role", role)

    @classmethod
    def of(cls, value: Any, *, strict: bool = False) -> Injection:
        """An injection from itself or a mapping; its position may be an alias or SillyTavern's number.

        Without ``strict``, numbers and booleans may be written as text. Raises `FormatError`, and `UnknownNameError` for a
        position or role that does not exist.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise FormatError(f"an injection must be a mapping, not {kind_of(value)}")
        fields = dict(freeze(value))
        if "value" in fields and "content" not in fields:
            fields = _from_st(str(fields.get("id")), fields)
        for name in fields.keys() - set(cls.__struct_fields__):
            hint = did_you_mean(str(name), cls.__struct_fields__, f"keys: {', '.join(cls.__struct_fields__)}")
            message = f"injection {shorten(str(fields.get('id')), 40)!r} has an unknown key {shorten(str(name), 40)!r}"
            raise FormatError(message, hint=hint)
        fields["position"] = InjectionPosition.of(fields.get("position", InjectionPosition.AFTER))
        try:
            return convert(fields, cls, strict=strict)
        except msgspec.ValidationError as error:
            raise FormatError(f"injection {shorten(str(fields.get('id')), 40)!r}: {error}") from error


class InjectionRegistry(Protocol):
    """Holds injections by id. Iteration is in id order, as SillyTavern concatenates them.

    A registry with the document's own methods (2-wave4-contracts, *InjectionRegistry Contract*) has ``each()`` in the place of
    `active`, and serves as well: see `active_injections`.
    """

    def register(self, *, id: str, content: str, position: Any = "after", **options: Any) -> None:  # noqa: A002
        """Add an injection, or replace the one with this id."""
        ...

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove it; no error when it is absent."""
        ...

    def active(self, context: Any) -> Iterator[Injection]:
        """The injections whose filter passes for this build, in id order."""
        ...

    def ephemeral_ids(self) -> tuple[str, ...]:
        """The ids the application should remove after the generation."""
        ...


def active_injections(registry: Any, context: Any) -> list[Injection]:
    """Return a registry's injections for this build in id order: its active ones where it names them, else all.

    Mappings are read as `Injection.of` reads them. Raises what that raises.
    """
    if registry is None:
        return []
    if callable(getattr(registry, "active", None)):
        return [Injection.of(item) for item in registry.active(context)]
    return sorted(map(Injection.of, registry.each()), key=lambda item: item.id)


class InMemoryInjections:
    """A registry in a dict. It never removes anything by itself: the application owns the life of its injections."""

    refused: tuple[InnkeeperError, ...] = ()
    """Entries that `from_st_json` could not read; a build warns of each."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Injection, Callable[[Any], bool] | None]] = {}

    def register(
        self,
        *,
        id: str,  # noqa: A002 - the document's word
        content: str,
        position: Any = InjectionPosition.AFTER,
        filter: Callable[[Any], bool] | None = None,  # noqa: A002 - the document's word
        **options: Any,
    ) -> None:
        """Add an injection, or replace the one with this id.

        ``options`` are ``role``, ``depth``, ``scan``, ``ephemeral``. ``filter`` is asked with the build's state.
        Raises `UsageError` for other options or wrong types.
        """
        if filter is not None and not callable(filter):
            raise UsageError(f"injection {id!r}: filter must be callable")
        unknown = options.keys() - set(Injection.__struct_fields__)
        if unknown:
            raise UsageError(
                f"injection {id!r}: unknown option {min(unknown)!r}",
                hint="options: role, depth, scan, ephemeral, filter",
            )
        try:
            entry = Injection.of({**options, "id": id, "content": content, "position": position}, strict=True)
        except FormatError as error:
            raise UsageError(error.message, hint=error.hint) from error
        self._entries[entry.id] = (entry, filter)

    @classmethod
    def from_st_json(cls, entries: Mapping[str, Any]) -> InMemoryInjections:
        """A registry from what SillyTavern saves in a chat: ``{id: {value, position, depth, scan, role, ephemeral}}``.

        Filters saved there are JavaScript, which is not run: such an entry is always active. One that cannot be read is left
        out, and its error is in `refused`. Raises `FormatError` for what is no mapping at all.
        """
        if not isinstance(entries, Mapping):
            raise FormatError(f"saved injections must be a mapping, not {kind_of(entries)}")
        registry, refused = cls(), list[InnkeeperError]()
        for name, saved in entries.items():
            try:
                entry = Injection.of(_from_st(str(name), saved))
            except InnkeeperError as error:
                refused.append(error.at(asset="injections", path=str(name)))
            else:
                registry._entries[entry.id] = (entry, None)
        registry.refused = tuple(refused)
        return registry

    def remove(self, id: str) -> None:  # noqa: A002 - the document's word
        """Remove it; no error when it is absent."""
        self._entries.pop(id, None)

    def __iter__(self) -> Iterator[Injection]:
        """All injections in id order."""
        return (self._entries[key][0] for key in sorted(self._entries))

    def active(self, context: Any) -> Iterator[Injection]:
        """The injections whose filter passes for ``context``, in id order.

        A filter that raises counts as passed; ``context.warn``, where there is one, is called.
        """
        for key in sorted(self._entries):
            injection, condition = self._entries[key]
            if condition is None or _passes(condition, injection, context):
                yield injection

    def ephemeral_ids(self) -> tuple[str, ...]:
        """The ids the application should remove after the generation."""
        return tuple(injection.id for injection in self if injection.ephemeral)


def _passes(condition: Callable[[Any], bool], injection: Injection, context: Any) -> bool:
    try:
        return bool(condition(context))
    except Exception as error:  # noqa: BLE001 - an application's own code; its text stays active
        warn = getattr(context, "warn", None)
        if warn is not None:
            warn(
                f"injection {injection.id!r}: its filter failed ({type(error).__name__}: {error}); it counts as passed"
            )
        return True


def _from_st(name: str, saved: Any) -> dict[str, Any]:
    if not isinstance(saved, Mapping):
        raise FormatError(f"injection {shorten(name, 40)!r} must be a mapping, not {kind_of(saved)}")
    fields: dict[str, Any] = {"id": name, "content": saved.get("value") or ""}
    fields |= {key: saved[key] for key in ("position", "depth", "scan", "ephemeral") if saved.get(key) is not None}
    role = saved.get("role")
    return fields if role is None else {**fields, "role": _ST_ROLES.get(str(role), role)}


_BEFORE: Final = frozenset({"character", "user", "preset", "history", "user_message", "macro_vars"})
_AFTER: Final = frozenset({"plan"})


class HookContext:
    """A hook's view of a build: its inputs as attributes, of which a *before* hook may set six and an *after* hook ``plan``.

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
            raise UsageError(f"a hook may not set {name!r}", hint=f"it may set: {', '.join(sorted(self._settable))}")
        self._fields[name] = value

    def changed(self, original: dict[str, Any]) -> dict[str, Any]:
        """The settable fields that hooks replaced."""
        return {name: value for name, value in self._fields.items() if value is not original.get(name)}


Hook = Callable[[HookContext], Any]
"""The return value has no effect, unless it can be awaited: see `settled`."""

AWAIT: Final[ContextVar[Callable[[Awaitable[Any]], Any] | None]] = ContextVar("innkeeper_await", default=None)
"""How a build awaits the result of an asynchronous hook; set by builds for an event loop."""


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
        raise UsageError(f"a hook must be callable, not {kind_of(hook)}")
    return hook
