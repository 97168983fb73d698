"""``innkeeper image``, ``video`` and ``job``: images, videos, and the jobs that generate them, in this machine's library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.keep.library import database_options, opened, print_table
from innkeeper.jobs.limits import MAX_PRIORITY
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.jobs.job import Job
    from innkeeper.jobs.media_jobs import MediaJobs


_FAILED: Final = 69
_NICE: Final = 5
"""The nice value of a process that runs jobs, so that a service gets the processor first."""

_NAMES: Final = {"negative": "negative_prompt", "ratio": "aspect_ratio", "picture": "image"}


priority_option = click.option(
    "--priority",
    type=click.IntRange(-MAX_PRIORITY, MAX_PRIORITY),
    help="Place among your own jobs (default: 0): the highest comes first.",
)
_allow_host = click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    help="A host off the open internet from which results and pictures may be fetched; kept with the job; repeatable.",
)


def _media_options(command: Any) -> Any:
    for option in reversed(
        (
            click.option("--model", help="A model of the catalogue (default: the first for this task)."),
            click.option("--negative", help="What must not appear in the result."),
            click.option("--seed", type=click.IntRange(0), help="Random seed (default: a new one)."),
            click.option("--count", type=click.IntRange(1), default=1, help="How many."),
            click.option("--width", type=click.IntRange(1), help="Pixels."),
            click.option("--height", type=click.IntRange(1), help="Pixels."),
            click.option("--ratio", help="Width to height, such as 16:9."),
            click.option("--steps", type=click.IntRange(1), help="Steps of the model."),
            click.option("--guidance", type=float, help="How closely to follow the prompt."),
            click.option("--from", "picture", help="An image to start from: a file or an address."),
            click.option("--strength", type=click.FloatRange(0, 1), help="How much of that image may change."),
            click.option("--out", type=click.Path(path_type=Path), help="Output file (default: in this folder)."),
            click.option("--no-wait", is_flag=True, help="Only queue the job; a service or `admin job run` runs it."),
            click.option("--max-cost", type=click.FloatRange(0), help="Maximum cost in US dollars."),
            priority_option,
            _allow_host,
        )
    ):
        command = option(command)
    return database_options(command)


@click.command(
    epilog=examples(
        'innkeeper image "a red barn at dawn" --seed 7 --out barn.png',
        'innkeeper image "the same barn in snow" --from barn.png --strength 0.5',
    )
)
@click.argument("prompt")
@_media_options
def image(prompt: str, url: str | None, *, as_json: bool, **options: Any) -> int:
    """Generate an image of PROMPT and write it to a file.

    Without a model in the library's catalogue, `tiny-seed-picture` draws a pattern: a demonstration that ignores the prompt.
    """
    return _made(prompt, "i", url, as_json, options)


@click.command(epilog=examples('innkeeper video "waves on a beach" --duration 4 --out waves.mp4'))
@click.argument("prompt")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds.")
@click.option("--fps", type=click.FloatRange(0, min_open=True), help="Pictures a second.")
@_media_options
def video(prompt: str, url: str | None, *, as_json: bool, **options: Any) -> int:
    """Generate a video of PROMPT and write it to a file."""
    return _made(prompt, "v", url, as_json, options)


@contextmanager
def _jobs(url: str | None, allow_hosts: tuple[str, ...] = ()) -> Iterator[MediaJobs]:
    from innkeeper.inference.client.egress import Egress
    from innkeeper.jobs.backends.wire import MediaWire
    from innkeeper.jobs.media_jobs import MediaJobs

    with opened(url) as library:
        jobs = MediaJobs(library, wire=MediaWire(Egress(allow_hosts)))
        try:
            yield jobs
        finally:
            jobs.wire.close()


def _made(prompt: str, kind: str, url: str | None, as_json: bool, options: dict[str, Any]) -> int:  # noqa: FBT001
    from innkeeper.jobs.job import Mode
    from innkeeper.jobs.limits import DEADLINE_SECONDS
    from innkeeper.jobs.media import MediaRequest
    from innkeeper.jobs.media_jobs import Terms
    from innkeeper.jobs.runner import Runner

    out, no_wait, hosts = (options.pop(name) for name in ("out", "no_wait", "allow_hosts"))
    terms = Terms(owner="", max_cost=options.pop("max_cost"), priority=options.pop("priority") or 0)
    fields = {_NAMES.get(name, name): value for name, value in options.items() if value is not None}
    mode = Mode(f"{'i' if options.get('picture') else 't'}2{kind}")
    with _jobs(url, hosts) as jobs:
        if "image" in fields:
            fields["image"] = _picture(jobs, fields["image"])
        job = jobs.submit(MediaRequest(prompt=prompt, mode=mode, **fields), terms)
        if not no_wait:
            Runner(jobs).drain(DEADLINE_SECONDS, until=job.id)
            job = jobs.get(job.id)
        files = _written(jobs, job, out)
    if as_json:
        print_json({**job.to_dict(), "files": [str(path) for path in files]})
    else:
        _say(job, files)
    return 0 if job.error_kind is None and job.state != "expired" else _FAILED


def _picture(jobs: MediaJobs, reference: str) -> str:
    """Return the image to start from: an address as it is, a file as a stored asset."""
    if reference.startswith(("https://", "http://", "asset:")):
        return reference
    from innkeeper.cli.keep.library import read_bytes

    return f"asset:{jobs.assets.put(read_bytes(reference)).name}"


def _written(jobs: MediaJobs, job: Job, out: Path | None) -> list[Path]:
    """Write the results to files: ``out`` itself for one, numbered names for several."""
    files = []
    for index, stored in enumerate(job.results):
        suffix = Path(stored.name).suffix
        named = out if out is not None and not out.is_dir() else (out or Path()) / f"{job.id.lower()}{suffix}"
        path = named if not index else named.with_name(f"{named.stem}-{index + 1}{named.suffix}")
        path.write_bytes(jobs.assets.get(stored.name))
        files.append(path)
    return files


def _say(job: Job, files: list[Path]) -> None:
    for path in files:
        click.echo(str(path))
    seed = f", seed {job.request['seed']}" if job.request.get("seed") is not None else ""
    click.echo(f"{job.state}: {job.model_key}{seed} (job {job.id})", err=True)
    for note in job.notes:
        click.echo(f"  {note['parameter']}: asked {note['asked']}, sent {note['sent']}: {note['reason']}", err=True)
    if job.error_message:
        again = f"; `innkeeper admin job retry {job.id}` asks again" if job.retryable else ""
        click.echo(f"  {job.error_kind}: {job.error_message}{again}", err=True)


@click.group(epilog=examples("innkeeper admin job list", "innkeeper admin job show 01ABC", "innkeeper admin job run"))
def job() -> None:
    """List, show, change, cancel, retry and run the jobs that generate images and videos."""


@job.command("list", epilog=examples("innkeeper admin job list --state failed"))
@click.option("--state", help="Only jobs in this state.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Maximum number of jobs.")
@database_options
@paged
def list_(state: str | None, limit: int, url: str | None, *, as_json: bool) -> None:
    """List the newest jobs."""
    from innkeeper.jobs.job import JobState

    if state is not None and state not in set(JobState):
        raise click.UsageError(f"{state!r} is no state; states: {', '.join(JobState)}")
    with _jobs(url) as jobs:
        rows = jobs.store.list(state=state, limit=limit)
    if as_json:
        print_json({"jobs": [one.to_dict() for one in rows]})
        return
    print_table(
        ("job", "made", "mode", "model", "priority", "state", "why", "cost"),
        [
            (
                row.id,
                row.created_at[:19],
                row.mode,
                row.model_key,
                row.priority,
                row.state,
                row.error_kind,
                row.cost_usd,
            )
            for row in rows
        ],
    )


@job.command(epilog=examples("innkeeper admin job show 01ABC"))
@click.argument("job_id")
@database_options
def show(job_id: str, url: str | None, *, as_json: bool) -> None:
    """Show a job and its events."""
    import msgspec

    with _jobs(url) as jobs:
        record = jobs.get(job_id)
        events = jobs.events(record)
    if as_json:
        print_json({**record.to_dict(), "events": [msgspec.to_builtins(one) for one in events]})
        return
    _say(record, [])
    print_table(
        ("at", "event", "state", "details"), [(one.at[:23], one.event, one.state, one.details) for one in events]
    )


@job.command(epilog=examples("innkeeper admin job cancel 01ABC"))
@click.argument("job_id")
@database_options
def cancel(job_id: str, url: str | None, *, as_json: bool) -> None:
    """Cancel a job. Its provider is told at once if possible, else by the process that runs jobs."""
    from innkeeper.jobs.runner import Runner

    with _jobs(url) as jobs:
        record = jobs.cancel(job_id)
        Runner(jobs).sweep()
    print_json(record.to_dict()) if as_json else _say(record, [])


@job.command(epilog=examples("innkeeper admin job retry 01ABC"))
@click.argument("job_id")
@click.option("--anew", is_flag=True, help="Ask again for what the provider still has; it is paid again.")
@_allow_host
@database_options
def retry(job_id: str, url: str | None, *, anew: bool, allow_hosts: tuple[str, ...], as_json: bool) -> None:
    """Go on with a job that failed, expired or was cancelled, at the step that failed. `admin job run` or a service runs it."""
    with _jobs(url, allow_hosts) as jobs:
        record = jobs.retry(job_id, anew=anew)
    print_json(record.to_dict()) if as_json else _say(record, [])


@job.command("set", epilog=examples("innkeeper admin job set 01ABC --priority 5"))
@click.argument("job_id")
@click.option(
    "--priority",
    type=click.IntRange(-MAX_PRIORITY, MAX_PRIORITY),
    required=True,
    help="Place among its caller's jobs: the highest comes first.",
)
@database_options
def set_(job_id: str, priority: int, url: str | None, *, as_json: bool) -> None:
    """Give a job that has not ended another priority."""
    with _jobs(url) as jobs:
        record = jobs.prioritize(job_id, priority)
    print_json(record.to_dict()) if as_json else _say(record, [])


@job.command(epilog=examples("innkeeper admin job letters --send-again"))
@click.option("--send-again", is_flag=True, help="Queue all of them to be sent once more.")
@database_options
def letters(url: str | None, *, send_again: bool, as_json: bool) -> None:
    """List dead letters: callbacks about jobs that could not be delivered."""
    from innkeeper.jobs.deliveries import Deliveries

    names = ("id", "job_id", "url", "attempt", "error", "created_at")
    with _jobs(url) as jobs:
        deliveries = Deliveries(jobs)
        rows = [{name: getattr(row, name) for name in names} for row in deliveries.dead()]
        if send_again:
            deliveries.send_again()
    if as_json:
        print_json({"letters": rows, "sent_again": send_again})
    else:
        print_table(names, [tuple(row.values()) for row in rows])


@job.command(epilog=examples("innkeeper admin job run --threads 2"))
@click.option("--threads", type=click.IntRange(1, 256), default=8, show_default=True, help="Jobs to run at once.")
@click.option("--until-idle", is_flag=True, help="Stop when no job is waiting.")
@database_options
def run(threads: int, url: str | None, *, until_idle: bool, as_json: bool) -> None:
    """Run jobs until stopped (SIGTERM, Ctrl-C). Any number of these processes may share one database, and wait for its server.

    They yield the processor to services on the same machine, whose callers wait.
    """
    import os
    import signal
    import threading

    from innkeeper.jobs.runner import Runner

    with ExitStack() as stack:
        if until_idle:
            Runner(stack.enter_context(_jobs(url))).drain()
            return
        jobs = _once_reached(lambda: stack.enter_context(_jobs(url)))
        if hasattr(os, "nice"):
            os.nice(_NICE)
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        if not as_json:
            click.echo("Jobs are carried out. Ctrl-C stops it.", err=True)
        with Runner(jobs, threads=threads):
            while not stop.wait(0.5):
                pass


def _once_reached(open_jobs: Callable[[], MediaJobs]) -> MediaJobs:
    """Open the library; a server that is not there yet is waited for, as a process that runs waits for one that went away."""
    import time

    from innkeeper.library.errors import DatabaseUnreachableError

    has_printed = False
    while True:
        try:
            return open_jobs()
        except DatabaseUnreachableError as error:
            if not has_printed:
                click.echo(f"Waiting for the database: {error.message}", err=True)
            has_printed = True
            time.sleep(_RETRY_SECONDS)


_RETRY_SECONDS: Final = 1.0


@job.command(epilog=examples("innkeeper admin job purge 2026-01-01"))
@click.argument("before")
@database_options
def purge(before: str, url: str | None, *, as_json: bool) -> None:
    """Delete jobs that ended before BEFORE (an ISO 8601 moment), with their prompts and events; results stay."""
    from innkeeper.library.db.tables.columns import moment_text

    with _jobs(url) as jobs:
        count = jobs.store.remove_ended(moment_text(before))
    print_json({"deleted": count}) if as_json else click.echo(f"{count_of(count, 'job')} deleted.")
