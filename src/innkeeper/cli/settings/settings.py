"""Settings of a user for all commands, and the precedence of their sources.

An option of the command line overrides the environment, the environment the configuration file, the file the default. Values in a
build request's own file or a SillyTavern folder count as options of the command line.

The file is TOML. In addition to plain settings it has tables with the user's own names: ``[aliases.models]``, ``[aliases.cards]``
and ``[providers]``, addresses by name, which extend `PROVIDERS`. Keys are never in it (`innkeeper.cli.settings.keys`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from innkeeper.inference.adapters.providers import ADDRESSES
from innkeeper.prompt.errors import ConfigError, LimitError, UnavailableError, UnknownNameError, Where
from innkeeper.prompt.machine import config_file

MAX_CONFIG_BYTES: Final = 1_000_000
"""The longest configuration file, in bytes (`LimitError`)."""

Source: TypeAlias = Literal["option", "profile", "log", "environment", "file", "default"]
"""Where a value comes from, by precedence; profiles and the log of a continued conversation have model and address."""

PROVIDERS: Final = ADDRESSES
"""Addresses of providers by name."""


class Setting(NamedTuple):
    """One setting. ``read`` converts a text or a TOML value, or raises `ValueError` with the expected kind.

    ``known`` lists the possible names, if there is a list; it may be slow.
    """

    name: str
    help: str
    read: Callable[[Any], Any]
    default: Any = None
    known: Callable[[], Iterable[str]] | None = None

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "INNKEEPER_" + self.name.replace(".", "_").upper()


class SettingValue(NamedTuple):
    """A value and its source: ``place`` is the file's path or the variable's name, empty for the others."""

    name: str
    value: Any
    source: Source
    place: str = ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("a text")
    return value


def _path(value: Any) -> Path:
    return Path(_text(value)).expanduser()


def _switch(value: Any) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("true", "yes", "on", "1", True):
        return True
    if word in ("false", "no", "off", "0", False):
        return False
    raise ValueError("true or false")


def _count(value: Any) -> int:
    try:
        number = None if isinstance(value, bool | float) else int(value)
    except (TypeError, ValueError):
        number = None
    if number is None or number < 0:
        raise ValueError("a whole number from 0")
    return number


def _number(value: Any) -> float:
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = None
    if number is None or not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def _address(value: Any) -> str:
    text = _text(value)
    if not (_NAME.fullmatch(text) or text.startswith(("http://", "https://"))):
        raise ValueError("an http or https address, or the name of a provider")
    return text


def _taverns() -> Iterable[str]:
    from innkeeper.taverns import TAVERNS

    return TAVERNS


def _dialects() -> Iterable[str]:
    from innkeeper.dialects import DIALECTS

    return DIALECTS


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        setting.name: setting
        for setting in (
            Setting("tavern", "the tavern that builds prompts", _text, "silly", _taverns),
            Setting("model", "the model that answers: its name, an alias, PROVIDER:NAME or local", _text, "local"),
            Setting("base_url", "where the model is: an address, or the name of a provider", _address),
            Setting("persona", "the user's persona: a file", _path),
            Setting("preset", "the preset: a file", _path),
            Setting("dialect", "the dialect of requests that prompts are counted for", _text, None, _dialects),
            Setting("context_window", "the model's window, in tokens", _count),
            Setting("reserve", "tokens reserved for the reply", _count),
            Setting("limits.seconds", "seconds of the processor that a build may take", _number),
            Setting("limits.steps", "steps that a build may take", _count),
            Setting("limits.output", "characters that a build may make", _count),
            Setting("logging", "whether `ask` and `chat` write the log", _switch, default=True),
            Setting("catalogue", "windows and prices of models, laid over those that are known: a JSON file", _path),
        )
    }
)
"""The plain settings by name."""

TABLES: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"aliases.models": _text, "aliases.cards": _path, "providers": _address}
)
"""The tables with the user's own names, and how their values are read."""


