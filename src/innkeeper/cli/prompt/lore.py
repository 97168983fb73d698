"""``innkeeper lore``: try lorebooks against a chat, with the decision about every entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import json_option
from innkeeper.cli.prompt.assets import Assets

if TYPE_CHECKING:
    from rich.table import Table

    from innkeeper.lore import LoreResult, Verdict
    from innkeeper.prompt import BuildRequest

__all__ = ["lore"]

NOBODY: Final = "Nobody"
"""The character of a scan that was given none."""


@click.group()
def lore() -> None:
    """Work with lorebooks."""


@lore.command()
@click.argument("books", nargs=-1, required=True)
@click.option("--chat", metavar="FILE", help="The chat to scan: JSON lines or JSON.")
@click.option("--message", metavar="TEXT", help="What the user says now; enough for a quick try.")
@click.option("--card", metavar="FILE", help="The character whose fields and own book take part.")
@click.option("--persona", metavar="FILE", help="Who the user is.")
@click.option("--preset", metavar="FILE", help="The preset: its window is what the budget is a share of.")
@click.option("--depth", type=int, metavar="N", help="How many messages to look back.")
@click.option("--recursive/--not-recursive", default=None, help="Whether entries can fire others.")
@click.option("--budget", type=float, metavar="PERCENT", help="The lore budget, in percent of the context.")
@click.option("--model", metavar="NAME", help="The model whose tokens are counted.")
@click.option("--seed", type=int, help="What all chance is drawn from.")
@click.option("--fired", "only_fired", is_flag=True, help="Show only what is in the prompt.")
@json_option
def test(books: tuple[str, ...], *, only_fired: bool, as_json: bool, **options: Any) -> None:
    """Scan a chat and show what fired, and for every other entry the first rule that stopped it.

    BOOKS are lorebooks, or cards with one inside; "-" is the standard input.
    """
    result = _scanned(_request(books, options))
    verdicts = [verdict for verdict in result.verdicts if verdict.fired or not only_fired]
    if as_json:
        click.echo(json.dumps({**result.to_dict(), "verdicts": [verdict.to_dict() for verdict in verdicts]}))
        return
    _show(result, verdicts)


def _request(books: tuple[str, ...], options: dict[str, Any]) -> BuildRequest:
    assets = Assets.of(books, options)
    assets.fields.setdefault("character", {"name": NOBODY, "description": ""})
    settings = {"depth": options["depth"], "recursive": options["recursive"], "budget": options["budget"]}
    changed = {name: value for name, value in settings.items() if value is not None}
    fields = {name: options[name] for name in ("message", "model", "seed")}
    request = assets.request(fields)
    return request.with_(settings={**request.settings, "wi_settings": changed}) if changed else request


def _scanned(request: BuildRequest) -> LoreResult:
    from innkeeper.taverns import silly

    plan = silly.build(request.with_(tavern="silly", step_options={"trimming": {"on_overflow": "warn"}}))
    result: LoreResult = plan.lore
    return result


def _show(result: LoreResult, verdicts: list[Verdict]) -> None:
    from innkeeper.cli.app.render import console

    out = console()
    out.print(_table(verdicts))
    full = " (used up)" if result.overflowed else ""
    out.print(f"{len(result.activated)} fired in {result.loops} passes; lore budget {result.budget:,} tokens{full}")


def _table(verdicts: list[Verdict]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from innkeeper.prompt.display import printable

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True)
    table.add_column("", no_wrap=True)
    table.add_column("book", no_wrap=True, max_width=20)
    table.add_column("entry", max_width=30)
    table.add_column("why", ratio=1)
    for verdict in sorted(verdicts, key=lambda item: not item.fired):
        style = "green" if verdict.fired else "dim"
        cells = ("in" if verdict.fired else "out", verdict.book, f"{verdict.uid} {verdict.title}", str(verdict))
        table.add_row(*(Text(printable(cell)) for cell in cells), style=style)
    return table
