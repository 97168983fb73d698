"""``innkeeper admin backup`` and ``restore``: everything that is kept on this machine, as one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.progress import progress
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.library.transfer.state import StatePaths


def _paths(*, with_models: bool) -> StatePaths:
    from innkeeper.inference.local.weights import models_dir
    from innkeeper.library.db.connection import find_target
    from innkeeper.library.transfer.state import StatePaths
    from innkeeper.library.vault.keys import FILE_NAME, FileKeys, find_keys
    from innkeeper.prompt.machine import config_file, home

    keys, assets = find_keys(), os.environ.get("INNKEEPER_ASSETS", "")
    return StatePaths(
        files={
            "config.toml": config_file(),
            "vault.key": keys.path if isinstance(keys, FileKeys) else home() / FILE_NAME,
        },
        folders={
            "home": home(),
            "assets": Path(assets).expanduser() if assets and "://" not in assets else home() / "assets",
        },
        library=find_target(),
        excluded=() if with_models else (models_dir(),),
    )


def _left_out(*, with_models: bool) -> Iterator[str]:
    """Yield what an archive of this machine cannot or does not hold."""
    from innkeeper.cli.settings.keys import KeyStore
    from innkeeper.inference.local.weights import models_dir
    from innkeeper.library.vault.keys import FileKeys, find_keys

    if not isinstance(find_keys(), FileKeys):
        yield f"the vault's key: it is in {find_keys().location}"
    for key in KeyStore().list():
        if not key.place.endswith("keys.json"):
            yield f"the key {key.name}: it is in {key.place}"
    if not with_models and any(models_dir().glob("*")):
        yield f"models: {models_dir()} (--with-models takes them along)"
    if "://" in (assets := os.environ.get("INNKEEPER_ASSETS", "")):
        yield f"pictures and videos: they are at {assets}"


@click.command(epilog=examples("innkeeper admin backup monday.zip"))
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--with-models", is_flag=True, help="Take the weights of models along.")
@json_option
def backup(path: Path, *, with_models: bool, as_json: bool) -> None:
    """Write everything that is kept into FILE, and verify it: settings, keys, the vault's key, log, library, profiles, pictures.

    Others may go on writing. FILE can be read by you alone: who has it has your keys. What is not in it is named.
    """
    from innkeeper.library.transfer.state import back_up_state

    paths, left_out = _paths(with_models=with_models), tuple(_left_out(with_models=with_models))
    total = sum(source.stat().st_size for _, source in paths.sources())
    with progress("bytes", total, quiet=as_json) as step:
        manifest = back_up_state(path, paths, left_out=left_out, progress=step)
    if as_json:
        print_json(
            {"path": str(path), "files": len(manifest.members), "size": path.stat().st_size, "left_out": left_out}
        )
        return
    click.echo(f"{path}: {count_of(len(manifest.members), 'file')}, {path.stat().st_size:,} bytes, verified.")
    for text in left_out:
        click.echo(f"left out: {text}", err=True)


@click.command(epilog=examples("innkeeper admin restore monday.zip"))
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def restore(path: Path, *, as_json: bool) -> None:
    """Put everything of the backup FILE back where it belongs, all or nothing. Nothing that exists is written over."""
    from innkeeper.library.transfer.state import restore_state, verify_state

    with progress("bytes", sum(member.size for member in verify_state(path).members.values()), quiet=as_json) as step:
        manifest = restore_state(path, _paths(with_models=True), progress=step)
    if as_json:
        print_json({"path": str(path), "files": len(manifest.members), "left_out": manifest.left_out})
        return
    click.echo(f"{path}: {count_of(len(manifest.members), 'file')} restored.")
    for text in manifest.left_out:
        click.echo(f"not in the backup: {text}", err=True)
