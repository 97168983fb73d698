"""``innkeeper admin db``, ``cache`` and ``logs``: the database, the cached catalogue, and the log of calls.

The database: its state, schema, backups, exports, imports and queries. The cache: the catalogue that requests are answered from,
and the snapshot that replaces the database when it is down. The logs: calls, in hashes, counts and times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.app.progress import progress
from innkeeper.cli.keep.library import STDIO, database_options, opened, print_table, read_bytes, who_option
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.library.db.backup import Backup
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.logs import LogStats
    from innkeeper.library.transfer.format import Parsed, Transfer


@click.group(epilog=examples("innkeeper admin db upgrade", "innkeeper admin db backup library-monday.db"))
def db() -> None:
    """Manage the database of the library: a SQLite file, or PostgreSQL.

    It is named by --database, else by $INNKEEPER_DATABASE_URL; the default is a file in Innkeeper's folder.
    """


@db.command(epilog=examples("innkeeper admin db upgrade"))
@database_options
def upgrade(url: str | None, *, as_json: bool) -> None:
    """Create the database, or bring its schema up to date."""
    with _opened(url, upgrade=False, create=True, check=False) as library:
        before, after = library.upgrade()
        facts = {"database": library.location, "before": before, "after": after, "changed": before != after}
    if as_json:
        print_json(facts)
    elif before == after:
        click.echo(f"{facts['database']} is up to date (revision {after}).")
    else:
        click.echo(f"{facts['database']}: {'made' if before is None else f'upgraded from {before}'}, revision {after}.")


@db.command(epilog=examples("innkeeper admin db status"))
@database_options
@paged
def status(url: str | None, *, as_json: bool) -> None:
    """Show the library's location, schema, revision and row counts."""
    from innkeeper.library.db.engine import status_of

    with _opened(url, create=False, upgrade=False, check=False) as library:
        state = status_of(library)
    if as_json:
        print_json(state.to_dict())
        return
    click.echo(f"database  {state.place}")
    click.echo(
        f"schema    {state.schema}{'' if state.up_to_date else f' (upgrade to {state.head}: innkeeper admin db upgrade)'}"
    )
    click.echo(f"revision  {state.revision}")
    print_table(("table", "rows"), [(name, count) for name, count in state.rows.items() if count])


@db.command(epilog=examples("innkeeper admin db backup monday.db"))
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file.")
@database_options
def backup(path: Path, url: str | None, *, force: bool, as_json: bool) -> None:
    """Write a full backup to PATH and verify it; other processes may write meanwhile.

    From SQLite it is a copy of the database with a checksum file; from PostgreSQL it is JSON lines.
    """
    from innkeeper.library.db.backup import back_up
    from innkeeper.library.db.engine import status_of

    with (
        _opened(url, create=False) as library,
        progress("rows", sum(status_of(library).rows.values()), quiet=as_json) as step,
    ):
        written = back_up(library, path, force=force, progress=step)
    _tell_backup(written, "written", as_json=as_json)


@db.command(epilog=examples("innkeeper admin db restore monday.db --force"))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the contents of the library.")
@database_options
def restore(path: Path, url: str | None, *, force: bool, as_json: bool) -> None:
    """Replace the contents of the library with the backup PATH, atomically.

    A backup of SQLite can be restored into PostgreSQL and vice versa.
    """
    from innkeeper.library.db.backup import restore as put_back

    written = put_back(path, url, force=force)
    _tell_backup(written, "restored", as_json=as_json)


def _tell_backup(backup: Backup, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"path": backup.path, "kind": backup.kind, "sha256": backup.sha256, "size": backup.size})
    else:
        click.echo(f"{backup.path}: {done}, {backup.size:,} bytes, verified (sha256 {backup.sha256[:16]}…).")


