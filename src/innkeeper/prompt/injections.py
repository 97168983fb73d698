"""InjectionRegistry: text an application puts into the prompt at run time (2-wave4-contracts, *InjectionRegistry Contract*)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from innkeeper.prompt.errors import FormatError, UnknownNameError, UsageError
from innkeeper.prompt.text import scalar_text

__all__ = ["DEFAULT_DEPTH", "InMemoryInjections", "Injection", "InjectionPosition", "InjectionRegistry"]

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
        found = _POSITIONS.get(str(value).strip().lower())
        if found is None:
            what = "injection position"
            raise UnknownNameError(what, str(value), _POSITIONS)
        return found


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

    ``scan`` lets lore keys match in it; ``ephemeral`` asks the application to remove it after this generation.
    """

    id: str
    content: str
    position: InjectionPosition = InjectionPosition.AFTER
    role: str = "system"
    depth: int = DEFAULT_DEPTH
    scan: bool = False
    ephemeral: bool = False

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        if not self.id:
            msg = "an injection needs an id"
            raise FormatError(msg)
        if self.depth < 0:
            msg = f"injection {self.id!r}: depth must not be negative"
            raise FormatError(msg)


class InjectionRegistry(Protocol):
    """Holds injections by id. Iteration is in id order, as SillyTavern concatenates them."""

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


class InMemoryInjections:
    """A registry in a dict. It never removes anything by itself: the application owns the life of its injections."""

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
            msg = f"injection {id!r}: filter must be callable"
            raise UsageError(msg)
        fields = {**options, "id": id, "content": scalar_text(content), "position": InjectionPosition.of(position)}
        unknown = fields.keys() - set(Injection.__struct_fields__)
        if unknown:
            msg = f"injection {id!r}: unknown option {min(unknown)!r}"
            raise UsageError(msg, hint="options: role, depth, scan, ephemeral, filter")
        try:
            self._entries[id] = (msgspec.convert(fields, Injection), filter)
        except msgspec.ValidationError as error:
            msg = f"injection {id!r}: {error}"
            raise UsageError(msg) from error

    def remove(self, id: str) -> None:  # noqa: A002 - the document's word
        """Remove it; no error when it is absent."""
        self._entries.pop(id, None)

    def __iter__(self) -> Iterator[Injection]:
        """All injections in id order."""
        return (self._entries[key][0] for key in sorted(self._entries))

    def active(self, context: Any) -> Iterator[Injection]:
        """The injections whose filter passes for ``context``, in id order."""
        for key in sorted(self._entries):
            injection, wanted = self._entries[key]
            if wanted is None or wanted(context):
                yield injection

    def ephemeral_ids(self) -> tuple[str, ...]:
        """The ids the application should remove after the generation."""
        return tuple(injection.id for injection in self if injection.ephemeral)
