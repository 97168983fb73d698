"""``innkeeper config``: the configuration file, read and changed from the command line; comments in it stay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, print_json, print_result
from innkeeper.cli.app.paging import paged
from innkeeper.cli.settings.completion import setting_names, setting_values
from innkeeper.cli.settings.settings import SETTINGS, SettingValue, UserSettings, parse, reader_of
from innkeeper.prompt.errors import ConfigError, FormatError, UnavailableError, UnknownNameError, UsageError, Where
from innkeeper.prompt.machine import config_file

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


@click.group(
    epilog=examples(
        "innkeeper config set model openrouter:deepseek/deepseek-chat",
        "innkeeper config set aliases.cards.wenna ~/cards/wenna.png",
        "innkeeper config show",
    )
)
def config() -> None:
    """Set defaults for all commands: the model, its address, the tavern, the persona, aliases.

    An option wins over the environment (INNKEEPER_MODEL and so on), the environment over the file, the file over the default.
    """


@config.command(epilog=examples("innkeeper config show", "innkeeper config show model"))
@click.argument("name", required=False, shell_complete=setting_names)
@json_option
@paged
def show(name: str | None, *, as_json: bool) -> None:
    """Show every setting: its value, and where it comes from. With NAME, print that setting's value alone."""
    if name is not None:
        value = _setting(name)
        print_result(_facts(value), _shown(value.value), as_json=as_json)
        return
    values = list(UserSettings.read().values())
    if as_json:
        print_json({"path": str(config_file()), "settings": [_facts(value) for value in values]})
        return
    from innkeeper.cli.app.screen import Grid, GridColumn, Screen

    table = Grid(GridColumn("setting"), GridColumn("value"), GridColumn("from"), headed=False)
    for value in values:
        origin = f"{value.source}: {value.place}" if value.place else value.source
        table.add(value.name, _shown(value.value), origin)
    Screen().grid(table)


def _setting(name: str) -> SettingValue:
    """Return a setting with its value. Raises `UnknownNameError`."""
    settings = UserSettings.read()
    if name in SETTINGS:
        return settings.value(name)
    reader_of(name)  # raises for what is no name at all
    known = {value.name: value for value in settings.values()}
    if name not in known:
        raise UnknownNameError("setting", name, known)
    return known[name]


@config.command("set", epilog=examples("innkeeper config set model ollama:llama3.2:3b"))
@click.argument("name", shell_complete=setting_names)
@click.argument("value", shell_complete=setting_values)
@json_option
def set_(name: str, value: str, *, as_json: bool) -> None:
    """Write the setting NAME into the configuration file."""
    import tomlkit

    path = config_file()
    written = _checked(name, value)
    with _changed(path) as document:
        table: Any = document
        *tables, last = _keys(name)
        for key in tables:
            table = table.setdefault(key, tomlkit.table())
        table[last] = written
    facts = {"name": name, "value": written, "path": str(path)}
    print_result(facts, f"{name} = {_shown(written)}  ({path})", as_json=as_json)


@config.command(epilog=examples("innkeeper config remove model"))
@click.argument("name", shell_complete=setting_names)
@json_option
def remove(name: str, *, as_json: bool) -> None:
    """Remove the setting NAME from the configuration file."""
    path = config_file()
    with _changed(path) as document:
        *tables, last = _keys(name)
        table: Any = document
        for key in tables:
            table = table.get(key) or {}
        if last not in table:
            known = sorted(UserSettings(document.unwrap(), path).entries)
            raise UnknownNameError("setting", name, known, where=Where(asset=str(path)))
        del table[last]
    print_result({"name": name, "path": str(path)}, f"{name}: taken out of {path}", as_json=as_json)


@config.command(epilog=examples("innkeeper config edit"))
def edit() -> None:
    """Open the configuration file in your editor ($VISUAL or $EDITOR), then report invalid settings."""
    path = config_file()
    if not path.exists():
        _write(path, _template().encode())
    click.edit(filename=str(path))
    settings = UserSettings.read()
    for value in settings.values():
        check_known(value.name, value.value, settings.path)
    click.echo(str(path))


