"""``innkeeper serve``: the service on this machine, until it is told to stop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.options import json_option

__all__ = ["serve"]

_PORT = 8050


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="0 takes any free one.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder with presets, characters, conversations ...")
@click.option(
    "--profile", default="fixed", show_default=True, help="fixed, or smarttavern: as the original, defects too."
)
@click.option("--key-file", type=click.Path(path_type=Path), help="Keys that callers need, one a line.")
@click.option("--cors-origin", "cors_origins", multiple=True, help="A web origin that may call. May be repeated.")
@click.option("--no-python", is_flag=True, help="Switch the {{python:...}} macro off.")
@click.option("--max-body", type=click.IntRange(1), help="Bytes of one request.")
@click.option("--max-calls", type=click.IntRange(1), help="Calls at once.")
@click.option("--time-budget", type=click.FloatRange(0, min_open=True), help="Seconds of one call.")
@json_option
def serve(*, as_json: bool, key_file: Path | None, no_python: bool, **options: Any) -> None:
    """Answer HTTP calls of prompt operations.

    A key is read from INNKEEPER_SERVICE_KEY and --key-file. Without one the service is open, and only on this machine.
    """
    import json

    from innkeeper.service import Settings
    from innkeeper.service import serve as run
    from innkeeper.service.settings import read_keys

    given = {name: value for name, value in options.items() if value is not None}
    settings = Settings(keys=read_keys(key_file, os.environ), python=not no_python, **given)

    def ready(address: str) -> None:
        words = f"Innkeeper listens on {address} ({_doors(settings)}). Ctrl-C stops it."
        click.echo(json.dumps({"listening": address, "open": not settings.keys}) if as_json else words)

    run(settings, ready)


def _doors(settings: Any) -> str:
    return "every call needs a key" if settings.keys else "open, for this machine only"
