"""BuildRequest: everything a build depends on, as one serialisable value.

The library's keywords, the command line, HTTP bodies and replay bundles all become this value, and nothing else
builds prompts. Two equal requests give equal bytes. What is not data (hooks, counters, instrumenters) goes through `Ports`.
A `ReplayBundle` is a request with the fingerprint its plan had, in a file that gives the same bytes again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.data import (
    EMPTY,
    MAX_DEPTH,
    NOT_DATA,
    FrozenDict,
    check_depth,
    freeze,
    key_text,
    parse_json,
    plain_data,
    to_json,
)
from innkeeper.prompt.errors import (
    FormatError,
    InnkeeperError,
    LimitError,
    ReplayError,
    UnavailableError,
    UnsupportedError,
    UsageError,
    Where,
)
from innkeeper.prompt.message import Message, messages_of
from innkeeper.prompt.run.context import Context
from innkeeper.prompt.run.extensions import Injection
from innkeeper.prompt.text import Mended, kind_of, mended_in, scalar_text, shorten, type_words, watching
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert
from innkeeper.version import VERSION

if TYPE_CHECKING:
    from innkeeper.prompt.plan import Plan


GENERATION_TYPES: Final = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")
"""The kinds of generation, in the order of SillyTavern's numeric codes 0 to 5."""


MAX_TOKENS: Final = 10**12
"""Tokens of a window or a reserve (`FormatError`): far above any model's, and exact in every arithmetic."""


class BuildRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The input of one build. A tavern uses a field or names it in ``plan.notes``; it never drops one silently.

    Assets (``character``, ``user``, ``group``, ``lorebooks``, ``preset``) are typed content values or the JSON they are read
    from. ``history`` is oldest first; a chat that has ``metadata`` brings them along into ``settings["chat_metadata"]``.
    ``message`` is the new user input, not yet part of it; ``system`` is the application's own system text, which stands
    before the history. ``meta`` holds per-build texts such as ``system_template``; a key that is present counts even when
    its value is ``None``. ``settings`` are the tavern's own.
    ``options`` are request options for the model (temperature …). ``context_window`` and ``reserved_tokens`` are in tokens; no
    window is ``None`` or 0, a reserve of 0 is one that was given.
    ``lore_state`` is the ``carry`` of the chat's previous plan. ``limits`` is what the build may take
    (`innkeeper.prompt.allowance`). ``now`` is ISO 8601 with a zone, ``seed`` drives all chance. ``variables`` is
    ``{scope: {name: value}}`` before the build. ``mended`` is what reading the other fields had to mend; the plan notes it.
    """

    tavern: str = "vibe"
    profile: str | None = None
    character: Any = None
    user: Any = None
    group: Any = None
    history: tuple[Message, ...] = ()
    message: str = ""
    system: str = ""
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
    context_window: Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)] | None = None
    reserved_tokens: Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)] | None = None
    strict: bool = False
    limits: BuildLimits | None = None
    now: str | None = None
    locale: str = "en-US"
    seed: int = 0
    mended: tuple[Mended, ...] = ()

    @classmethod
    def of(cls, value: Any) -> BuildRequest:
        """A request from itself or a mapping of its fields. Raises `FormatError` or `LimitError` naming the field."""
        return value if isinstance(value, cls) else cls._of(value)

    @classmethod
    def _of(cls, value: Any, *, checked: bool = False) -> BuildRequest:
        """A request from a mapping; ``checked`` says that the depth of all its data is known to be allowed."""
        if not isinstance(value, Mapping):
            raise FormatError(f"a build request must be a mapping, not {kind_of(value)}", where=Where(asset="request"))
        fields, mended = _fields(value, checked=checked)
        # metadata of a stored chat goes to the settings, unless they bring their own
        history = value.get("history")
        metadata = getattr(history, "metadata", None)
        if isinstance(metadata, Mapping) and metadata:
            fields["settings"] = freeze({"chat_metadata": metadata, **fields.get("settings", EMPTY)})
        try:
            request = convert(fields, cls, dec_hook=_decode)
        except Misfit as error:
            where = Where(asset="request", path=error.path or None)
            raise FormatError(f"{error.path or 'a build request'} {error.problem}", where=where) from error
        except RecursionError as error:
            raise LimitError("the nesting of the request", limit="MAX_DEPTH", allowed=MAX_DEPTH) from error
        return _also_mended(request, mended)

    @classmethod
    def from_json(cls, text: str | bytes, *, asset: str = "request") -> BuildRequest:
        """A request from JSON. Raises `FormatError` with line and column, or `LimitError`."""
        return cls._of(parse_json(text, asset=asset), checked=True)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data that `BuildRequest.of` reads back: fields at their default are left out.

        Raises `UsageError` when a field holds more than data.
        """
        data = self._data()
        to_json(data)
        return data

    def to_json(self) -> bytes:
        """The request as JSON: fields and keys in their order, which a build may depend on (of variables, of entries).

        Raises `UsageError` when a field holds more than data.
        """
        return to_json(self._data(), sort=False)

    def _data(self) -> dict[str, Any]:
        assets = {name: _asset_data(getattr(self, name)) for name in ASSET_FIELDS}
        try:
            data: dict[str, Any] = msgspec.to_builtins(
                msgspec.structs.replace(self, **assets), enc_hook=plain_data, builtin_types=NOT_DATA
            )
        except RecursionError as error:
            raise LimitError("the nesting of the request", limit="MAX_DEPTH", allowed=MAX_DEPTH) from error
        return data

    def with_(self, **fields: Any) -> BuildRequest:
        """A copy with other fields, each read as `BuildRequest.of` reads it. Raises `UsageError` for an unknown one."""
        return self.with_fields(fields)

    def with_fields(self, fields: Mapping[str, Any], *, checked: bool = False) -> BuildRequest:
        """Do as `with_` for fields in a mapping; ``checked`` says that the depth of all its data is known to be allowed."""
        unknown = fields.keys() - _NAMES
        if unknown:
            raise UsageError(f"unknown input {min(unknown)!r}", hint=f"inputs: {', '.join(self.__struct_fields__)}")
        read = BuildRequest._of(fields, checked=checked)
        changed = {name: getattr(read, name) for name in fields}
        if "history" in fields and "settings" not in fields and read.settings:
            changed["settings"] = FrozenDict({**self.settings, **read.settings})
        if "mended" in fields:
            return msgspec.structs.replace(self, **changed)
        if self.mended:
            changed["mended"] = tuple([other for other in self.mended if other.field not in fields])
        return _also_mended(msgspec.structs.replace(self, **changed), read.mended)