@config.command("path", epilog=examples("innkeeper config path"))
def path_() -> None:
    """Print the path of the configuration file, whether it exists or not."""
    click.echo(str(config_file()))


# --------------------------------------------------------------------------------------------------------------- values


def _checked(name: str, text: str) -> Any:
    """Check a value from the command line. Raises `ConfigError`, `UnknownNameError`, `UnavailableError`."""
    try:
        value = reader_of(name)(text)
    except ValueError as error:
        raise ConfigError(f"{name} is {error}, not {text!r:.60}") from None
    if isinstance(value, Path):
        if not value.exists():
            raise UnavailableError("there is no such file", where=Where(asset=text))
        return str(value.absolute())
    check_known(name, value)
    return value


def check_known(name: str, value: Any, path: Path | None = None) -> None:
    """Raise `UnknownNameError` for a value that is none of those that the setting may have."""
    setting = SETTINGS.get(name)
    if setting is not None and setting.known is not None and value is not None:
        names = list(setting.known())
        if value not in names:
            raise UnknownNameError(name, value, names, where=Where(asset=str(path)) if path else None)
    if name == "base_url" and value is not None:
        UserSettings.read().address(value)


def _facts(value: SettingValue) -> dict[str, Any]:
    plain = str(value.value) if isinstance(value.value, Path) else value.value
    return {**value._asdict(), "value": plain}


def _shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


# ----------------------------------------------------------------------------------------------------------------- file

_TABLES: Final = ("aliases.models", "aliases.cards", "providers")


def _keys(name: str) -> list[str]:
    """Return the keys that lead to a setting in the file; names in the user's own tables may contain dots."""
    reader_of(name)
    for table in _TABLES:
        if name.startswith(f"{table}."):
            return [*table.split("."), name.removeprefix(f"{table}.")]
    return name.split(".")


def _document(path: Path) -> TOMLDocument:
    """Read the file with its comments; empty if there is none. Raises as `UserSettings.read` for a broken file."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from innkeeper.cli.settings.settings import content

    data = content(path)
    parse(data, path)
    try:
        return tomlkit.parse(data.decode("utf-8-sig"))
    except TOMLKitError as error:
        raise FormatError(f"not TOML: {error}", where=Where(asset=str(path)), hint="innkeeper config edit") from None


@contextmanager
def _changed(path: Path) -> Iterator[TOMLDocument]:
    """Open the file for a change and write it afterwards; concurrent changes wait."""
    from innkeeper.content.files.private import one_writer

    with one_writer(path.resolve().parent):
        document = _document(path)
        yield document
        _save(path, document)


def _save(path: Path, document: TOMLDocument) -> None:
    data = document.as_string().encode()
    if parse(data, path) != document.unwrap():
        raise UsageError(
            "the file cannot be changed from here", where=Where(asset=str(path)), hint="innkeeper config edit"
        )
    _write(path, data)


def _write(path: Path, data: bytes) -> None:
    from innkeeper.content.files.saving import save_bytes

    target = path.resolve()  # where the file is a link into a folder of its owner's, it stays one
    target.parent.mkdir(parents=True, exist_ok=True)
    save_bytes(target, data, force=True)


def _template() -> str:
    lines = ["# What Innkeeper's commands need not be told each time. Take a # away to settle a line.", ""]
    lines += _commented(setting for setting in SETTINGS.values() if "." not in setting.name)
    for table, names in {"limits": [name for name in SETTINGS if name.startswith("limits.")]}.items():
        lines += [f"# [{table}]", *_commented((SETTINGS[name] for name in names), table)]
    lines += ["# [aliases.models]", '# fast = "openrouter:deepseek/deepseek-chat"', ""]
    lines += ["# [aliases.cards]", '# wenna = "~/cards/wenna.png"', ""]
    lines += ["# [providers]", '# mine = "https://llm.example.org"', ""]
    return "\n".join(lines)


def _commented(settings: Iterable[Any], table: str = "") -> list[str]:
    lines = []
    for setting in settings:
        name = setting.name.removeprefix(f"{table}.") if table else setting.name
        value = json.dumps(setting.default) if setting.default is not None else '""'
        lines += [f"# {setting.help}", f"# {name} = {value}", ""]
    return lines
