"""``innkeeper timeline``: a chat turn by turn: which entries were in and why, and the tokens of each group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from innkeeper.cli.app.commands import examples, json_option
from innkeeper.cli.app.paging import paged
from innkeeper.cli.prompt.asset_options import asset_options, turn_options
from innkeeper.cli.prompt.turn_report import print_report, report_options
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
@report_options
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
    from innkeeper.prompt import UsageError
    from innkeeper.taverns.timeline import timeline as timeline_of

    options |= {"dialect": None}
    with planned(AssetFiles.of(files, options), options) as built:
        if built.request is None:
            raise UsageError("there is no chat to follow", hint="name a chat")
        through = timeline_of(built.request, provider)
    print_report(through, through.tables(), "Timeline", plot=plot, page=page, force=force, as_json=as_json)
