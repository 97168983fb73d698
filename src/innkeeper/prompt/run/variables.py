"""VariablesStore: the variables of one chat, and the staged view in which a build writes before it commits."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, Protocol

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.data import MAX_DEPTH, freeze, key_text, parse_json, thaw, to_json
from innkeeper.prompt.errors import FormatError, LimitError

MAX_VARIABLES: Final = 100_000
"""The number of variables one scope may hold, and one build may write (`LimitError`)."""

_MISSING: Final = object()
_ITEM_STEPS: Final = 10
"""The steps charged for copying an item of a list or dict."""
_LONG: Final = 1000
_READING_SHIFT: Final = 9
"""A step reads so many characters of a long text, as a power of two."""
_LONGEST_NUMBER: Final = 40
_NUMBER: Final = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


class VariablesStore(Protocol):
    """Named values in scopes (``local`` to the chat, ``global`` across chats; others allowed). Names are text."""

    def get(self, name: str, scope: str = "local", default: Any = None) -> Any:
        """The value, or ``default``."""
        ...

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        """Set a value."""
        ...

    def has(self, name: str, scope: str = "local") -> bool:
        """Whether the name is set."""
        ...

    def delete(self, name: str, scope: str = "local") -> None:
        """Remove the name; no error when it is absent."""
        ...

    def names(self, scope: str = "local") -> tuple[str, ...]:
        """All names of a scope, in the order they were first set."""
        ...

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """A deep copy as ``{scope: {name: value}}``."""
        ...


class InMemoryVariables:
    """A store in a dict. ``version`` grows with every write, so readers can cache on it. Lists and dicts go in and out as copies.

    Keep one store per chat and hold a lock of the chat around "build and save": it does not lock itself.
    """

    __slots__ = ("_scopes", "version")

    def __init__(self, scopes: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._scopes: dict[str, dict[str, Any]] = {"local": {}, "global": {}}
        self.version = 0
        for scope, values in _mapping({} if scopes is None else scopes, "variables").items():
            added = _mapping(values, f"variables of scope {str(scope)[:40]!r}")
            variables = self._scopes.setdefault(key_text(scope).lower(), {})
            variables |= thaw(freeze(dict(added)))
            _check_count(f"the number of {scope} variables", len(variables))

    @classmethod
    def from_json(cls, text: str | bytes, *, asset: str = "variables") -> InMemoryVariables:
        """The store that `to_json` wrote. Raises `FormatError` or `LimitError`."""
        try:
            return cls(parse_json(text, asset=asset))
        except FormatError as error:
            raise error.at(asset=asset) from error.__cause__

    def to_json(self) -> bytes:
        """The store as JSON, scopes and names in order. Raises `UsageError` when a value is not data."""
        return to_json(self._scopes, sort=False)

    def get(self, name: str, scope: str = "local", default: Any = None) -> Any:
        """The value, or ``default``."""
        return _own(self._scopes.get(scope.lower(), {}).get(name, default))

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        """Set a value. Raises `LimitError` past `MAX_VARIABLES` names in the scope."""
        values = self._scopes.setdefault(scope.lower(), {})
        if name not in values:
            _check_count(f"the number of {scope} variables", len(values) + 1)
        values[name] = _taken(value)
        self.version += 1

    def has(self, name: str, scope: str = "local") -> bool:
        """Whether the name is set."""
        return name in self._scopes.get(scope.lower(), {})

    def delete(self, name: str, scope: str = "local") -> None:
        """Remove the name; no error when it is absent."""
        self._scopes.get(scope.lower(), {}).pop(name, None)
        self.version += 1

    def names(self, scope: str = "local") -> tuple[str, ...]:
        """All names of a scope, in the order they were first set."""
        return tuple(self._scopes.get(scope.lower(), {}))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """A deep copy as ``{scope: {name: value}}``."""
        copy: dict[str, dict[str, Any]] = thaw(self._scopes)
        return copy

    def add(self, name: str, value: Any, scope: str = "local") -> Any:
        """`add_variable` on this store."""
        return add_variable(self, name, value, scope)


class StagedVariables:
    """Writes over a store that stays as it was until `commit`: a build that fails or only looks changes nothing."""

    __slots__ = ("_base", "_writes", "version")

    def __init__(self, base: VariablesStore) -> None:
        self._base = base
        self._writes: dict[tuple[str, str], Any] = {}
        self.version = 0

    def get(self, name: str, scope: str = "local", default: Any = None) -> Any:
        """The staged value, else the store's, else ``default``."""
        written = self._writes.get((scope.lower(), name), self)
        if written is self:
            return _own(self._base.get(name, scope, default))
        return default if written is _MISSING else _own(written)

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        """Stage a value. Raises `LimitError` past `MAX_VARIABLES` staged writes, and `AllowanceError`."""
        _charge(value)
        if (scope.lower(), name) not in self._writes:
            _check_count("the number of variables written in one build", len(self._writes) + 1)
        self._writes[scope.lower(), name] = _taken(value)
        self.version += 1

    def has(self, name: str, scope: str = "local") -> bool:
        """Whether the name is set, staged writes included."""
        written = self._writes.get((scope.lower(), name), self)
        return self._base.has(name, scope) if written is self else written is not _MISSING

    def delete(self, name: str, scope: str = "local") -> None:
        """Stage the removal of a name."""
        if self._base.has(name, scope):
            self._writes[scope.lower(), name] = _MISSING
        else:
            self._writes.pop((scope.lower(), name), None)
        self.version += 1

    def names(self, scope: str = "local") -> tuple[str, ...]:
        """All names of a scope with staged writes applied."""
        key = scope.lower()
        staged = [name for (where, name) in self._writes if where == key]
        return tuple(name for name in dict.fromkeys((*self._base.names(scope), *staged)) if self.has(name, scope))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The store's content with staged writes applied, as a copy."""
        if not self._writes and isinstance(self._base, InMemoryVariables):
            return self._base.to_dict()
        merged = InMemoryVariables(self._base.to_dict())
        self._apply(merged)
        return merged.to_dict()

    def stage(self) -> StagedVariables:
        """Return a further view on top of this one: for a template whose writes count only if it renders."""
        return StagedVariables(self)

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """Return what `commit` would write: ``{scope: {name: value}}``, ``None`` for removals."""
        changed: dict[str, dict[str, Any]] = {}
        for (scope, name), value in self._writes.items():
            changed.setdefault(scope, {})[name] = None if value is _MISSING else value
        return changed

    def commit(self) -> None:
        """Write everything staged into the store, in the order of the first write of each name; then start afresh."""
        self._apply(self._base)
        self._writes.clear()

    def _apply(self, store: Any) -> None:
        for (scope, name), value in self._writes.items():
            if value is _MISSING:
                store.delete(name, scope)
            else:
                store.set(name, value, scope)


