"""``innkeeper timeline``: a chat turn by turn: which entries were in and why, and the tokens of each group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.prompt.asset_options import asset_options, turn_options
from innkeeper.cli.settings import completion


@click.command(
    epilog=examples(
        "innkeeper timeline wenna.png wenna.chat.jsonl larks.lorebook.json",
        "innkeeper timeline evening.jsonl --card wenna.png --svg tokens.svg",
    )
)
@click.argument("files", nargs=-1, metavar="FILES...", shell_complete=completion.files)
@asset_options
@turn_options
@click.option("--provider", metavar="NAME", default="anthropic", show_default=True, help="Whose cache.")
@click.option("--svg", "plot", type=click.Path(path_type=Path), help="Draw the tokens of each turn into this file.")
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write tables and plot as a page to this file.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
@paged
def timeline(
    files: tuple[str, ...],
    *,
    provider: str,
    plot: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Build every turn of a chat; show which entries were in at which turn and why, and tokens by group.

    FILES are a card, a chat, lorebooks, a preset, a persona, or a build request. Each turn begins with what the one before left.
    Only entries that were in, or that a key or a timer brought near, are shown.
    """
    from innkeeper.cli.prompt.assets import AssetFiles
    from innkeeper.cli.prompt.build import planned
    from innkeeper.content import save_bytes
    from innkeeper.prompt import UsageError
    from innkeeper.prompt.report import html_page
    from innkeeper.taverns.timeline import timeline as timeline_of

    options |= {"dialect": None}
    with planned(AssetFiles.of(files, options), options) as built:
        if built.request is None:
            raise UsageError("there is no chat to follow", hint="name a chat")
        through = timeline_of(built.request, provider)
    tables = through.tables()
    pages = {plot: through.to_svg(), page: html_page("Timeline", tables, through.to_svg())}
    for path, text in pages.items():
        if path is not None:
            save_bytes(path, text.encode("utf-8", "replace"), force=force)
            click.echo(f"wrote {path}", err=True)
    if as_json:
        print_json(through.to_dict())
    else:
        from innkeeper.cli.app.render import console, print_tables

        print_tables(console(), tables)
