"""``innkeeper cache``: the catalogue that requests are answered from, and the snapshot that stands in for the database."""

from __future__ import annotations

import click

from innkeeper.cli.library import database_options, opened, print_json, print_table

__all__ = ["cache"]


@click.group()
def cache() -> None:
    """Look at what requests are answered from, and build it anew."""


@cache.command()
@database_options
def show(url: str | None, *, as_json: bool) -> None:
    """Show the catalogue as a process reads it now, and the snapshot."""
    with opened(url) as library:
        facts = library.cache.show()
    if as_json:
        print_json(facts)
        return
    kept = facts["snapshot"]
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
            ("snapshot", kept["path"]),
            (
                "",
                kept["problem"]
                or f"revision {kept['revision']}, {kept['templates']:,} templates, {kept['content_sha256'][:16]}…",
            ),
        ],
    )


@cache.command()
@database_options
def rebuild(url: str | None, *, as_json: bool) -> None:
    """Read everything from the database and keep it as the snapshot, in its file and in the database."""
    with opened(url) as library:
        facts = library.cache.rebuild()
    if as_json:
        print_json(facts)
        return
    told = f"revision {facts['revision']}, {facts['templates']:,} templates, {facts['size']:,} bytes"
    click.echo(f"{facts['path']}: {told} (sha256 {facts['content_sha256'][:16]}…).")
    if facts["problem"]:
        click.echo(f"not kept in the database: {facts['problem']}", err=True)
