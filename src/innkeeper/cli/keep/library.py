"""Shared parts of the library's commands: the database, reading files, printing answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from innkeeper.cli.app.commands import json_option
from innkeeper.prompt.typed.once import decode

if TYPE_CHECKING:
    from innkeeper.gate.tier import Ceilings
    from innkeeper.library.library import Library
    from innkeeper.library.options import Options


F = TypeVar("F", bound=Callable[..., Any])

STDIO: Final = "-"
"""The name of a file that stands for standard input or output."""

_WIDE: Final = 9


def database_options(command: F) -> F:
    """Add ``--database`` (as ``url``) and ``--json`` to a command."""
    text = "The library's database: a file or a URL; $INNKEEPER_DATABASE_URL, else a file in Innkeeper's folder."
    return json_option(click.option("--database", "url", metavar="URL|PATH", help=text)(command))


def who_option(command: F) -> F:
    """Add ``--who`` to a command; it is never empty, since the history needs a name."""
    text = "Who does this, for the history; your name on this machine where left out."
    return click.option("--who", callback=_who, help=text)(command)


def _who(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
    if value is None:
        from getpass import getuser

        try:
            return getuser()
        except (KeyError, OSError):  # a number without a name, as in a container
            return f"user {os.getuid()}" if hasattr(os, "getuid") else "somebody"
    if not value.strip():
        raise click.BadParameter("a name is needed")
    return value.strip()


def audience_options(command: F) -> F:
    """Add the requested tier and the age record to a command."""
    command = click.option(
        "--age-record",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A verifier's JSON record of the account: verified, method, expiry, verifier.",
    )(command)
    text = "The tier asked for (sfw, nsfw). What is granted depends on the operator's policy and the age record."
    return click.option("--content-mode", default="sfw", show_default=True, help=text)(command)


@contextmanager
def opened(url: str | None, **options: Any) -> Iterator[Library]:
    """Open the library for one command, without watching it in the background."""
    from innkeeper.library.library import Library

    chosen: Options = {"watch": False, **options}  # type: ignore[typeddict-item]
    with Library.open(url, **chosen) as library:
        yield library


def ceilings(library: Library, age_record: Path | None, **more: Any) -> Ceilings:
    """Return the ceilings of the person at the terminal: the account's according to the age record."""
    import msgspec

    from innkeeper.gate.gate import AgeVerification, account_ceiling
    from innkeeper.gate.tier import Ceilings
    from innkeeper.prompt.errors import FormatError, Where

    record = None
    if age_record is not None:
        try:
            record = decode(read_bytes(age_record), AgeVerification)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise FormatError(f"not an age record: {error}", where=Where(asset=str(age_record))) from error
    return Ceilings(account=account_ceiling(record, library.outside.now().now), **more)


# ------------------------------------------------------------------------------------------------------------------ reading


def read_bytes(path: Path | str) -> bytes:
    """Read a file, or standard input for `STDIO`. Raises `MissingFileError`."""
    from innkeeper.content.errors import MissingFileError
    from innkeeper.prompt.errors import Where

    if str(path) == STDIO:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MissingFileError(f"cannot read {str(path)!r}: {error.strerror}", where=Where(asset=str(path))) from error


def read_text(path: Path | str) -> str:
    """Read a file or standard input as text. Raises `MissingFileError`, `FormatError`."""
    from innkeeper.prompt.errors import FormatError, Where

    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("the text is not UTF-8", where=Where(asset=str(path))) from error


def pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """Read ``NAME=VALUE`` words as a mapping. Raises `click.UsageError`."""
    values: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise click.UsageError(f"{option} takes NAME=VALUE, not {word[:60]!r}")
        values[name] = value
    return values


def values_of(words: Sequence[str], path: Path | None) -> dict[str, Any]:
    """Read values for variables from a JSON or YAML file, then from the command line. Raises `TransferError`."""
    values: dict[str, Any] = {}
    if path is not None:
        from innkeeper.library.errors import TransferError
        from innkeeper.library.transfer.format import read_tree

        tree, positions = read_tree(read_bytes(path), asset=str(path))
        if not isinstance(tree, Mapping):
            raise TransferError("values are an object: a value for each name", where=positions(()))
        values = dict(tree)
    return values | pairs(words, "--value")


# ------------------------------------------------------------------------------------------------------------------ showing


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; with too many columns for a screen, one line per value."""
    from innkeeper.cli.app.screen import Grid, GridColumn, Screen

    wide = len(columns) > _WIDE
    table = Grid(*(GridColumn(name) for name in (("", "") if wide else columns)), headed=False)
    for row in rows:
        cells = [_shown(value) for value in row]
        if not wide:
            table.add(*cells)
            continue
        for name, cell in zip(columns, cells, strict=True):
            table.add(name, cell)
        table.add()
    Screen(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 160)).grid(table)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_shown, value))
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)
    return "".join(sign if sign == "\n" or sign.isprintable() else ascii(sign)[1:-1] for sign in text)