_NAMES: Final = frozenset(BuildRequest.__struct_fields__)


def _also_mended(request: BuildRequest, more: Sequence[Mended]) -> BuildRequest:
    """The request telling of these as well, in the order of its fields."""
    if not more:
        return request
    order = {name: index for index, name in enumerate(request.__struct_fields__)}
    mended = sorted((*request.mended, *more), key=lambda field: order.get(field.field, -1))
    return msgspec.structs.replace(request, mended=tuple(mended))


ASSET_FIELDS: Final = ("character", "user", "group", "preset", "lorebooks", "authors_note")
"""Fields that may hold typed content, which is written as the JSON it was read from. The tavern reads them."""

_ASSET_LEVELS: Final = 3
"""The depth at which typed content may be nested in such a field: ``group["members"][0]``."""

_LARGEST_SHOWN: Final = 10**100


def _fields(value: Mapping[str, Any], *, checked: bool) -> tuple[dict[str, Any], list[Mended]]:
    """Each field as its reader reads it, and what was mended in them."""
    with watching() as watch:
        fields: dict[str, Any] = {}
        mended: list[Mended] = []
        for key, item in value.items():
            name = key_text(key)
            fields[name] = _read(name, item, checked=checked)
            if watch.count:
                mended.append(mended_in(name, item, watch))
    return fields, mended


_LOADERS: Final = {
    "character": "load_character",
    "user": "load_persona",
    "preset": "load_preset",
    "lorebooks": "load_lorebook",
    "history": "load_chat",
}
"""The function of `innkeeper.content` that reads a file for a field."""

