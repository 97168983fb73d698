"""``innkeeper replay``: a recorded build again, and whether it gives the same bytes."""

from __future__ import annotations

import json

import click

from innkeeper.cli.options import json_option

__all__ = ["replay"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@json_option
def replay(files: tuple[str, ...], *, as_json: bool) -> None:
    """Build recorded prompts again and compare the bytes.

    FILES are what `innkeeper build --replay-out` wrote. Exits with 65 at the first that gives another prompt than it recorded.
    """
    from innkeeper.prompt import ReplayBundle
    from innkeeper.taverns import replay as replay_bundle

    for name in files:
        bundle = ReplayBundle.read(name)
        plan = replay_bundle(bundle)
        facts = {"file": name, "same": True, "fingerprint": bundle.fingerprint, "dialect": bundle.dialect}
        words = f"{name}: same bytes, {len(plan.sent_blocks())} messages, {bundle.fingerprint[:16]}…"
        click.echo(json.dumps(facts) if as_json else words)
