"""``innkeeper examples DIR``: the cards, chats and presets that come with Innkeeper, as files of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from innkeeper.cli.app.commands import examples as lines
from innkeeper.cli.app.commands import json_option


@click.command(epilog=lines("innkeeper examples inn", 'cd inn; innkeeper ask wenna.png "Is the reef safe?"'))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
def examples(folder: Path, *, force: bool, as_json: bool) -> None:
    """Write the examples into the folder DIR, which is made: cards, a persona, a lorebook, a chat, presets."""
    written = write_examples(folder, force=force)
    if as_json:
        import json

        click.echo(json.dumps({"folder": str(folder), "files": [str(path) for path in written]}))
    else:
        click.echo(f"{len(written)} files written into {folder}; {folder / 'README.md'} says what each is")


def write_examples(folder: Path, *, force: bool = False) -> list[Path]:
    """Write the examples below a folder; the files that were written, relative to it, sorted.

    Raises:
        OutputExistsError: one of them exists; nothing is written then. ``force`` overwrites.
        UnavailableError: the examples are not there, or the folder cannot be written.
    """
    from innkeeper.cli.talk.demo import examples_dir
    from innkeeper.content import OutputExistsError
    from innkeeper.prompt import UnavailableError, Where

    source = examples_dir()
    files = sorted(
        path.relative_to(source) for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    taken = [path for path in files if (folder / path).exists()]
    if taken and not force:
        hint = "name another folder, or give --force"
        raise OutputExistsError("the file exists", where=Where(asset=str(folder / taken[0])), hint=hint)
    try:
        for path in files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((source / path).read_bytes())
    except OSError as error:
        raise UnavailableError(
            f"cannot write: {error.strerror}", where=Where(asset=str(error.filename or folder))
        ) from error
    return files
