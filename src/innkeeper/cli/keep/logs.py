"""``innkeeper logs``: what was asked and answered, in hashes, counts and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.keep.library import database_options, opened, print_json, print_table
from innkeeper.cli.keep.rows import json_row

if TYPE_CHECKING:
    from innkeeper.library.log.logs import LogStats

__all__ = ["logs"]


@click.group()
def logs() -> None:
    """Read the log: one row for every call. For other questions there is `innkeeper db query`."""


@logs.command()
@click.option(
    "--limit", type=click.IntRange(min=1, max=10_000), default=20, show_default=True, help="How many, newest first."
)
@click.option("--since", help="Only those after this: 24h, '7 days', 2026-01-15T12:00:00Z.")
@click.option("--template", "template_name", help="Only those of this template.")
@click.option("--status", type=click.Choice(["ok", "degraded", "blocked", "error"]), help="Only those that ended so.")
@click.option("--request", "request_id", help="Only that of this request.")
@database_options
def show(url: str | None, *, limit: int, since: str | None, as_json: bool, **where: str | None) -> None:
    """Show the newest calls."""
    from innkeeper.library.log.logs import LogStore, since_moment

    with opened(url) as library:
        after = None if since is None else since_moment(since, library.outside.now().now)
        wanted = {name: value for name, value in where.items() if value is not None}
        rows = LogStore(library.db).newest(limit, since=after, **wanted)
    if as_json:
        print_json({"logs": [json_row(row) for row in rows]})
        return
    print_table(
        ("when", "use case", "template", "level", "source", "tier", "tokens", "ms", "status"),
        [
            (
                row["created_at"],
                row["use_case"],
                f"{row['template_name']}@{row['template_version']}" if row["template_name"] else "",
                row["resolution_level"],
                row["template_source"],
                row["effective_tier"],
                row["input_tokens"],
                row["execution_time_ms"],
                row["error_code"] or row["status"],
            )
            for row in rows
        ],
    )


@logs.command()
@click.option(
    "--since", default="24h", show_default=True, help="Those after this: 24h, '7 days', 2026-01-15T12:00:00Z, all."
)
@database_options
def stats(url: str | None, *, since: str, as_json: bool) -> None:
    """Show how often, how fast and from where templates answered. Percentiles are exact, by nearest rank."""
    import msgspec

    from innkeeper.library.log.logs import log_stats, since_moment

    with opened(url) as library:
        after = None if since == "all" else since_moment(since, library.outside.now().now)
        everything, each = log_stats(library.db, since=after)
    if as_json:
        facts = {"all": everything, "templates": each}
        print_json({"since": after, "percentiles": "exact, nearest rank", **msgspec.to_builtins(facts, str_keys=True)})
        return
    columns = (
        "template",
        "calls",
        "from memory",
        "degraded",
        "blocked",
        "failed",
        "fallback",
        "ms p50/p95/p99",
        "tokens p50/p95",
    )
    print_table(columns, [*(_row(one.template or "(none)", one) for one in each), _row("all", everything)])


def _row(name: str, one: LogStats) -> tuple[Any, ...]:
    memory = "" if one.hit_rate is None else f"{one.hit_rate:.1%}"
    milliseconds, tokens = one.milliseconds.at, one.tokens.at
    times = "/".join(f"{milliseconds[place]:.1f}" for place in (50, 95, 99)) if milliseconds else ""
    sizes = "/".join(f"{tokens[place]:.0f}" for place in (50, 95)) if tokens else ""
    return (name, one.calls, memory, one.degraded, one.blocked, one.failed, one.fallback, times, sizes)