@db.command("export", epilog=examples("innkeeper admin db export library.yaml"))
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), default=STDIO)
@click.option(
    "--form", type=click.Choice(["json", "yaml"]), help="The format (default: by PATH's extension, else JSON)."
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@database_options
def export(path: Path, form: str | None, url: str | None, *, force: bool, as_json: bool) -> None:
    """Export templates, negative prompts, providers, models, tools, policies, lists and settings to PATH or standard output.

    Equal libraries give equal bytes. What is left out is named: secrets, user data, logs (see `innkeeper admin db backup`).
    """
    from innkeeper.library.transfer.exporting import export_library, left_out

    with _opened(url, create=False) as library:
        transfer, missing = export_library(library), left_out(library)
    facts = {"left_out": [{"name": one.name, "rows": one.rows, "why": one.why} for one in missing]}
    write_transfer(path, transfer, form, force=force, as_json=as_json, **facts)
    if not as_json or str(path) == STDIO:
        for one in missing:
            click.echo(f"left out: {one.name} ({one.rows:,}): {one.why}", err=True)


def write_transfer(
    path: Path, transfer: Transfer, form: str | None, *, force: bool, as_json: bool, **more: Any
) -> None:
    """Write an export to a file, in the form of its extension where none is named, or to standard output."""
    from innkeeper.content.files.saving import save_bytes
    from innkeeper.library.transfer.format import dumps

    data = dumps(transfer, form or ("yaml" if path.suffix in {".yaml", ".yml"} else "json"))
    if str(path) == STDIO:
        sys.stdout.buffer.write(data)
        return
    save_bytes(path, data, force=force)
    facts = {"path": str(path), "templates": len(transfer.templates), "size": len(data), **more}
    print_json(facts) if as_json else click.echo(
        f"{path}: {count_of(len(transfer.templates), 'template')}, {len(data):,} bytes."
    )


@db.command("import", epilog=examples("innkeeper admin db import library.yaml --dry-run"))
@click.argument("path", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--form", type=click.Choice(["json", "yaml"]), help="The format (default: detected).")
@who_option
@click.option("--dry-run", is_flag=True, help="Report what would happen without changing anything.")
@database_options
def import_(path: Path, form: str | None, who: str, url: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Import the export PATH (`-`: standard input), completely or, on any error, not at all."""
    from innkeeper.library.transfer.format import parse

    name = "<stdin>" if str(path) == STDIO else str(path)
    parsed = parse(read_bytes(path), asset=name, form=form)
    take_in(parsed, url, who=who, dry_run=dry_run, as_json=as_json)


_COUNTS: Final = ("templates", "versions", "labels", "rows", "unchanged")


def take_in(
    parsed: Parsed, url: str | None, *, who: str, dry_run: bool, as_json: bool, counts: Sequence[str] = _COUNTS
) -> None:
    """Import a file that was read, and print how many of each were changed."""
    from innkeeper.library.transfer.importing import items_of

    with opened(url) as library, progress("rows", items_of(parsed), quiet=as_json) as step:
        done = library.authoring.take_in(parsed, who=who, dry_run=dry_run, progress=step)
    facts = {name: getattr(done, name) for name in (*counts, "dry_run")}
    if as_json:
        print_json(facts)
        return
    summary = ", ".join(f"{facts[name]:,} {name}" for name in counts)
    click.echo(f"{'would import' if dry_run else 'imported'}: {summary}.")


@db.command(epilog=examples('innkeeper admin db query "SELECT name, created_at FROM templates"'))
@click.argument("statement")
@click.option("--limit", type=click.IntRange(min=1), default=1_000, show_default=True, help="How many rows to show.")
@database_options
@paged
def query(statement: str, limit: int, url: str | None, *, as_json: bool) -> None:
    """Run one read-only SQL STATEMENT and show its rows.

    NOW() and INTERVAL '24 hours' work on SQLite as on PostgreSQL.
    """
    from innkeeper.library.db.queries import query as ask

    with _opened(url, create=False) as library:
        result = ask(library, statement, limit=limit)
    if as_json:
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
        print_json({"columns": list(result.columns), "rows": rows, "truncated": result.truncated})
        return
    print_table(result.columns, result.rows)
    click.echo(
        f"{len(result.rows):,} row{'' if len(result.rows) == 1 else 's'}{' (there are more)' if result.truncated else ''}"
    )


# ----------------------------------------------------------------------------------------------------------------- helpers


@contextmanager
def _opened(url: str | None, *, check: bool = True, create: bool = True, upgrade: bool = True) -> Iterator[Database]:
    from innkeeper.library.db.engine import Database

    with Database.open(url, check=check, create=create, upgrade=upgrade) as library:
        yield library


@click.group(epilog=examples("innkeeper admin cache show", "innkeeper admin cache rebuild"))
def cache() -> None:
    """Show or rebuild the cached catalogue that requests are answered from."""


@cache.command(epilog=examples("innkeeper admin cache show"))
@database_options
def show(url: str | None, *, as_json: bool) -> None:
    """Show the catalogue as a process reads it now, and its snapshot."""
    with opened(url) as library:
        facts = library.cache.show()
    if as_json:
        print_json(facts)
        return
    snapshot = facts["snapshot"]
    print_table(
        ("", ""),
        [
            ("revision", facts["revision"]),
            ("read from", facts["source"]),
            ("degraded", facts["degraded"] or "no"),
            (
                "templates",
                f"{facts['templates']:,} labelled: {', '.join(f'{k} {v}' for k, v in facts['labels'].items())}",
            ),
            ("negatives, models, providers", f"{facts['negatives']:,}, {facts['models']:,}, {facts['providers']:,}"),
            ("up to the tier", facts["ceiling"]),
            ("rules", f"policy {facts['rules']['policy']}, lists {facts['rules']['lexicon']}"),
            ("problems", facts["problems"] or "none"),
            ("snapshot", snapshot["path"]),
            (
                "",
                snapshot["problem"]
                or f"revision {snapshot['revision']}, {snapshot['templates']:,} templates, {snapshot['content_sha256'][:16]}…",
            ),
        ],
    )


@cache.command(epilog=examples("innkeeper admin cache rebuild"))
@database_options
def rebuild(url: str | None, *, as_json: bool) -> None:
    """Read the catalogue from the database and store it as the snapshot, in its file and in the database."""
    with opened(url) as library:
        facts = library.cache.rebuild()
    if as_json:
        print_json(facts)
        return
    summary = f"revision {facts['revision']}, {facts['templates']:,} templates, {facts['size']:,} bytes"
    click.echo(f"{facts['path']}: {summary} (sha256 {facts['content_sha256'][:16]}…).")
    if facts["problem"]:
        click.echo(f"not kept in the database: {facts['problem']}", err=True)


@click.group(epilog=examples("innkeeper admin logs list --status error", "innkeeper admin logs stats --since 24h"))
def logs() -> None:
    """Read the log, one row per call. For other queries see `innkeeper admin db query`."""


@logs.command("list", epilog=examples("innkeeper admin logs list --since 1h --status error"))
@click.option(
    "--limit", type=click.IntRange(min=1, max=10_000), default=20, show_default=True, help="How many, newest first."
)
@click.option("--since", help="Only calls after this: 24h, '7 days', 2026-01-15T12:00:00Z.")
@click.option("--template", "template_name", help="Only calls with this template.")
@click.option(
    "--status", type=click.Choice(["ok", "degraded", "blocked", "error"]), help="Only calls with this status."
)
@click.option("--request", "request_id", help="Only the call of this request.")
@database_options
@paged
def show_calls(url: str | None, *, limit: int, since: str | None, as_json: bool, **where: str | None) -> None:
    """List the newest calls."""
    from innkeeper.library.log.logs import LogStore, since_moment

    with opened(url) as library:
        after = None if since is None else since_moment(since, library.outside.now().now)
        filters: dict[str, Any] = {name: value for name, value in where.items() if value is not None}
        rows = LogStore(library.db).newest(limit, since=after, **filters)
    if as_json:
        print_json({"logs": [row.to_dict() for row in rows]})
        return
    print_table(
        ("when", "use case", "template", "level", "source", "tier", "tokens", "ms", "status"),
        [
            (
                row.created_at,
                row.use_case,
                f"{row.template_name}@{row.template_version}" if row.template_name else "",
                row.resolution_level,
                row.template_source,
                row.effective_tier,
                row.input_tokens,
                row.execution_time_ms,
                row.error_code or row.status,
            )
            for row in rows
        ],
    )


@logs.command(epilog=examples('innkeeper admin logs stats --since "7 days"'))
@click.option(
    "--since", default="24h", show_default=True, help="Only calls after this: 24h, '7 days', 2026-01-15T12:00:00Z, all."
)
@database_options
@paged
def stats(url: str | None, *, since: str, as_json: bool) -> None:
    """Show how often, how fast and from which source templates answered. Percentiles are exact, by nearest rank."""
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
    times = "/".join(f"{milliseconds[percentile]:.1f}" for percentile in (50, 95, 99)) if milliseconds else ""
    sizes = "/".join(f"{tokens[percentile]:.0f}" for percentile in (50, 95)) if tokens else ""
    return (name, one.calls, memory, one.degraded, one.blocked, one.failed, one.fallback, times, sizes)
