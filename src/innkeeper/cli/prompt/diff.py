"""``innkeeper diff``: what another file would change in a prompt, with all other inputs the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.prompt.asset_options import asset_options, turn_options
from innkeeper.cli.settings import completion
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.budget import PlanDiff
    from innkeeper.prompt import Plan


@click.command(
    epilog=examples(
        "innkeeper diff old.preset.json new.preset.json --card wenna.png --chat wenna.chat.jsonl",
        "innkeeper diff monday.json tuesday.json --html difference.html",
    )
)
@click.argument("before", metavar="A", shell_complete=completion.files)
@click.argument("after", metavar="B", shell_complete=completion.files)
@asset_options
@turn_options
@click.option("--dialect", metavar="NAME", help="Build both prompts for this dialect.")
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write the difference as a page to this file.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
@paged
def diff(before: str, after: str, *, page: Path | None, force: bool, as_json: bool, **options: Any) -> int:
    """Show what differs between two prompts: blocks, words, tokens, cost, verdicts, cache. Exits with 1 if anything does.

    A and B are build requests, recorded builds, presets, cards, lorebooks, personas, chats, or profiles; options name the other
    inputs, which both prompts get.
    """
    difference = compared(((before,), options), ((after,), options))
    if page is not None:
        from innkeeper.content import save_bytes

        save_bytes(page, difference.to_html().encode("utf-8", "replace"), force=force)
        click.echo(f"wrote {page}", err=True)
    if as_json:
        print_json(difference.to_dict())
    elif page is None:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), difference.tables())
        click.echo("the same prompt" if difference.same else f"different: {count_of(len(difference.blocks), 'block')}")
    return int(not difference.same)


Side = tuple[Iterable[str], Mapping[str, Any]]
"""What a prompt is built from: files, and options as `asset_options` and `turn_options` give them."""


def compared(before: Side, after: Side) -> PlanDiff:
    """Build two prompts at one time and compare them. Raises what building raises."""
    from innkeeper.budget import plan_diff

    first, second = plans_of(before, after)
    return plan_diff(first, second)


def plans_of(*sides: Side) -> list[Plan]:
    """Build prompts at one time. Raises what building raises."""
    from innkeeper.cli.prompt.assets import AssetFiles, find_profile
    from innkeeper.cli.prompt.build import planned
    from innkeeper.prompt import utc_now

    now = utc_now().isoformat()
    plans: list[Plan] = []
    for names, options in sides:
        since, profiles = thread_time(), [name for name in names if find_profile(name) is not None]
        files = [name for name in names if name not in profiles]
        inputs = {**options, "profile": profiles[0]} if profiles else options
        with planned(AssetFiles.of(files, inputs), inputs, since=since, now=now) as plan:
            plans.append(plan)
    return plans
