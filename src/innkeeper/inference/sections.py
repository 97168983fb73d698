"""Sections of a context as typed configurations: the one way they are read, and the error when they do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from innkeeper.prompt import ConfigError, FrozenDict, Where, freeze

__all__ = ["read_config", "refuse_config", "section_of"]

T = TypeVar("T", bound=msgspec.Struct)


def section_of(values: Any, section: str) -> Mapping[str, Any]:
    """The mapping under ``context[section]``; ``None`` is empty. Raises `ConfigError` for anything else."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        refuse_config(section, f"it must be a mapping, not {type(values).__name__}")
    found: Mapping[str, Any] = values
    return found


def read_config(kind: type[T], values: Mapping[str, Any], section: str) -> T:
    """``values`` as a ``kind``. Raises `ConfigError` for unknown keys and wrong types."""
    try:
        return msgspec.convert(dict(values), kind, dec_hook=_frozen)
    except msgspec.ValidationError as error:
        keys = ", ".join(kind.__struct_fields__)
        place = Where(asset="context", path=section)
        raise ConfigError(f"{section}: {error}", where=place, hint=f"keys: {keys}") from error


def refuse_config(section: str, why: str) -> None:
    """Raise `ConfigError` about a section."""
    msg = f"{section}: {why}"
    raise ConfigError(msg, where=Where(asset="context", path=section))


def _frozen(kind: type, value: Any) -> Any:
    if kind is FrozenDict and isinstance(value, Mapping):
        return freeze(dict(value))
    msg = f"expected {kind.__name__}, got {type(value).__name__}"
    raise msgspec.ValidationError(msg)
