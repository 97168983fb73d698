"""What the JSON columns of models and providers hold: a struct a column, strict where it is saved, tolerant where it is read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, TypeVar

import msgspec

from innkeeper.library.errors import FieldError, with_near
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import Where
from innkeeper.prompt.typed.once import convert

S = TypeVar("S", bound=msgspec.Struct)

Count = Annotated[int, msgspec.Meta(ge=1)]


class RateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """``api_providers.rate_limits``. Only ``concurrent_requests`` is kept to: it is how many slots a deployment has."""

    concurrent_requests: Count | None = None
    requests_per_minute: Count | None = None
    requests_per_hour: Count | None = None


class ModelCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """``api_models.capabilities``. Further names with a truth value are abilities, such as ``tools`` or ``supports_vision``."""

    char_limit: Count | None = None
    negative_prompt: bool = True
    input_schema: dict[str, Any] | None = None
    input_ranges: dict[str, Any] | None = None
    input_key_mappings: dict[str, str] | None = None
    safety_checker_param: str | None = None
    safety_checker_may_be_off: bool = False
    sync: bool = False
    workflow: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None


class WorkerModel(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of ``models`` in ``workers.capabilities``: what a worker says of a model that it has."""

    key: str = ""
    tasks: tuple[str, ...] = ()
    context_window: Count | None = None
    abilities: tuple[str, ...] | dict[str, Any] = ()


def read_json(value: Mapping[str, Any], kind: type[S]) -> S:
    """Return a stored object as its struct; keys that it does not have, and values of another kind, are left out."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.name in value:
            with suppress(msgspec.ValidationError):
                fields[field.name] = convert(thaw(value[field.name]), field.type)
    return kind(**fields)


OPEN: Final = frozenset({ModelCapabilities})
"""Structs beside whose fields there may be others, if they are truth values."""


def check_json(table: str, column: str, value: Any, kind: Any) -> None:
    """Refuse a value that its JSON column does not hold: `FieldError`, which names the nearest key for an unknown one."""
    where = Where(asset=table, path=column)
    if isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        known = kind.__struct_fields__
        for name, item in value.items():
            if name not in known and not (kind in OPEN and isinstance(item, bool)):
                raise with_near(
                    FieldError(f"unknown key {str(name)[:40]!r}", where=where, hint=f"keys: {', '.join(known)}"),
                    str(name),
                    known,
                )
    try:
        convert(thaw(value), kind)
    except msgspec.ValidationError as problem:
        raise FieldError(str(problem), where=where) from problem