def _mapping(value: Any, what: str) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    raise FormatError(f"{what} must be a mapping", hint='variables look like {"local": {"name": "value"}}')


def _check_count(what: str, count: int) -> None:
    if count > MAX_VARIABLES:
        raise LimitError(what, limit="MAX_VARIABLES", allowed=MAX_VARIABLES, found=count)


def _taken(value: Any) -> Any:
    """Return the value a store keeps: text without lone surrogates, a copy of plain data, other objects unchanged."""
    return thaw(freeze(value))


def _own(value: Any) -> Any:
    """A copy of a list or dict, so that changing it in place changes no store; any other value as it is."""
    if not isinstance(value, (dict, list, tuple)):
        return value
    _charge(value)
    return thaw(value)


def _charge(value: Any) -> None:
    """Charge the allowance for a copy of a value. Raises `AllowanceError`."""
    if isinstance(value, (dict, list, tuple)):
        charge("variables", _ITEM_STEPS * _items(value, MAX_DEPTH))
    elif isinstance(value, str) and len(value) > _LONG:
        charge("variables", len(value) >> _READING_SHIFT, made=len(value))


def _items(value: Any, depth: int) -> int:
    """Count the values in a container, itself included, down to the depth that can be stored."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(_items(item, depth - 1) if isinstance(item, (dict, list, tuple)) and depth else 1 for item in inner)


def number_of(value: Any) -> float | int | None:
    """A number from a number or numeric text; ``None`` for anything else (booleans and NaN included)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value if abs(value) <= sys.float_info.max else None
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER or not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def add_variable(store: VariablesStore, name: str, value: Any, scope: str = "local") -> Any:
    """Add to a variable and return the result: absent or null → set; both numeric → sum; otherwise text is appended.

    What is neither number nor text is appended as JSON writes it: ``true``.

    A sum too large for a number counts as text too (the reference systems' ``add``; they would store an infinity).
    """
    current = store.get(name, scope) if store.has(name, scope) else None
    if current is None:
        store.set(name, value, scope)
        return value
    left, right = number_of(current), number_of(value)
    total: Any = left + right if left is not None and right is not None else None
    if number_of(total) is None:
        total = _written(current) + _written(value)
    store.set(name, total, scope)
    return total


def _written(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(thaw(value), ensure_ascii=False, separators=(",", ":"))
    return key_text(value)