class UserSettings:
    """The settings of one file and one environment.

    ``document`` is the content of the file at ``path``, which need not exist. Values are read on demand, so that an error in one
    setting affects only its users; names are checked at once.
    """

    def __init__(
        self, document: Mapping[str, Any], path: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.path = path or config_file(environ)
        self.environ = environ
        self.entries = dict(self._checked(document))

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ, path: Path | None = None) -> UserSettings:
        """Read the settings of the configuration file; none if there is no file. The catalogue that they name is in use then.

        Raises:
            FormatError: it is not TOML; with line and column. Or the catalogue is none.
            UnknownNameError: it has an unknown setting; the nearest name is suggested.
        """
        where = path or config_file(environ)
        settings = cls(parse(content(where), where), where, environ)
        if catalogue := settings.get("catalogue"):
            from innkeeper.tokens.table.catalogue import use_catalogue

            use_catalogue(catalogue)
        return settings

    def value(self, name: str, option: Any = None) -> SettingValue:
        """Return the value of a setting: ``option`` unless that is None or empty, else by the precedence of this module.

        Raises:
            UnknownNameError: there is no such setting.
            ConfigError: the value is invalid.
        """
        setting = setting_of(name)
        if option is not None and option != ():
            return SettingValue(name, option, "option")
        text = self.environ.get(setting.variable, "")
        if text:
            return SettingValue(
                name, self._read(setting.read, text, setting.variable, ""), "environment", setting.variable
            )
        if name in self.entries:
            return SettingValue(name, self._own(setting.read, name), "file", str(self.path))
        return SettingValue(name, setting.default, "default")

    def get(self, name: str, option: Any = None) -> Any:
        """Return the value alone; see `value`."""
        return self.value(name, option).value

    def table(self, name: str) -> dict[str, Any]:
        """Return one of `TABLES` from the file."""
        start = f"{name}."
        names = [entry for entry in self.entries if entry.startswith(start)]
        return {entry.removeprefix(start): self._own(TABLES[name], entry) for entry in names}

    def values(self) -> Iterator[SettingValue]:
        """Yield all settings in order, then the entries of the tables."""
        for name in SETTINGS:
            yield self.value(name)
        for table in TABLES:
            for name, value in self.table(table).items():
                yield SettingValue(f"{table}.{name}", value, "file", str(self.path))

    def address(self, name: str) -> str:
        """Return the address of a provider's name; an address is returned as it is. Raises `UnknownNameError`."""
        if "://" in name:
            return name
        known = {**PROVIDERS, **self.table("providers")}
        if name not in known:
            raise UnknownNameError("provider", name, known)
        return str(known[name])

    def card(self, name: str) -> str:
        """Return the file for a name on the command line: an alias's file, unless a file of that name exists."""
        cards = {} if os.path.lexists(name) else self.table("aliases.cards")
        return str(cards.get(name, name))

    def _own(self, read: Callable[[Any], Any], name: str) -> Any:
        value = self._read(read, self.entries[name], str(self.path), name)
        # A relative path in the file is meant from the file's folder.
        return self.path.parent / value if isinstance(value, Path) else value

    def _read(self, read: Callable[[Any], Any], value: Any, asset: str, path: str) -> Any:
        try:
            return read(value)
        except ValueError as error:
            hint = (
                f"innkeeper config set {path} VALUE, or innkeeper config edit"
                if path
                else f"set it anew, or unset {asset}"
            )
            where = Where(asset=asset, path=path or None)
            raise ConfigError(f"not {error}: {value!r:.60}", where=where, hint=hint) from None

    def _checked(self, document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, value in _flat(document):
            try:
                reader_of(name)
            except UnknownNameError as error:
                raise error.at(asset=str(self.path)) from None
            yield name, value


def setting_of(name: str) -> Setting:
    """Return the setting of this name. Raises `UnknownNameError`, which suggests the nearest."""
    if name not in SETTINGS:
        hint = "keys are stored apart: innkeeper keys set NAME" if "key" in name.lower() else None
        raise UnknownNameError("setting", name, SETTINGS, **({"hint": hint} if hint else {}))
    return SETTINGS[name]


def reader_of(name: str) -> Callable[[Any], Any]:
    """Return the reader for the value of a setting or of a table's entry. Raises `UnknownNameError`."""
    for table, read in TABLES.items():
        if name.startswith(f"{table}.") and _NAME.fullmatch(name.removeprefix(f"{table}.")):
            return read
    return setting_of(name).read


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """Parse a configuration file. Raises `FormatError`, `LimitError`."""
    if not data.strip():
        return {}
    from innkeeper.content.toml import parse_toml

    return parse_toml(data, asset=str(path), hint="innkeeper config edit")


def content(path: Path) -> bytes:
    """Read a configuration file; empty if there is none. Raises `UnavailableError`, `LimitError`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        where = Where(asset=str(path))
        raise UnavailableError(f"the configuration cannot be read: {error.strerror}", where=where) from error
    if len(data) > MAX_CONFIG_BYTES:
        where = Where(asset=str(path))
        raise LimitError("the configuration file", limit="MAX_CONFIG_BYTES", allowed=MAX_CONFIG_BYTES, where=where)
    return data


def _flat(document: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the document's values by dotted names. A name in one of the user's own tables may contain dots."""
    for key, value in document.items():
        name = f"{start}{key}"
        if isinstance(value, Mapping) and start.removesuffix(".") not in TABLES:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value
