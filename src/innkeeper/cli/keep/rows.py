"""Rows on the command line: commands that list, show, set and remove them, and values for their columns.

A group of commands defines its `RowKind`; `list_command`, `show_command`, `set_command` and `remove_command` build the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.keep.library import database_options, opened, pairs, print_table, read_bytes, who_option

if TYPE_CHECKING:
    from sqlalchemy import Table

    from innkeeper.library.library import Library
    from innkeeper.library.models.stores import RowStore


Decorator = Callable[[Any], Any]


class RowKind(NamedTuple):
    """One kind of rows.

    ``store`` is a class of `innkeeper.library.models.stores`, ``plural`` the key of a list in JSON, ``argument`` the name of a
    row's key in the help, ``group`` the commands' group and ``example`` a key in their examples; ``headings`` are the columns
    of a list by their headings.
    """

    store: str
    group: str
    example: str
    plural: str
    argument: str
    headings: Mapping[str, str]

    def rows(self, library: Library) -> RowStore[Any]:
        """Return the rows of a library."""
        store: RowStore[Any] = getattr(import_module("innkeeper.library.models.stores"), self.store)(library.db)
        return store


def list_command(kind: RowKind, text: str, *filters: Decorator) -> click.Command:
    """Return the command ``list``, which prints the rows that pass the filters."""

    def run(url: str | None, *, as_json: bool, **where: Any) -> None:
        with opened(url) as library:
            rows = kind.rows(library).list(**{name: value for name, value in where.items() if value is not None})
        if as_json:
            print_json({kind.plural: [row.to_dict() for row in rows]})
        else:
            print_table(list(kind.headings), [[getattr(row, name) for name in kind.headings.values()] for row in rows])

    return _command("list", text, run, f"{kind.group} list", *filters)


def show_command(
    kind: RowKind, text: str, *, more: Callable[[Library, Any], Mapping[str, Any]] = lambda _library, _row: {}
) -> click.Command:
    """Return the command ``show``, which prints one row with all its columns and the fields that ``more`` adds."""

    def run(key: str, url: str | None, *, as_json: bool) -> None:
        with opened(url) as library:
            store = kind.rows(library)
            with near(store, key):
                row = store.get(key)
            facts = {**row.to_dict(), **more(library, row)}
        print_json(facts) if as_json else print_table(("", ""), facts.items())

    return _command(
        "show", text, run, f"{kind.group} show {kind.example}", click.argument("key", metavar=kind.argument)
    )


def set_command(
    kind: RowKind,
    text: str,
    *options: Decorator,
    resolve: Callable[[Library, dict[str, Any]], None] = lambda _library, _values: None,
) -> click.Command:
    """Return the command ``set``, which adds or changes a row. ``options`` are columns; ``resolve`` may replace columns."""

    def run(
        key: str, url: str | None, *, words: tuple[str, ...], path: Path | None, who: str, as_json: bool, **more: Any
    ) -> None:
        from innkeeper.library.models import stores

        store: type[RowStore[Any]] = getattr(stores, kind.store)
        columns = {name: (list(value) or None) if isinstance(value, tuple) else value for name, value in more.items()}
        values = row_values(store.table, words, path, **columns)
        with opened(url) as library, library.db.publishing():
            resolve(library, values)
            row = kind.rows(library).put({**values, store.key: key}, who=who)
        print_json(row.to_dict()) if as_json else click.echo(f"{key}: saved.")

    example = f"{kind.group} set {kind.example} --file row.json"
    return _command(
        "set", text, run, example, click.argument("key", metavar=kind.argument), *options, set_option, who_option
    )


def remove_command(kind: RowKind, text: str, *, done: str = "removed") -> click.Command:
    """Return the command ``remove``, which deletes one row."""

    def run(key: str, url: str | None, *, who: str, as_json: bool) -> None:
        with opened(url) as library:
            store = kind.rows(library)
            with near(store, key):
                store.remove(key, who=who)
        print_json({store.key: key, done: True}) if as_json else click.echo(f"{key}: {done}.")

    return _command(
        "remove",
        text,
        run,
        f"{kind.group} remove {kind.example}",
        click.argument("key", metavar=kind.argument),
        who_option,
    )


def _command(name: str, text: str, run: Any, example: str, *decorators: Decorator) -> click.Command:
    """Return a command with these arguments and options, in order, and those of every command on a database."""
    for decorate in (database_options, *reversed(decorators)):
        run = decorate(run)
    return click.command(name, help=text, epilog=examples(f"innkeeper {example}"))(paged(run))


@contextmanager
def near(store: RowStore[Any], key: str) -> Iterator[None]:
    """Suggest near keys in the error about an unknown row."""
    from innkeeper.library.errors import suggesting

    with suggesting(key, lambda: (getattr(row, store.key) for row in store.list())):
        yield


def row_values(table: Table, words: tuple[str, ...], path: Path | None = None, **columns: Any) -> dict[str, Any]:
    """Return values for a row from a file (an object), then ``COLUMN=VALUE`` words, then ``columns`` that are not None.

    A word's value is read by the type of its column: JSON, numbers and truth values as such; an empty one is NULL if allowed.

    Raises:
        UnknownNameError: no such column; with near names.
        TransferError, FormatError: a value cannot be read.
    """
    values: dict[str, Any] = dict(object_of(path)) if path is not None else {}
    for name in values:
        _known(table, name)
    values |= {name: _read(table, name, word) for name, word in pairs(words, "--set").items()}
    return values | {name: value for name, value in columns.items() if value is not None}


def object_of(path: Path) -> Mapping[str, Any]:
    """Read the object in a JSON or YAML file (-: standard input). Raises `TransferError`, with line and column."""
    from innkeeper.library.errors import TransferError
    from innkeeper.library.transfer.format import read_tree

    tree, positions = read_tree(read_bytes(path), asset="<stdin>" if str(path) == "-" else str(path))
    if not isinstance(tree, Mapping):
        raise TransferError("an object is needed: a value for each name", where=positions(()))
    return tree


def _known(table: Table, name: str) -> None:
    from innkeeper.prompt.errors import UnknownNameError

    if name not in table.c:
        raise UnknownNameError("column", name, [column.name for column in table.c])


def _read(table: Table, name: str, word: str) -> Any:
    from sqlalchemy import types

    _known(table, name)
    column = table.c[name]
    if word == "" and column.nullable:
        return None
    if isinstance(column.type, (types.JSON, types.Boolean, types.Numeric, types.Integer)):
        return json_value(name, word, table.name)
    return word


def json_value(name: str, word: str, asset: str | None = None) -> Any:
    """Read a word as JSON. Raises `FormatError`, which names the column."""
    from innkeeper.prompt.errors import FormatError, Where

    try:
        return json.loads(word)
    except ValueError as error:
        hint = "the value is JSON: a number, true, false, an object in quotes of the shell"
        message = f"{name} cannot be read: {error}"
        raise FormatError(message, where=Where(asset=asset, path=name), hint=hint) from error


def set_option(command: Any) -> Any:
    """Add ``--set`` (as ``words``) and ``--file`` (as ``path``) to a command."""
    command = click.option(
        "--file", "path", type=click.Path(path_type=Path), help="Columns in a JSON or YAML file (-: standard input)."
    )(command)
    return click.option(
        "--set",
        "words",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="A column; repeatable. The value is JSON if the column is.",
    )(command)
