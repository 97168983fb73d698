"""``innkeeper info``: where everything of a person's is kept, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from innkeeper.cli.app.commands import examples, json_option, print_result


class Location(NamedTuple):
    """A place where something is kept: its path, or only the address where it is no file of this machine."""

    name: str
    location: str
    path: Path | None

    @property
    def size(self) -> int | None:
        """Bytes, with the files that SQLite has beside a database; None where nothing is there, or it is elsewhere."""
        if self.path is None or not self.path.exists():
            return None
        if self.path.is_dir():
            return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        files = (Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {"name": self.name, "location": self.location, "size": self.size}


def locations() -> Iterator[Location]:
    """Yield every location, in the order in which a person meets them."""
    from innkeeper.cli.settings.keys import KeyStore
    from innkeeper.cli.talk.lines import history_path
    from innkeeper.cli.talk.log import log_path
    from innkeeper.inference.local.weights import models_dir
    from innkeeper.library.catalogue.library_database import snapshot_path
    from innkeeper.library.db.connection import find_target
    from innkeeper.library.vault.keys import FileKeys, find_keys
    from innkeeper.prompt.machine import config_file, home

    keys, library, assets = find_keys(), find_target(), os.environ.get("INNKEEPER_ASSETS", "")
    for name, path in (("folder", home()), ("config", config_file()), ("keys", KeyStore().path)):
        yield Location(name, str(path), path)
    yield Location("vault key", keys.location, keys.path if isinstance(keys, FileKeys) else None)
    yield Location("log", str(log_path()), log_path())
    yield Location("library", library.location, library.path)
    for name, path in (
        ("snapshot of the catalogue", snapshot_path()),
        ("models", models_dir()),
        ("profiles", home() / "profiles"),
        ("lines typed in chats", history_path()),
        ("membership of a worker", home() / "worker.json"),
    ):
        yield Location(name, str(path), path)
    folder = None if "://" in assets else Path(assets).expanduser() if assets else home() / "assets"
    yield Location("pictures and videos", str(folder or assets), folder)


def size_text(size: int | None) -> str:
    """Return a number of bytes in words; ``-`` for what is not there."""
    if size is None:
        return "-"
    power = min((len(str(size)) - 1) // 3, len(_UNITS) - 1)
    return f"{size / 1_000**power:,.0f} {_UNITS[power]}"


_UNITS: Final = ("B", "kB", "MB", "GB")


@click.command(epilog=examples("innkeeper info", "innkeeper info --json"))
@json_option
def info(*, as_json: bool) -> None:
    """Show where everything is kept, and how large it is: settings, keys, log, library, models, pictures.

    A size of "-" is of what is not there yet, or not on this machine. `innkeeper doctor` checks it all.
    """
    from innkeeper.version import VERSION

    rows = [each.to_dict() for each in locations()]
    width = max(len(row["name"]) for row in rows)
    lines = [f"{row['name']:<{width}}  {size_text(row['size']):>8}  {row['location']}" for row in rows]
    print_result({"version": VERSION, "locations": rows}, "\n".join(lines), as_json=as_json)
