"""``innkeeper fn generate-scene``: a moment of a story made into a prompt with numbered figures, and into a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from innkeeper.cli.app.commands import examples
from innkeeper.cli.keep.library import opened
from innkeeper.cli.run.jobs import priority_option
from innkeeper.cli.tasks.calling import called, shown, task_options

_NAMES: Final = {
    "conversation": "conversation_id",
    "character": "character_id",
    "persona": "user_character_id",
    "template": "scene_template_id",
    "style": "scene_style",
    "name": "scene_name",
    "override": "scene_prompt_override",
    "clothing": "scene_default_clothing",
    "previous": "previous_scene_id",
    "change": "current_scene_id",
    "negative": "negative_prompt",
    "model": "selected_image_model",
    "i2i_model": "selected_i2i_model",
    "priority": "priority",
}
_STYLES: Final = ("character_only", "pov", "both_characters")


@click.command(
    "generate-scene",
    epilog=examples(
        'innkeeper fn generate-scene "*She opens the door of a dim kitchen.*" --told Mira --out scene.png',
        "innkeeper fn generate-scene --conversation 01ABC --style both_characters",
        'innkeeper fn generate-scene --change 01DEF --override "make it night"',
    ),
)
@click.argument("message", default="")
@click.option("--conversation", help="The conversation to show; its newest message if MESSAGE is omitted.")
@click.option("--character", help="The id of the character.")
@click.option("--persona", help="The id of the character that the user plays.")
@click.option("--told", "stranger", metavar="NAME", help="The name of a character that has no id.")
@click.option("--template", help="The id of a scene template.")
@click.option("--style", type=click.Choice(_STYLES), help="Who is in the picture, and the point of view.")
@click.option("--name", help="The name of the scene.")
@click.option("--override", help="What to show or change, in your own words.")
@click.option("--clothing", help="Default clothing, if the story names none.")
@click.option("--previous", help="The id of the scene to continue (default: the newest of the conversation).")
@click.option("--change", help="The id of the scene whose picture --override changes.")
@click.option("--negative", help="What must not appear in the result.")
@click.option("--model", help="The text-to-image model.")
@click.option("--i2i-model", help="The image-to-image model.")
@click.option("--seed", type=click.IntRange(0), help="Random seed.")
@click.option("--compose", "only", is_flag=True, help="Only compose the prompt; store and generate nothing.")
@click.option("--no-wait", is_flag=True, help="Only queue the job; a service or `admin job run` runs it.")
@click.option("--out", type=click.Path(path_type=Path), help="Output file of the picture (default: none).")
@priority_option
@task_options
def generate_scene(message: str, *, as_json: bool, **options: Any) -> int:
    """Compose the prompt of the moment in MESSAGE, or of a conversation's newest message, and generate its image.

    Without a model in the library's catalogue, `tiny-seed-picture` draws a pattern: a demonstration that ignores the prompt.
    """
    only, no_wait, out, stranger, seed = (options.pop(name) for name in ("only", "no_wait", "out", "stranger", "seed"))
    body: dict[str, Any] = {
        "message": message or None,
        **{name: options.pop(option) for option, name in _NAMES.items()},
    }
    body["character"] = None if stranger is None else {"name": stranger}
    body["consistency_settings"] = None if seed is None else {"seed_value": seed}
    answer = called("compose-scene" if only else "generate-scene", body, **options)
    if not (only or no_wait or options["remote"]):
        answer |= _drawn(answer, options["url"], out)
    return shown(answer, answer["scene_prompt"], as_json)


def _drawn(answer: dict[str, Any], url: str | None, out: Path | None) -> dict[str, Any]:
    """Generate the picture in this process, and write it."""
    from innkeeper.jobs.limits import DEADLINE_SECONDS
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.jobs.runner import Runner

    with opened(url) as library:
        jobs = MediaJobs(library)
        try:
            Runner(jobs).drain(DEADLINE_SECONDS, until=answer["job_id"])
            job = jobs.get(answer["job_id"])
            if out is not None and job.results:
                out.write_bytes(jobs.assets.get(job.results[0].name))
        finally:
            jobs.wire.close()
    status = "completed" if job.state == "succeeded" else job.state.value
    made = {"imageUrl": f"/v1/scenes/{answer['scene_id']}/image"} if job.results else {}
    return {"status": status, "success": job.error_kind is None, "error": job.error_message, **made}
