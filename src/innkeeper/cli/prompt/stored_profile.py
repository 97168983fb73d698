"""Profiles in the library's database: `innkeeper profile` with ``--stored``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from innkeeper.cli.app.commands import examples, json_option, print_result
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.library.profiles import StoredProfiles
    from innkeeper.taverns.profiles.opened import OpenProfile


F = TypeVar("F", bound=Callable[..., Any])


def _database_option(command: F) -> F:
    text = "The library's database: a file or a URL; $INNKEEPER_DATABASE_URL, else a file in Innkeeper's folder."
    return click.option("--database", "url", metavar="URL|PATH", help=text)(command)


def stored_options(command: F) -> F:
    """Add ``--stored``, and ``--database`` as ``url``, to a command."""
    text = "In the library's database, in place of a folder."
    return click.option("--stored", is_flag=True, help=text)(_database_option(command))


def owner_options(command: F) -> F:
    """Add ``--tenant`` and ``--owner`` to a command."""
    tenant = click.option(
        "--tenant",
        default="",
        metavar="NAME",
        help="For stored profiles: the tenant whose keys may call it (default: any).",
    )
    owner = click.option(
        "--owner", default="", metavar="NAME", help="For stored profiles: the only key that may call it (default: any)."
    )
    return tenant(owner(command))


@contextmanager
def _store(url: str | None) -> Iterator[StoredProfiles]:
    from innkeeper.lazy import require

    require("sqlalchemy")
    from innkeeper.library.db.engine import Database
    from innkeeper.library.profiles import StoredProfiles

    with Database.open(url) as db:
        yield StoredProfiles(db)


def put(url: str | None, *, force: bool, **fields: Any) -> None:
    """Store a profile. Raises as `StoredProfiles.put`."""
    from innkeeper.library.profiles import StoredProfile

    with _store(url) as store:
        store.put(StoredProfile(**fields), replace=force)


def stored_profile(name: str, url: str | None) -> OpenProfile:
    """Open a stored profile. Raises as `StoredProfiles.get` and `StoredProfile.opened`."""
    with _store(url) as store:
        return store.get(name).opened()


def stored_rows(url: str | None) -> list[dict[str, Any]]:
    """Return the rows of stored profiles in the list."""
    with _store(url) as store:
        return [row._asdict() for row in store.all()]


@click.command("import", epilog=examples("innkeeper profile import ./wenna"))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@owner_options
@_database_option
@click.option("--force", is_flag=True, help="Replace a stored profile of the same name.")
@json_option
def import_(folder: Path, url: str | None, *, tenant: str, owner: str, force: bool, as_json: bool) -> None:
    """Store the profile in FOLDER in the library's database."""
    from innkeeper.library.profiles import folder_profile

    stored = folder_profile(folder, tenant=tenant, owner=owner)
    with _store(url) as store:
        row = store.put(stored, replace=force)
    words = f"stored {row.name} and {count_of(len(stored.files), 'file')}; innkeeper serve --stored-profiles"
    print_result(row._asdict(), words, as_json=as_json)


@click.command("export", epilog=examples("innkeeper profile export wenna ./wenna"))
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_database_option
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
def export(name: str, folder: Path, url: str | None, *, force: bool, as_json: bool) -> None:
    """Write the stored profile NAME to FOLDER."""
    from innkeeper.library.profiles import write_folder

    with _store(url) as store:
        files = write_folder(store.get(name), folder, force=force)
    facts = {"name": name, "folder": str(folder), "files": [*files]}
    print_result(facts, f"wrote {count_of(len(files), 'file')} to {folder}", as_json=as_json)


@click.command("remove", epilog=examples("innkeeper profile remove wenna"))
@click.argument("name")
@_database_option
@json_option
def remove(name: str, url: str | None, *, as_json: bool) -> None:
    """Remove the stored profile NAME."""
    with _store(url) as store:
        store.remove(name)
    print_result({"removed": name}, f"removed {name}", as_json=as_json)


COMMANDS = (import_, export, remove)
"""The commands of `innkeeper profile` that exist for stored profiles only."""
