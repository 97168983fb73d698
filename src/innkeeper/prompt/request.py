"""BuildRequest: everything a build depends on, as one serialisable value.

The library's keywords, the command line, HTTP bodies, batch rows and replay bundles all become this value, and nothing else
builds prompts. Two equal requests give equal bytes. What is not data (hooks, counters, instrumenters) goes through `Ports`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.context import Context
from innkeeper.prompt.errors import FormatError, UsageError, Where
from innkeeper.prompt.frozen import EMPTY, FrozenDict, freeze
from innkeeper.prompt.injections import Injection
from innkeeper.prompt.message import Message, messages_of

__all__ = ["GENERATION_TYPES", "BuildRequest", "to_json"]

GENERATION_TYPES: Final = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")
"""What is being generated, in the order of SillyTavern's numeric codes 0 to 5."""


class BuildRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The input of one build. A tavern uses a field or names it in ``plan.notes``; it never drops one silently.

    Assets (``character``, ``user``, ``group``, ``lorebooks``, ``preset``) are typed content values or the JSON they are read
    from. ``message`` is the new user input, not yet part of ``history`` (oldest first). ``meta`` holds per-build texts such
    as ``system_template``; a key that is present counts even when its value is ``None``. ``settings`` are the tavern's own.
    ``options`` are request options for the model (temperature …). ``context_window`` and ``reserved_tokens`` are in tokens.
    ``lore_state`` is the ``carry`` of the
    chat's previous plan. ``now`` is ISO 8601 with a zone, ``seed`` drives all chance. ``variables`` is
    ``{scope: {name: value}}`` before the build.
    """

    tavern: str = "vibe"
    profile: str | None = None
    character: Any = None
    user: Any = None
    group: Any = None
    history: tuple[Message, ...] = ()
    message: str = ""
    generation: str = "normal"
    greeting: int | None = None
    preset: Any = None
    lorebooks: tuple[Any, ...] = ()
    force_lore: tuple[Any, ...] = ()
    injections: tuple[Injection, ...] = ()
    authors_note: Any = None
    macro_vars: FrozenDict = EMPTY
    variables: FrozenDict = EMPTY
    context: Context | None = None
    meta: FrozenDict = EMPTY
    settings: FrozenDict = EMPTY
    lore_state: Any = None
    options: FrozenDict = EMPTY
    tools: tuple[FrozenDict, ...] = ()
    step_options: FrozenDict = EMPTY
    provider: str | None = None
    model: str | None = None
    dialect: str | None = None
    context_window: int | None = None
    reserved_tokens: int = 0
    strict: bool = False
    now: str | None = None
    locale: str = "en-US"
    seed: int = 0

    @classmethod
    def of(cls, value: Any) -> BuildRequest:
        """A request from itself or a mapping of its fields. Raises `FormatError` naming the field."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            msg = f"a build request must be a mapping, not {type(value).__name__}"
            raise FormatError(msg)
        fields = {str(key): _FIELD_READERS.get(str(key), _plain)(item) for key, item in value.items()}
        try:
            return msgspec.convert(fields, cls, dec_hook=_decode)
        except (msgspec.ValidationError, RecursionError) as error:
            raise FormatError(f"build request: {error}", where=Where(asset="request")) from error

    @classmethod
    def from_json(cls, text: str | bytes) -> BuildRequest:
        """A request from JSON. Raises `FormatError` with line and column."""
        try:
            return cls.of(json.loads(text))
        except json.JSONDecodeError as error:
            place = Where(asset="request", line=error.lineno, column=error.colno)
            raise FormatError(f"not JSON: {error.msg}", where=place) from error
        except (UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}", where=Where(asset="request")) from error

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data that `BuildRequest.of` reads back: fields at their default are left out."""
        data: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_encode)
        return data

    def to_json(self) -> bytes:
        """`to_dict` as canonical JSON (sorted keys)."""
        return to_json(self.to_dict())

    def with_(self, **fields: Any) -> BuildRequest:
        """A copy with other fields, each read as `BuildRequest.of` reads it. Raises `UsageError` for an unknown one."""
        unknown = fields.keys() - set(self.__struct_fields__)
        if unknown:
            msg = f"unknown input {min(unknown)!r}"
            raise UsageError(msg, hint=f"inputs: {', '.join(self.__struct_fields__)}")
        return msgspec.structs.replace(self, **{k: _FIELD_READERS.get(k, _plain)(v) for k, v in fields.items()})


def to_json(value: Any) -> bytes:
    """Canonical JSON of plain data: sorted keys, no spaces, ASCII escapes, so that equal data are equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_encode).encode()


def _encode(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=_encode)
    msg = f"{type(value).__name__} is not data and cannot be part of a request"
    raise UsageError(msg, hint="pass objects as ports; requests hold data only")


def _decode(kind: type, value: Any) -> Any:
    if kind is FrozenDict and isinstance(value, Mapping):
        return freeze(dict(value))
    if kind is Context:
        return Context.build(value)
    msg = f"expected {kind.__name__}, got {type(value).__name__}"
    raise msgspec.ValidationError(msg)


def _plain(value: Any) -> Any:
    return value


def _frozen(value: Any) -> Any:
    return freeze(dict(value)) if isinstance(value, Mapping) else EMPTY if value is None else value


def _tuple(value: Any) -> Any:
    return () if value is None else tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _moment(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _injections(value: Any) -> Any:
    return tuple(
        item if isinstance(item, Injection) else msgspec.convert(item, Injection, strict=False)
        for item in _tuple(value)
    )


def _context(value: Any) -> Any:
    return value if value is None else Context.build(value)


_FIELD_READERS: Final[dict[str, Any]] = {
    "history": messages_of,
    "lorebooks": _tuple,
    "force_lore": _tuple,
    "injections": _injections,
    "tools": lambda value: tuple(_frozen(item) for item in _tuple(value)),
    "macro_vars": _frozen,
    "variables": _frozen,
    "meta": _frozen,
    "settings": _frozen,
    "options": _frozen,
    "step_options": _frozen,
    "context": _context,
    "message": lambda value: "" if value is None else str(value),
    "now": _moment,
}
