"""``innkeeper cache``: what a provider's prefix cache would do for the turns of a chat."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.prompt.asset_options import asset_options, turn_options
from innkeeper.cli.prompt.turn_report import print_report, report_options
from innkeeper.cli.settings import completion

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Plan
    from innkeeper.taverns.cache_simulation import CacheSimulation


@click.group(
    epilog=examples(
        "innkeeper cache plan monday.json tuesday.json --provider anthropic",
        "innkeeper cache simulate wenna.png evening.jsonl --provider anthropic",
    )
)
def cache() -> None:
    """See what a provider's cache does for a chat."""


@cache.command(
    epilog=examples(
        "innkeeper cache plan monday.json tuesday.json --provider anthropic",
        "innkeeper cache plan old.preset.json new.preset.json --card wenna.png --chat wenna.chat.jsonl --provider openai",
    )
)
@click.argument("before", metavar="A", shell_complete=completion.files)
@click.argument("after", metavar="B", shell_complete=completion.files)
@asset_options
@turn_options
@click.option("--provider", metavar="NAME", default="anthropic", show_default=True, help="Whose cache.")
@click.option("--lifetime", metavar="NAME", help="One of the provider's lifetimes, such as 1h.")
@json_option
def plan(before: str, after: str, *, provider: str, lifetime: str | None, as_json: bool, **options: Any) -> None:
    """Show what a provider's cache reads, stores and costs of prompt B after prompt A was sent, and why not more.

    A and B are build requests, recorded builds, presets, cards, lorebooks, personas, chats, or profiles, as for diff.
    """
    from innkeeper.budget import cache_plan
    from innkeeper.cli.prompt.diff import plans_of

    options |= {"dialect": None}
    first, second = plans_of(((before,), options), ((after,), options))
    cached = cache_plan(second, provider, first, lifetime=lifetime)
    if as_json:
        print_json(cached.to_dict())
    else:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), (cached.table(),))


@cache.command(
    epilog=examples(
        "innkeeper cache simulate wenna.png wenna.chat.jsonl --model claude-sonnet-4-5 --provider anthropic",
        "innkeeper cache simulate evening.jsonl --card wenna.png --provider openai --svg cache.svg",
    )
)
@click.argument("files", nargs=-1, metavar="FILES...", shell_complete=completion.files)
@asset_options
@turn_options
@report_options
@click.option("--check", is_flag=True, help="Send each turn to the local model too, and show what its cache served.")
@json_option
def simulate(
    files: tuple[str, ...],
    *,
    provider: str,
    check: bool,
    plot: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Build every turn of a chat with a sliding, a stepped, a friendly and a frozen prompt; compare what a cache serves.

    FILES are a card, a chat, lorebooks, a preset, a persona, or a build request. The reusable part is how much of each prompt
    the one before begins with; what is read, and what it costs, follows the provider's rules and the catalogue's prices. With
    --check the chat is that of the local model, whose cache reports what it served of each turn, in place of --provider.
    """
    from innkeeper.cli.prompt.assets import AssetFiles
    from innkeeper.cli.prompt.build import planned
    from innkeeper.prompt import UsageError
    from innkeeper.taverns.cache_simulation import simulate_cache

    options |= {"dialect": None}
    with planned(AssetFiles.of(files, options), options) as built:
        if built.request is None:
            raise UsageError("there is nothing to simulate", hint="name a chat")
        simulation = _checked(built.request) if check else simulate_cache(built.request, provider)
    table = simulation.table()
    print_report(simulation, (table,), table.title, plot=plot, page=page, force=force, as_json=as_json)


def _checked(request: BuildRequest) -> CacheSimulation:
    """Simulate a chat with the local model, and send it every turn."""
    from innkeeper.inference.client.model_handle import open_local, served_tokens
    from innkeeper.inference.local.shared import LOCAL
    from innkeeper.taverns.cache_simulation import simulate_cache

    # other settings' prompts would be served, too, if more than the last one were known
    with closing(open_local(window=request.context_window, prompt_cache=0)) as handle:

        def serve(plan: Plan) -> int | None:
            usage = handle.answer(plan.with_(options={**plan.options, "max_tokens": 1}), lambda _: None).usage
            return served_tokens(usage)

        asked = request.with_(model=handle.model, context_window=handle.window, dialect=handle.turn.dialect)
        return simulate_cache(asked, LOCAL, handle.ports, serve=serve)
