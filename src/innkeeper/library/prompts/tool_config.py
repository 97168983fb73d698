"""ToolConfig: how a tool is run, by which provider, model and key, and where that is looked up.

Two ports, as the document has them (5-prompt-sequence-flow, *Key Components*): a `ToolDAO` gives a tool's configuration, a
`VaultDAO` the secret that it names. `Tools` and `Secrets` look in a library, or among given values. A tool that there is not
is `ToolNotFoundError` wherever it was looked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from innkeeper.library.errors import NotFoundError, suggesting
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import ConfigError, UnavailableError, Where
from innkeeper.prompt.machine import Secret
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database
    from innkeeper.library.rows import StoredTool
    from innkeeper.library.vault.vault import Vault


class ToolNotFoundError(NotFoundError):
    """There is no tool of this name, or it is switched off."""

    HINT = "`innkeeper admin tool list` shows those that there are"

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(f"tool {name!r} not found", code="tool_not_found", **kwargs)
        self.code = "tool_not_found"


class ToolConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool is run. None is what nobody has set; a zero is a value like any other.

    ``api_key_secret`` names a secret of the vault. ``tools`` is what the model may call. ``settings`` are the further ones, sent
    to the model under their names.
    """

    name: str
    provider: str = ""
    model: str = ""
    base_url: str | None = None
    api_key_secret: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    tools: tuple[FrozenDict, ...] = ()
    settings: FrozenDict = EMPTY

    @classmethod
    def of(cls, name: str, settings: Mapping[str, Any], **columns: Any) -> ToolConfig:
        """A tool from its settings and the columns of its row, which win over settings of the same name.

        Raises:
            ConfigError: a setting of the wrong type, named with its path.
        """
        fields = {**settings, **{column: value for column, value in columns.items() if value is not None}}
        known = {field: _read(name, field, fields.pop(field)) for field in _KINDS if fields.get(field) is not None}
        fields = {field: value for field, value in fields.items() if field not in _KINDS}
        return cls(name=name, **known, settings=FrozenDict({field: freeze(value) for field, value in fields.items()}))

    @classmethod
    def of_row(cls, row: StoredTool) -> ToolConfig:
        """A tool from a row of the library's table ``tools``. Raises `ConfigError` as `of`."""
        columns = {"provider": row.provider, "model": row.model, "base_url": row.base_url}
        return cls.of(row.name, row.settings, **columns, api_key_secret=row.secret_name)


_TEXT: Final = (str, "a text")
_NUMBER: Final = (float, "a number")
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "provider": _TEXT,
    "model": _TEXT,
    "base_url": _TEXT,
    "api_key_secret": _TEXT,
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "max_output_tokens": (int, "a whole number"),
    "tools": (tuple, "a list of function definitions"),
}


def _read(tool: str, field: str, value: Any) -> Any:
    """A setting as its type has it: a whole float is an int, nothing else is made of something else."""
    kind, expected = _KINDS[field]
    if kind is tuple and isinstance(value, (list, tuple)) and all(isinstance(one, Mapping) for one in value):
        return tuple([freeze(one) for one in value])
    if isinstance(value, (int, float)) and not isinstance(value, bool) and kind in {int, float}:
        if kind is float or float(value).is_integer():
            return kind(value)
    elif isinstance(value, kind) and not isinstance(value, tuple):
        return value
    message = f"the setting {field} of the tool {tool!r} is {expected}, not {kind_of(value)}"
    raise ConfigError(message, where=Where(asset="tools", path=f"{tool}.settings.{field}"))


class ToolDAO(Protocol):
    """Where tools are looked up."""

    def get_tool_by_name(self, name: str) -> ToolConfig:
        """The tool. Raises `ToolNotFoundError`, `ConfigError`, `DatabaseError`."""
        ...


class VaultDAO(Protocol):
    """Where secrets are looked up."""

    def get_secret(self, name: str) -> Secret:
        """The secret. Raises `NotFoundError`, `VaultError`."""
        ...


class Tools:
    """Tools of a library's database, the table ``tools``, where there is one; else those that are given as values."""

    def __init__(self, *tools: ToolConfig, db: Database | None = None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._db = db

    def get_tool_by_name(self, name: str) -> ToolConfig:
        """The tool. Raises `ToolNotFoundError`, `ConfigError`, `DatabaseError`."""
        if self._db is None:
            with suggesting(name, lambda: self._tools):
                if name not in self._tools:
                    raise ToolNotFoundError(name)
            return self._tools[name]
        try:
            return self._stored(self._db, name)
        except ToolNotFoundError:
            if name not in self._tools:
                raise
            return self._tools[name]

    @staticmethod
    def _stored(db: Database, name: str) -> ToolConfig:
        from innkeeper.library.models.stores import ToolStore

        store = ToolStore(db)
        try:
            row = store.get(name)
        except NotFoundError as error:
            with suggesting(name, lambda: (each.name for each in store.list())):
                raise ToolNotFoundError(name) from error
        if not row.is_active:
            raise ToolNotFoundError(name, hint=f"it is switched off: `innkeeper admin tool set {name} --active`")
        return ToolConfig.of_row(row)


LOCAL_TOOL: Final = ToolConfig(name="local", provider="local", model="local")
"""The tool that is there without a database: the model on this machine."""


class Secrets:
    """Secrets of a library's vault, whose uses are audit events that say ``who``, or secrets that are given as values."""

    def __init__(self, source: Vault | Mapping[str, Secret | str] | None = EMPTY, who: str = "prompt") -> None:
        self._source, self._who = source, who

    def get_secret(self, name: str) -> Secret:
        """The secret. Raises `NotFoundError`, `VaultError`, and `UnavailableError` for a library that has no vault."""
        if self._source is None:
            raise UnavailableError("there is no vault to look a secret up in", hint="open a library")
        if not isinstance(self._source, Mapping):
            return self._source.reveal(name, who=self._who, why="prompt run")
        if name not in self._source:
            raise NotFoundError(f"secret {name!r} not found", where=Where(asset="secrets", path=name))
        secret = self._source[name]
        return Secret(secret) if isinstance(secret, str) else secret
