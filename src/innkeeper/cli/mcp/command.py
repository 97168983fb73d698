"""``innkeeper mcp``: the command that an assistant starts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from innkeeper.cli.app.commands import examples
from innkeeper.cli.settings.completion import folders


@click.command(epilog=examples("innkeeper mcp cards", "claude mcp add innkeeper -- innkeeper mcp cards"))
@click.argument("folder", default=".", type=click.Path(path_type=Path), shell_complete=folders)
def mcp(folder: Path) -> None:
    """Let an assistant build, explain and check the cards of FOLDER, over the Model Context Protocol.

    The assistant starts it and talks to it over standard input and output. It reads files of the folder, and nothing else, by
    their names in it; it writes none. FOLDER defaults to the current one.
    """
    from innkeeper.cli.mcp.folder import Folder
    from innkeeper.cli.mcp.server import serve

    opened = Folder(folder)
    if sys.stdin.isatty():
        click.echo("innkeeper: an assistant is to start this and talk to it here; Ctrl-C ends it", err=True)
    serve(opened)
