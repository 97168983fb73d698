"""Settings: what a user has settled once for all commands, and the one rule of where a value comes from.

An option of the command line wins over the environment, the environment over the configuration file, the file over the
default. What a build request's own file or a SillyTavern folder says counts as said on the command line.

The file is TOML. Beside plain settings it has tables of names that the user gives: ``[aliases.models]``, ``[aliases.cards]`` and
``[providers]``, addresses by name, on top of `PROVIDERS`. Keys are never in it (`innkeeper.cli.settings.keys`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from innkeeper.inference.adapters.providers import ADDRESSES
from innkeeper.prompt.errors import ConfigError, FormatError, LimitError, UnavailableError, UnknownNameError, Where
from innkeeper.prompt.machine import config_file

MAX_CONFIG_BYTES: Final = 1_000_000
"""The longest configuration file, in bytes (`LimitError`)."""

Source: TypeAlias = Literal["option", "profile", "log", "environment", "file", "default"]
"""Where a value comes from, the strongest first; profiles and the log, of a conversation that goes on, have model and address."""

PROVIDERS: Final = ADDRESSES
"""Addresses of providers by name."""


class Setting(NamedTuple):
    """One setting. ``read`` turns a text or a TOML value into the value, or raises `ValueError` with what is wanted.

    ``known`` lists the names that it may be, where there is such a list; it may be slow to ask.
    """

    name: str
    help: str
    read: Callable[[Any], Any]
    default: Any = None
    known: Callable[[], Iterable[str]] | None = None

    @property
    def variable(self) -> str:
        """The environment variable that says it for one shell."""
        return "INNKEEPER_" + self.name.replace(".", "_").upper()


class SettingValue(NamedTuple):
    """A value and where it comes from: ``place`` is the file's path or the variable's name, empty for the others."""

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
            Setting("tavern", "whose rules prompts are built by", _text, "silly", _taverns),
            Setting("model", "the model that answers: its name, an alias, PROVIDER:NAME or local", _text, "local"),
            Setting("base_url", "where the model is: an address, or the name of a provider", _address),
            Setting("persona", "who the user is: a file", _path),
            Setting("preset", "the preset: a file", _path),
            Setting("dialect", "the shape of requests that prompts are counted for", _text, None, _dialects),
            Setting("context_window", "the model's window, in tokens", _count),
            Setting("reserve", "what is kept free for the reply, in tokens", _count),
            Setting("limits.seconds", "seconds of the processor that a build may take", _number),
            Setting("limits.steps", "steps that a build may take", _count),
            Setting("limits.output", "characters that a build may make", _count),
            Setting("logging", "whether what is said in `ask` and `chat` is kept in the log", _switch, default=True),
        )
    }
)
"""The plain settings by name."""

TABLES: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"aliases.models": _text, "aliases.cards": _path, "providers": _address}
)
"""The tables whose names the user gives, and how their values are read."""


class UserSettings:
    """The settings of one file and one environment.

    ``document`` is what the file holds, ``path`` where it is, which need not exist. Values are read when they are asked for, so
    that a mistake in one setting stops only who wants that setting; names are checked at once.
    """

    def __init__(
        self, document: Mapping[str, Any], path: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.path = path or config_file(environ)
        self.environ = environ
        self.entries = dict(self._checked(document))

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ, path: Path | None = None) -> UserSettings:
        """The settings of the configuration file; none where there is no file.

        Raises:
            FormatError: it is not TOML; with line and column.
            UnknownNameError: it has a name that is no setting; the nearest is offered.
        """
        where = path or config_file(environ)
        return cls(parse(content(where), where), where, environ)

    def value(self, name: str, option: Any = None) -> SettingValue:
        """The value of a setting: what ``option`` says unless that is None or empty, else the rule of this module.

        Raises:
            UnknownNameError: there is no such setting.
            ConfigError: the value that counts cannot be one.
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
        """The value alone; see `value`."""
        return self.value(name, option).value

    def table(self, name: str) -> dict[str, Any]:
        """One of `TABLES`, as the file has it."""
        start = f"{name}."
        names = [entry for entry in self.entries if entry.startswith(start)]
        return {entry.removeprefix(start): self._own(TABLES[name], entry) for entry in names}

    def values(self) -> Iterator[SettingValue]:
        """All settings in their order, then what the tables hold."""
        for name in SETTINGS:
            yield self.value(name)
        for table in TABLES:
            for name, value in self.table(table).items():
                yield SettingValue(f"{table}.{name}", value, "file", str(self.path))

    def address(self, name: str) -> str:
        """The address that a provider's name stands for; an address is one already. Raises `UnknownNameError`."""
        if "://" in name:
            return name
        known = {**PROVIDERS, **self.table("providers")}
        if name not in known:
            raise UnknownNameError("provider", name, known)
        return str(known[name])

    def card(self, name: str) -> str:
        """The file that a word of the command line means: an alias's, unless there is a file of that name."""
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
    """The setting of this name. Raises `UnknownNameError`, which offers the nearest."""
    if name not in SETTINGS:
        hint = "keys are stored apart: innkeeper keys set NAME" if "key" in name.lower() else None
        raise UnknownNameError("setting", name, SETTINGS, **({"hint": hint} if hint else {}))
    return SETTINGS[name]


def reader_of(name: str) -> Callable[[Any], Any]:
    """How the value of a setting or of an entry of a table is read. Raises `UnknownNameError`."""
    for table, read in TABLES.items():
        if name.startswith(f"{table}.") and _NAME.fullmatch(name.removeprefix(f"{table}.")):
            return read
    return setting_of(name).read


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """What a configuration file holds. Raises `FormatError`."""
    if not data.strip():
        return {}
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        match = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(match[1]), int(match[2])) if match else (None, None)
        where = Where(asset=str(path), line=line, column=column)
        words = re.sub(r" \(at .*\)", "", str(error)) or type(error).__name__
        raise FormatError(f"not TOML: {words}", where=where, hint="innkeeper config edit") from None


def content(path: Path) -> bytes:
    """The bytes of a configuration file, none where there is no file. Raises `UnavailableError`, `LimitError`."""
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
    """The document's values by their dotted names. A name within a table of the user's own may have dots itself."""
    for key, value in document.items():
        name = f"{start}{key}"
        if isinstance(value, Mapping) and start.removesuffix(".") not in TABLES:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value
