"""``innkeeper admin worker``: invitations for workers, and their states."""

from __future__ import annotations

from typing import Final

import click

from innkeeper.cli.app.commands import CommandEntry, LazyGroup, examples, print_json
from innkeeper.cli.keep.library import database_options, opened, print_table, who_option

_HEADINGS: Final = ("id", "kind", "url", "state", "lease_seconds", "priority", "tier_ceiling", "reason")


@click.group(
    cls=LazyGroup,
    entries={"run": CommandEntry("innkeeper.cli.run.worker:run", "Run a worker on this machine.")},
    epilog=examples("innkeeper admin worker invite", "innkeeper admin worker run", "innkeeper admin worker list"),
)
def worker() -> None:
    """Run a worker, and manage those that execute requests for services: invite, drain, release, remove."""


@worker.command(epilog=examples("innkeeper admin worker invite --host 10.0.0.0/8"))
@click.option(
    "--host", "hosts", multiple=True, help="A private network or host where it may run: 10.0.0.0/8, gpu.lan and so on."
)
@click.option("--tier", type=click.Choice(["sfw", "nsfw"]), default="sfw", show_default=True, help="Its highest tier.")
@click.option("--priority", type=int, default=0, show_default=True, help="Lower is tried first.")
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    help="How long the invitation is valid.",
)
@who_option
@database_options
def invite(
    url: str | None, *, hosts: tuple[str, ...], tier: str, priority: int, minutes: float, who: str, as_json: bool
) -> None:
    """Create an invitation that enrols one worker, once. It is shown only now."""
    from innkeeper.gate.tier import Tier
    from innkeeper.inference.client.egress import Egress
    from innkeeper.library.workers.store import WorkerStore

    Egress(hosts)
    with opened(url) as library:
        store = WorkerStore(library.db)
        token = store.invite(hosts=hosts, tier=Tier.of(tier), priority=priority, minutes=minutes, who=who)
    print_json({"invitation": token, "minutes": minutes}) if as_json else click.echo(token)


@worker.command("list", epilog=examples("innkeeper admin worker list"))
@database_options
def list_workers(url: str | None, *, as_json: bool) -> None:
    """List the workers by age. A lease of 0 seconds has ended."""
    from innkeeper.library.workers.store import WorkerStore

    with opened(url) as library:
        rows = WorkerStore(library.db).list()
    if as_json:
        print_json({"workers": [row.to_dict() for row in rows]})
    else:
        print_table(_HEADINGS, [[getattr(row, name) for name in _HEADINGS] for row in rows])


@worker.command(epilog=examples("innkeeper admin worker drain 01ABC"))
@click.argument("worker_id", metavar="ID")
@who_option
@database_options
def drain(worker_id: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Let a worker finish its requests, and send it no new ones."""
    _move(worker_id, url, "draining", who, as_json=as_json)


@worker.command(epilog=examples("innkeeper admin worker release 01ABC"))
@click.argument("worker_id", metavar="ID")
@who_option
@database_options
def release(worker_id: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Release a worker from quarantine or draining; it rejoins with its next heartbeat."""
    _move(worker_id, url, "dead", who, as_json=as_json)


@worker.command(epilog=examples("innkeeper admin worker remove 01ABC"))
@click.argument("worker_id", metavar="ID")
@who_option
@database_options
def remove(worker_id: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Remove a worker and invalidate its token."""
    from innkeeper.library.workers.store import WorkerStore

    with opened(url) as library:
        WorkerStore(library.db).remove(worker_id, who=who)
    print_json({"id": worker_id, "removed": True}) if as_json else click.echo(f"{worker_id}: removed.")


def _move(worker_id: str, url: str | None, state: str, who: str, *, as_json: bool) -> None:
    from innkeeper.library.workers.states import WorkerState
    from innkeeper.library.workers.store import WorkerStore

    with opened(url) as library:
        WorkerStore(library.db).move(worker_id, WorkerState(state), who=who)
    print_json({"id": worker_id, "state": state}) if as_json else click.echo(f"{worker_id}: {state}.")
