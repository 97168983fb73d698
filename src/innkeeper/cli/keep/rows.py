"""Rows on the command line: values for columns, from words or a file, as their columns take them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.keep.library import pairs, read_bytes

if TYPE_CHECKING:
    from sqlalchemy import Table

__all__ = ["json_row", "object_of", "row_values", "set_option"]


def row_values(table: Table, words: tuple[str, ...], path: Path | None = None, **given: Any) -> dict[str, Any]:
    """Values for a row: those of a file (an object), then ``COLUMN=VALUE`` words, then ``given`` ones that are not None.

    A word's value is read as its column is: JSON, numbers and truth values as such; an empty one is NULL where that may be.

    Raises:
        UnknownNameError: no such column; with near names.
        TransferError, FormatError: a value that cannot be read.
    """
    found: dict[str, Any] = dict(object_of(path)) if path is not None else {}
    found |= pairs(words, "--set")
    told = pairs(words, "--set")
    values = {name: _read(table, name, told[name]) if name in told else value for name, value in found.items()}
    for name in values:
        _known(table, name)
    return values | {name: value for name, value in given.items() if value is not None}


def object_of(path: Path) -> Mapping[str, Any]:
    """The object in a JSON or YAML file (-: the input). Raises `TransferError`, with line and column."""
    from innkeeper.library.errors import TransferError
    from innkeeper.library.transfer.format import read_tree

    tree, place = read_tree(read_bytes(path), asset="<stdin>" if str(path) == "-" else str(path))
    if not isinstance(tree, Mapping):
        raise TransferError("an object is needed: a value for each name", where=place(()))
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
        return _json(table, name, word)
    return word


def _json(table: Table, name: str, word: str) -> Any:
    from innkeeper.prompt.errors import FormatError, Where

    try:
        return json.loads(word)
    except ValueError as error:
        hint = "the value is JSON: a number, true, false, an object in quotes of the shell"
        message = f"{name} cannot be read: {error}"
        raise FormatError(message, where=Where(asset=table.name, path=name), hint=hint) from error


def json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON shows it."""
    from innkeeper.prompt.frozen import thaw

    return {name: thaw(value) for name, value in row.items()}


def set_option(command: Any) -> Any:
    """Give a command ``--set`` (as ``words``) and ``--file`` (as ``path``)."""
    command = click.option(
        "--file", "path", type=click.Path(path_type=Path), help="Columns in a JSON or YAML file (-: the input)."
    )(command)
    return click.option(
        "--set",
        "words",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="A column; may be repeated. JSON where the column is.",
    )(command)
