"""``innkeeper fn enhance-prompt``: a short idea made into a prompt for an image or video model."""

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
        'innkeeper fn enhance-prompt "a fox in the snow"',
        'innkeeper fn enhance-prompt "a fox in the snow" --job-type wan_video_high --json',
        'innkeeper fn enhance-prompt "a fox" --remote http://127.0.0.1:8050',
    ),
)
@click.argument("prompt", default="")
@click.option(
    "--job-type",
    default="sdxl_image",
    show_default=True,
    help="What the prompt is for: sdxl_image, wan_video and so on.",
)
@click.option("--model", help="The target model: its id or key in the catalogue, or a family.")
@click.option("--selected-model", help="The model that writes it, or an enhancer family of templates: qwen_instruct.")
@click.option("--negative", help="What must not appear in the result.")
@click.option("--style", help="A style that is appended later; tokens are reserved for it.")
@click.option(
    "--quality",
    type=click.Choice(["fast", "high"]),
    help="fast or high, as in the job types of the requirement document.",
)
@click.option(
    "--reference-mode",
    type=click.Choice(["copy", "modify"]),
    help="Copy or modify a reference prompt without asking a model.",
)
@click.option("--base", help="The prompt of the reference.")
@task_options
def enhance_prompt(prompt: str, *, as_json: bool, **options: Any) -> int:
    """Enhance PROMPT for an image or video model, within that model's token limit.

    The prompt is printed to standard output, the reasons of a degraded answer to standard error. Without a model in the
    catalogue, the one on this machine writes it.
    """
    body = {"prompt": prompt, **{name: options.pop(option) for option, name in _NAMES.items()}}
    answer = called("enhance-prompt", body, **options)
    return shown(answer, answer["enhanced_prompt"] or answer.get("refusal"), as_json)
