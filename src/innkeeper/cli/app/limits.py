"""``innkeeper admin limits``: every named limit of the package.

``limits.json`` beside this module holds them; ``scripts/limits.py`` writes it from the sources, so that none is forgotten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged

DATA: Final = Path(__file__).with_suffix(".json")
"""The limits of this version."""


class Limit(NamedTuple):
    """One limit: its module and name, default value, what it bounds, what happens beyond it, how to set it."""

    module: str
    name: str
    value: float
    bounds: str
    beyond: str
    set: str


@click.command(epilog=examples("innkeeper admin limits patterns seconds"))
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the table as Markdown, as in the documentation.")
@click.argument("words", nargs=-1)
@json_option
@paged
def limits(words: tuple[str, ...], *, as_markdown: bool, as_json: bool) -> None:
    """List every limit: its default, what it bounds, what happens beyond it, and how to set it.

    WORDS select the lines that contain all of them: `innkeeper admin limits patterns seconds`.
    """
    import json

    listed = [Limit(**limit) for limit in json.loads(DATA.read_bytes())]
    chosen = [limit for limit in listed if all(word.lower() in " ".join(map(str, limit)).lower() for word in words)]
    if as_json:
        print_json([limit._asdict() for limit in chosen], indent=2)
    elif as_markdown:
        click.echo(markdown(chosen), nl=False)
    else:
        for limit in chosen:
            click.echo(f"{limit.name} = {_number(limit.value)}  ({limit.module})")
            click.echo(f"    {limit.bounds} Beyond it: {limit.beyond}. Set: {limit.set}.".replace("`", ""))


def markdown(limits: list[Limit]) -> str:
    """Return the limits as a Markdown table."""
    lines = ["| Limit | Default | What it bounds | Beyond it | Set |", "|---|---|---|---|---|"]
    for limit in limits:
        name = f"`{limit.name}`<br>`{limit.module.removeprefix('innkeeper.')}`"
        cells = (name, _number(limit.value), limit.bounds, limit.beyond, limit.set)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
