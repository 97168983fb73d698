"""``innkeeper batch compare``: what differs between two outputs."""

from __future__ import annotations

import json

import click

from innkeeper.cli.app.commands import examples, json_option
from innkeeper.cli.settings import completion


@click.command(epilog=examples("innkeeper batch compare old.parquet new.parquet"))
@click.argument("before", metavar="A", shell_complete=completion.files)
@click.argument("after", metavar="B", shell_complete=completion.files)
@json_option
def compare(before: str, after: str, *, as_json: bool) -> int:
    """Compare two outputs row by row: prompts, tokens, cost, answers. Exits with 1 if any row differs.

    A and B are files that `innkeeper batch` wrote, of any kind; rows are joined by their ids.
    """
    from innkeeper.data.compare import compare_batches

    compared = compare_batches(before, after)
    if as_json:
        click.echo(json.dumps(compared.to_dict(), ensure_ascii=False))
    else:
        from innkeeper.cli.app.render import console, print_tables

        print_tables(console(), compared.tables())
    return int(bool(compared.changes))
