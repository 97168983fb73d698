"""``innkeeper admin route``: explain where a request is routed, and manage the routing policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.keep.library import database_options, opened, print_table
from innkeeper.cli.keep.rows import RowKind, list_command, remove_command, set_command, show_command

if TYPE_CHECKING:
    from innkeeper.library.catalogue.catalogue import Catalogue
    from innkeeper.library.workers.states import WorkerRow


_MODALITIES: Final = click.Choice(["chat", "image", "video"])


@click.group(
    epilog=examples(
        "innkeeper admin route explain --task roleplay",
        "innkeeper admin route policy set default --criteria price --attempts 2",
    )
)
def route() -> None:
    """Show where requests are routed: to which model of the catalogue, at which provider or worker, and why not to others."""


@route.command(epilog=examples("innkeeper admin route explain --task roleplay"))
@click.option("--task", default="", help="The task: roleplay, enhancement, t2i and so on (default: any).")
@click.option("--modality", type=_MODALITIES, default="chat", show_default=True, help="What to generate.")
@click.option(
    "--tier", type=click.Choice(["sfw", "nsfw"]), default="sfw", show_default=True, help="The effective tier."
)
@click.option("--need", "needs", multiple=True, help="A required capability: tools, vision and so on; repeatable.")
@click.option("--model", help="Only this model of the catalogue.")
@click.option("--input-tokens", type=click.IntRange(0), default=0, help="Tokens of the prompt.")
@click.option("--output-tokens", type=click.IntRange(0), default=0, help="Tokens reserved for the answer.")
@click.option("--money", type=click.FloatRange(0, min_open=True), help="Maximum cost in US dollars.")
@database_options
@paged
def explain(url: str | None, *, as_json: bool, tier: str, needs: tuple[str, ...], **asked: Any) -> int:
    """Show the order in which a request would be routed, and why other deployments are excluded. Nothing is sent.

    Failures that running services have recorded are not known here: health comes from leases alone. GET /v1/routes of a
    service tells its own.

    Exits with 69 if no deployment is available.
    """
    from time import monotonic

    import msgspec

    from innkeeper.gate.tier import Tier
    from innkeeper.inference.routing.policy import policy_for
    from innkeeper.inference.routing.router import Router, RouteRequest
    from innkeeper.library.catalogue.deployments import read_policies
    from innkeeper.library.models.stores import RoutePolicyStore
    from innkeeper.library.workers.store import WorkerStore
    from innkeeper.prompt.errors import UnknownNameError, Where

    now = monotonic()
    with opened(url) as library:
        policies = read_policies(RoutePolicyStore(library.db).list())
        workers = WorkerStore(library.db).list()
        known = _deployments(str(asked["modality"]), library.catalogue, workers, now)
    models = {one.route.model for one in known}
    if asked["model"] is not None and asked["model"] not in models:
        raise UnknownNameError("model", asked["model"], models, where=Where(path="--model"))
    router = Router(known, policies)
    request = RouteRequest(tier=Tier.of(tier), needs=frozenset(needs), **asked)
    decision = router.explain(request, now)
    policy = policy_for(policies, request.modality, request.task)
    if as_json:
        print_json({"policy": msgspec.to_builtins(policy), "candidates": msgspec.to_builtins(decision)})
    else:
        headings = ("place", "deployment", "why not", "tier", "busy", "costs", "priority", "window")
        rows = [
            (it.place or "", it.deployment, it.refused, it.tier, it.busy, it.estimate, it.priority, it.context_window)
            for it in decision
        ]
        print_table(headings, rows)
        bounds = f"{policy.attempts} attempts, {policy.seconds:g} s"
        click.echo(f"policy {policy.name}: {', then '.join(policy.criteria)}; {bounds}", err=True)
    return 0 if any(not it.refused for it in decision) else _NOWHERE


_NOWHERE: Final = 69


def _deployments(modality: str, catalogue: Catalogue, workers: Iterable[WorkerRow], now: float) -> Any:
    """Return the deployments for a kind of request."""
    if modality == "chat":
        from innkeeper.inference.routing.deployment import with_embedded
        from innkeeper.library.catalogue.deployments import deployments_of

        return with_embedded(deployments_of(catalogue, workers, now))
    from innkeeper.jobs.backends.registry import backends
    from innkeeper.jobs.backends.wire import MediaWire
    from innkeeper.jobs.routing import media_deployments
    from innkeeper.prompt.machine import Secret

    known = {one.name: one for one in backends(MediaWire(), lambda _: Secret(""))}
    return media_deployments(catalogue, known, workers, now)


@click.group(
    epilog=examples("innkeeper admin route policy list", "innkeeper admin route policy set default --criteria price")
)
def policy() -> None:
    """Manage routing policies, for a task, a modality or all requests: criteria, attempts, time, money."""


POLICIES: Final = RowKind(
    "RoutePolicyStore",
    "admin route policy",
    "default",
    "policies",
    "NAME",
    {
        "name": "name",
        "modality": "modality",
        "task": "task",
        "order": "criteria",
        "attempts": "attempts",
        "seconds": "seconds",
        "money": "money",
        "lower tier": "lower_tier",
        "active": "is_active",
    },
)

policy.add_command(list_command(POLICIES, "List the policies by name."))
policy.add_command(show_command(POLICIES, "Show a policy with all its columns."))
policy.add_command(remove_command(POLICIES, "Remove the policy NAME."))
policy.add_command(
    set_command(
        POLICIES,
        "Add the policy NAME, or change the given columns.",
        click.option("--modality", type=_MODALITIES, help="Only for requests of this kind."),
        click.option("--task", help="Only for requests of this task."),
        click.option(
            "--criteria",
            multiple=True,
            type=click.Choice(["busy", "price", "priority"]),
            help="What to compare, in this order; repeatable.",
        ),
        click.option("--attempts", type=click.IntRange(1, 10), help="Maximum number of deployments to try."),
        click.option("--seconds", type=float, help="Maximum seconds until an answer begins."),
        click.option("--money", type=float, help="Maximum cost of all attempts together, in US dollars."),
    )
)
route.add_command(policy)
