"""``innkeeper enhance-prompt``: a short idea made into a prompt for an image or video model."""

from __future__ import annotations

from typing import Any, Final

import click

from innkeeper.cli.app.commands import examples
from innkeeper.cli.tasks.calling import called, shown, task_options

_NAMES: Final = {
    "job_type": "jobType",
    "selected_model": "selectedModel",
    "model": "model_id",
    "negative": "negative_prompt",
    "style": "style",
    "quality": "quality",
    "reference_mode": "reference_mode",
    "base": "base_prompt",
}


@click.command(
    "enhance-prompt",
    epilog=examples(
        'innkeeper enhance-prompt "a fox in the snow"',
        'innkeeper enhance-prompt "a fox in the snow" --job-type wan_video_high --json',
        'innkeeper enhance-prompt "a fox" --remote http://127.0.0.1:8050',
    ),
)
@click.argument("prompt", default="")
@click.option("--job-type", default="sdxl_image", show_default=True, help="What it is for: sdxl_image, wan_video ...")
@click.option("--model", help="The model that it is for: its id or key in the catalogue, or a family.")
@click.option("--selected-model", help="The model that writes it, or the kind that templates are for: qwen_instruct.")
@click.option("--negative", help="What should not be in it.")
@click.option("--style", help="A style that is added afterwards: room is kept for it.")
@click.option("--quality", type=click.Choice(["fast", "high"]), help="As the document has it.")
@click.option(
    "--reference-mode", type=click.Choice(["copy", "modify"]), help="Copy or modify a reference; asks no model."
)
@click.option("--base", help="The prompt that the reference was made from.")
@task_options
def enhance_prompt(prompt: str, *, as_json: bool, **options: Any) -> int:
    """Enhance PROMPT for an image or video model, within what that model reads.

    The prompt goes to the output; why it is a makeshift, to the error stream. Without a model in the catalogue, the one on this
    machine writes it.
    """
    body = {"prompt": prompt, **{name: options.pop(option) for option, name in _NAMES.items()}}
    answer = called("enhance-prompt", body, **options)
    return shown(answer, answer["enhanced_prompt"] or answer.get("refusal"), as_json)
