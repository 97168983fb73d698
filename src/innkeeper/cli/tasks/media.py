"""``innkeeper fn queue-job``, ``fal-image``, ``replicate-image`` and ``get-active-worker-url``: functions of the document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.keep.library import database_options, opened
from innkeeper.cli.run.jobs import priority_option
from innkeeper.cli.tasks.calling import there

_FAILED: Final = 65


def _job_options(command: Any) -> Any:
    for option in reversed(
        (
            click.option("--model", help="The id or key of a model of the catalogue."),
            click.option("--negative", help="What must not appear in the result."),
            click.option("--seed", type=click.IntRange(0), help="Random seed (default: a new one)."),
            click.option("--count", type=click.IntRange(1), help="How many."),
            click.option("--width", type=click.IntRange(1), help="Pixels."),
            click.option("--height", type=click.IntRange(1), help="Pixels."),
            click.option("--reference", help="The address of an image to start from."),
            click.option("--input", "own", help="Parameters by the model's own names: a JSON object."),
            click.option("--no-wait", is_flag=True, help="Only queue the job; a service or `admin job run` runs it."),
            click.option("--max-cost", type=click.FloatRange(0), help="Maximum cost in US dollars."),
            priority_option,
            click.option("--remote", metavar="URL", help="Send the request to the service at this address."),
        )
    ):
        command = option(command)
    return database_options(command)


@click.command("queue-job", epilog=examples('innkeeper fn queue-job "a red barn at dawn" --job-type sdxl_image_fast'))
@click.argument("prompt")
@click.option(
    "--job-type", default="sdxl_image_fast", show_default=True, help="sdxl_image_high, wan_video_fast and so on."
)
@click.option(
    "--quality",
    type=click.Choice(["fast", "high"]),
    help="fast or high, as in the job types of the requirement document.",
)
@_job_options
def queue_job(prompt: str, **options: Any) -> int:
    """Generate an image or a video of PROMPT, as the requirement document's queue-job does."""
    return _made("queue-job", None, prompt, options)


@click.command("fal-image", epilog=examples('innkeeper fn fal-image "a red barn" --model fal-ai/flux/dev'))
@click.argument("prompt")
@click.option("--modality", type=click.Choice(["image", "video"]), help="What to generate.")
@_job_options
def fal_image(prompt: str, **options: Any) -> int:
    """Generate an image or a video of PROMPT at fal, as the requirement document's fal-image does."""
    return _made("fal-image", "fal", prompt, options)


@click.command(
    "replicate-image", epilog=examples('innkeeper fn replicate-image "a red barn" --model stability-ai/sdxl')
)
@click.argument("prompt")
@_job_options
def replicate_image(prompt: str, **options: Any) -> int:
    """Generate an image of PROMPT at Replicate, as the requirement document's replicate-image does."""
    return _made("replicate-image", "replicate", prompt, options)


_NAMES: Final = {
    "model": "apiModelId",
    "negative": "negative_prompt",
    "count": "num_images",
    "reference": "reference_image_url",
    **{name: name for name in ("seed", "width", "height", "job_type", "quality", "modality", "max_cost", "priority")},
}


def _made(function: str, provider: str | None, prompt: str, options: dict[str, Any]) -> int:
    fields = {name: options.get(option) for option, name in _NAMES.items()}
    body = {"prompt": prompt, "input": _own(options["own"]), **fields}
    body = {name: value for name, value in body.items() if value is not None}
    if options["remote"]:
        answer = there(f"{options['remote'].rstrip('/')}/functions/v1/{function}", body)
    else:
        answer = _here(body, provider, options)
    if options["as_json"]:
        print_json(answer)
    else:
        click.echo(f"{answer['status']}: {answer['jobId']} ({answer['model']})")
    return 0 if answer["success"] else _FAILED


def _own(text: str | None) -> Mapping[str, Any]:
    try:
        entries = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--input is a JSON object: {error}") from error
    if not isinstance(entries, dict):
        raise click.UsageError("--input is a JSON object")
    return entries


def _here(body: Mapping[str, Any], provider: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Submit the job to this machine's library, and run it here unless it is only queued."""
    from innkeeper.jobs.limits import DEADLINE_SECONDS
    from innkeeper.jobs.media_jobs import MediaJobs, Terms
    from innkeeper.jobs.runner import Runner
    from innkeeper.operations.jobs.functions import QUEUE, media_request, queued_job

    with opened(options["url"]) as library:
        jobs = MediaJobs(library)
        try:
            request = media_request(QUEUE.read(body), provider)
            job = jobs.submit(request, Terms(max_cost=options["max_cost"], priority=options["priority"] or 0))
            if not options["no_wait"]:
                Runner(jobs).drain(DEADLINE_SECONDS, until=job.id)
            return dict(queued_job(jobs.get(job.id).to_dict(), provider))
        finally:
            jobs.wire.close()


@click.command(
    "get-active-worker-url", epilog=examples("innkeeper fn get-active-worker-url chat --database library.db --json")
)
@click.argument("worker_type", default="wan")
@click.option("--remote", metavar="URL", help="Send the request to the service at this address.")
@database_options
def get_active_worker_url(worker_type: str, url: str | None, *, remote: str | None, as_json: bool) -> int:
    """Print the address of a worker of WORKER_TYPE (chat, sdxl, wan) that holds a lease. Nothing is probed."""
    body = {"worker_type": worker_type}
    answer = there(f"{remote.rstrip('/')}/functions/v1/get-active-worker-url", body) if remote else _worker(body, url)
    if as_json:
        print_json(answer)
    else:
        click.echo(answer["worker_url"])
    return 0


def _worker(body: Mapping[str, Any], url: str | None) -> dict[str, Any]:
    from innkeeper.library.db.connection import find_target
    from innkeeper.operations.workers import active_worker
    from innkeeper.service.operations.library import SharedLibrary
    from innkeeper.service.settings import Settings
    from innkeeper.service.workers.surface import worker_registry

    settings = Settings(database=url or str(find_target(url).path))
    shared = SharedLibrary(settings, watch=False)
    try:
        return dict(active_worker(worker_registry(settings, shared).store, body["worker_type"]))
    finally:
        shared.close()