_FILE_NAME: Final = re.compile(r"[^\n{}]{1,4096}\.(?:png|json|jsonl|charx|byaf|webp)", re.IGNORECASE)


def _refuse_file_names(name: str, item: Any) -> None:
    """Refuse the name of a file where its content belongs: a character may be a mere name, and would be called that."""
    for each in item if isinstance(item, (list, tuple)) and name != "history" else (item,):
        if hasattr(each, "__fspath__") or (isinstance(each, str) and _FILE_NAME.fullmatch(each)):
            shown = shorten(str(each), 60)
            raise UsageError(
                f"{shown!r} is the name of a file, not what is in it",
                hint=f"read it first: innkeeper.content.{_LOADERS[name]}({shown!r})",
            )


def _read(name: str, item: Any, *, checked: bool) -> Any:
    reader = _FIELD_READERS.get(name)
    try:
        if name in _LOADERS:
            _refuse_file_names(name, item)
        if not checked and (reader is None or reader in _NOT_FREEZING):
            check_depth(item, name)
        if reader is not None:
            return reader(item)
    except InnkeeperError as error:
        raise error if error.where and error.where.asset else error.at(asset="request", path=name) from error.__cause__
    return item


def _asset_data(value: Any, levels: int = _ASSET_LEVELS) -> Any:
    """A field with every typed asset in it as its JSON; anything else as it is."""
    if isinstance(value, msgspec.Struct):
        return value.to_dict() if hasattr(value, "to_dict") else value
    if levels and isinstance(value, dict):
        return {key: _asset_data(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, (list, tuple)):
        return tuple(_asset_data(item, levels - 1) for item in value)
    return value


def _decode(kind: type, value: Any) -> Any:
    if isinstance(value, kind):  # msgspec asks here for its own kind too, when that is a mapping
        return value
    if kind is FrozenDict and isinstance(value, Mapping):
        return freeze(dict(value))
    msg = f"Expected `{type_words(kind)}`, got `{type(value).__name__}`"
    raise TypeError(msg)  # msgspec adds the path


def _frozen(value: Any) -> Any:
    return EMPTY if value is None else freeze(value)


def _tuple(value: Any) -> Any:
    return () if value is None else tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _injections(value: Any) -> Any:
    """Injections from a list, from one, or by their ids; of several with one id the last counts."""
    listed = _tuple(value)
    if (
        isinstance(value, Mapping)
        and "content" not in value
        and all(isinstance(item, Mapping) for item in value.values())
    ):
        listed = tuple([{"id": str(name), **item} for name, item in value.items()])
    return tuple({injection.id: injection for injection in map(Injection.of, listed)}.values())


def _tools(value: Any) -> Any:
    return tuple(_frozen(plain_data(item) if isinstance(item, msgspec.Struct) else item) for item in _tuple(value))


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return scalar_text(value)
    if type(value) is float or (type(value) is int and abs(value) < _LARGEST_SHOWN):
        return str(value)
    return "" if value is None else value


_FIELD_READERS: Final[dict[str, Any]] = {
    "history": messages_of,
    "lorebooks": _tuple,
    "force_lore": _tuple,
    "injections": _injections,
    "tools": _tools,
    "macro_vars": _frozen,
    "variables": _frozen,
    "meta": _frozen,
    "settings": _frozen,
    "options": _frozen,
    "step_options": _frozen,
    "context": lambda value: None if value is None else Context.build(value),
    "message": _text,
    "system": _text,
    "now": lambda value: value.isoformat() if hasattr(value, "isoformat") else value,
    "mended": _tuple,
}

_NOT_FREEZING: Final = frozenset({_tuple, _injections})
"""Readers that do not see how deep the data are; those that freeze them do."""


BUNDLE_FORMAT: Final = 1
"""The version of the bundle's own shape."""


class ReplayBundle(msgspec.Struct, frozen=True):
    """A request and what it gave: ``fingerprint`` in ``dialect``, under engine ``version``.

    ``counter`` is the name of the one that counted it (`Plan.counted_by`); empty: the usual one.
    """

    request: BuildRequest
    fingerprint: str
    dialect: str
    version: str
    counter: str = ""

    @classmethod
    def of(cls, plan: Plan, dialect: str | None = None) -> ReplayBundle:
        """The bundle of a plan. Raises `ReplayError` when the plan had inputs that are not data."""
        if plan.request is None or plan.unreplayable:
            missing = ", ".join(plan.unreplayable) or "the request"
            raise ReplayError(
                f"this plan cannot be replayed: {missing} cannot be stored",
                hint="build from a BuildRequest, without hooks or steps of your own",
            )
        name = dialect or plan.dialect or "openai"
        try:
            plan.request.to_json()
        except UsageError as error:
            raise ReplayError(f"this plan cannot be replayed: {error.message}", hint=error.hint) from error
        return cls(plan.request, plan.fingerprint(name), name, VERSION, plan.counted_by)

    def to_json(self) -> bytes:
        """The bundle as JSON, with every key of the request in its order."""
        return to_json(
            {
                "innkeeper_replay": BUNDLE_FORMAT,
                "version": self.version,
                "dialect": self.dialect,
                "fingerprint": self.fingerprint,
                **({"counter": self.counter} if self.counter else {}),
                "request": self.request.to_dict(),
            },
            sort=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes, *, asset: str = "bundle") -> ReplayBundle:
        """The bundle that `to_json` wrote. Raises `FormatError`, `UnsupportedError` or `LimitError`."""
        data = parse_json(text, asset=asset)
        if not isinstance(data, dict) or "innkeeper_replay" not in data:
            raise FormatError(
                "not a replay bundle: innkeeper_replay is missing",
                where=Where(asset=asset),
                hint="write one with plan.replay().write(path)",
            )
        written = data["innkeeper_replay"]
        if type(written) is not int or written != BUNDLE_FORMAT:
            name = written if isinstance(written, str) or type(written) is int else type(written).__name__
            raise UnsupportedError(
                f"replay bundle of format {shorten(str(name), 20)}; this version reads {BUNDLE_FORMAT}",
                where=Where(asset=asset),
            )
        texts = [item for key in ("fingerprint", "dialect", "version") if isinstance(item := data.get(key), str)]
        if len(texts) != len(("fingerprint", "dialect", "version")):
            raise FormatError(
                "not a replay bundle: fingerprint, dialect and version must be text", where=Where(asset=asset)
            )
        try:
            fingerprint, dialect, version = texts
            counter = data.get("counter")
            request = BuildRequest.of(data.get("request"))
            return cls(request, fingerprint, dialect, version, counter if isinstance(counter, str) else "")
        except InnkeeperError as error:
            path = ".".join(part for part in ("request", error.where.path if error.where else None) if part)
            error.where = Where(asset=asset, path=path)
            raise

    @classmethod
    def read(cls, path: str | Path) -> ReplayBundle:
        """The bundle in a file. Raises `FormatError`, and `UnavailableError` when the file cannot be read."""
        try:
            data = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            raise UnavailableError(f"cannot read: {_reason(error)}", where=Where(asset=str(path))) from error
        return cls.from_json(data, asset=str(path))

    def write(self, path: str | Path) -> None:
        """Write the bundle to a file, whole or not at all. Raises `UnavailableError` when it cannot be written."""
        data = self.to_json()
        try:
            target = Path(path)
            draft = target.with_name(target.name + ".part")
            try:
                draft.write_bytes(data)
                draft.replace(target)
            finally:
                draft.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            raise UnavailableError(f"cannot write: {_reason(error)}", where=Where(asset=str(path))) from error

    def check(self, plan: Plan) -> Plan:
        """The rebuilt ``plan`` if it has the recorded fingerprint. Raises `ReplayError` with both versions otherwise."""
        rebuilt = plan.fingerprint(self.dialect)
        if rebuilt == self.fingerprint:
            return plan
        msg = f"the rebuilt plan has fingerprint {rebuilt[:16]}…, recorded was {self.fingerprint[:16]}…"
        counted = f", counted by {self.counter}" if self.counter else ""
        raise ReplayError(
            msg, hint=f"the bundle is from version {self.version}{counted}", found=rebuilt, recorded=self.fingerprint
        )


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
