"""Calling: call one of the requirement document's functions with a body, in this process or at a service.

Both run the same code: the command prints what a service answers over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from innkeeper.cli.app.commands import print_json
from innkeeper.cli.keep.library import audience_options, database_options

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.operations.operation import Operation
    from innkeeper.service.guard.grants import Grant


F = TypeVar("F", bound=Callable[..., Any])

SECONDS: Final = 600.0
"""Seconds to wait for the answer of a service."""

_PATHS: Final[Mapping[str, str]] = MappingProxyType({"compose-scene": "/v1/scenes:compose"})
"""Paths of tasks for which the document has no function."""

_FAILED: Final = 65
_BAD: Final = 400
_UNAVAILABLE: Final = 69


def task_options(command: F) -> F:
    """Add the common options of tasks: the service, the tier, strictness and maximum cost."""
    for option in (
        click.option("--max-cost", type=click.FloatRange(0), help="Maximum cost in US dollars."),
        click.option("--strict", is_flag=True, help="Treat a degraded answer as an error."),
        click.option("--remote", metavar="URL", help="Send the request to the service at this address."),
    ):
        command = option(command)
    return audience_options(database_options(command))


def called(function: str, body: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Return the answer of a function to a body without its None fields. ``options`` are those of `task_options`.

    Raises the function's errors; for a service `UsageError`, `ProviderError` or `UnavailableError` by its status.
    """
    terms = {"strict": options["strict"] or None, "max_cost": options["max_cost"]}
    sent = {**body, "contentType": options["content_mode"], **terms}
    sent = {name: value for name, value in sent.items() if value is not None}
    if options["remote"]:
        return there(options["remote"].rstrip("/") + _PATHS.get(function, f"/functions/v1/{function}"), sent)
    return asyncio.run(_here(function, sent, options["url"], options["age_record"]))


async def _here(function: str, body: Mapping[str, Any], url: str | None, age_record: Path | None) -> dict[str, Any]:
    from innkeeper.operations.tasks.execution import TextTasks
    from innkeeper.service.guard.work import CallRecord, Gate, Ticket
    from innkeeper.service.operations.library import SharedLibrary
    from innkeeper.service.operations.scope import CallScope, Resources
    from innkeeper.service.settings import Settings
    from innkeeper.service.workers.routing import LibraryRouting

    settings = Settings(database=url)
    shared = SharedLibrary(settings, watch=False)
    routing = LibraryRouting(settings, library=shared)
    try:
        library = shared.get()
        await routing.refresh()
        ticket = Ticket(Gate(calls=1, volume=settings.max_body), "", CallRecord())
        ticket.grant = _grant(library, age_record)
        tasks = TextTasks(library, routing.routed)

        async def opened() -> TextTasks:
            return tasks

        with _pictures(library) as media:
            return dict(await _operation(function)(body, CallScope(ticket, Resources(opened, media))))
    finally:
        await routing.close()
        shared.close()


def _operation(name: str) -> Operation[Any, Any]:
    from innkeeper.operations.scenes.operations import COMPOSE, GENERATE
    from innkeeper.operations.tasks.character import SUGGEST
    from innkeeper.operations.tasks.prompts import ENHANCE
    from innkeeper.operations.turns import CHAT, ROLEPLAY

    operations: dict[str, Operation[Any, Any]] = {
        "enhance-prompt": ENHANCE,
        "playground-chat": CHAT,
        "roleplay-chat": ROLEPLAY,
        "character-suggestions": SUGGEST,
        "generate-scene": GENERATE,
        "compose-scene": COMPOSE,
    }
    return operations[name]


@contextmanager
def _pictures(library: Any) -> Iterator[Callable[[], MediaJobs]]:
    """Opens the jobs that generate pictures on demand."""
    opened: list[MediaJobs] = []

    def media() -> MediaJobs:
        from innkeeper.jobs.media_jobs import MediaJobs

        opened.append(MediaJobs(library))
        return opened[-1]

    try:
        yield media
    finally:
        for jobs in opened:
            jobs.wire.close()


def _grant(library: Any, age_record: Path | None) -> Grant:
    from innkeeper.cli.keep.library import ceilings
    from innkeeper.gate.tier import Tier
    from innkeeper.service.guard.grants import Grant

    account = ceilings(library, age_record).account
    return Grant(tier="nsfw" if account is Tier.NSFW else "sfw")


def there(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a service to a body. Raises `UsageError`, `ProviderError` or `UnavailableError` by its status."""
    from innkeeper.service.client import exchange, key_headers

    status, reply = exchange("POST", url, key_headers({}, os.environ), timeout=SECONDS, json=dict(body))
    try:
        answer = json.loads(reply)
    except (ValueError, RecursionError):
        answer = None
    if status and status < _BAD and isinstance(answer, dict):
        return answer
    raise _remote_failed(url, status, answer)


def _remote_failed(url: str, status: int, answer: Any) -> Exception:
    """Return our error for a service's error answer."""
    from innkeeper.prompt.errors import ProviderError, UnavailableError, UsageError

    reply = answer if isinstance(answer, Mapping) else {}
    words = str(reply.get("error") or reply.get("message") or f"status {status}")
    if not status:
        return UnavailableError(f"no service answers at {url}: {words}", hint="start one: innkeeper serve")
    hint = reply.get("hint") if isinstance(reply.get("hint"), str) else None
    kind = UsageError if status < 500 else ProviderError  # noqa: PLR2004 - the statuses of a server's own errors
    return kind(words, hint=hint, code=reply.get("code"))


def shown(answer: Mapping[str, Any], text: str | None, as_json: bool) -> int:  # noqa: FBT001 - our own call only
    """Print the text of an answer, with its reasons for degradation on stderr, or all of it as JSON; return the exit code."""
    if as_json:
        print_json(answer)
    else:
        click.echo(text or "")
        for reason in answer.get("reasons") or ():
            click.echo(f"makeshift: {reason}", err=True)
    return 0 if answer.get("success", True) else _FAILED
